// Parity-aware byte-level BPE: each merge is chosen for the language that currently needs the most tokens for its development
// text. Its most frequent pair is merged in the words of all languages.
//
// Each language has a merger of its own with all pairs of its words, in which merges chosen for other languages are looked up
// and applied. The development texts are merged in the same way, only to count their tokens.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>

#include "trainer.hpp"

namespace tokbench {

struct ParityOptions {
  TrainerOptions training;
  std::size_t num_global;              // number of merges that are first chosen by all text together
  std::vector<std::int64_t> divisors;  // by language: what its number of tokens is divided by
  std::size_t window;                  // number of recent choices that are taken into account; 0 for none
  std::size_t most_taken;              // a language that was chosen more often among these is skipped
};

constexpr std::int32_t kForAllText = -1;

// Chooses the next language.
class LanguageChoice {
 public:
  LanguageChoice(std::vector<std::int64_t> divisors, std::size_t window, std::size_t most_taken)
      : divisors_(std::move(divisors)), window_(window), most_taken_(most_taken), times_(divisors_.size()) {}

  // Below this, products of token counts and divisors do not overflow.
  static constexpr std::int64_t kMost = std::int64_t{1} << 31;

  // Of the languages with has_pair(language), the one with the highest tokens(language) over its divisor; nullopt if there is
  // none.
  template <class Tokens, class HasPair>
  std::optional<std::size_t> next(const Tokens& tokens, const HasPair& has_pair) const {
    std::optional<std::size_t> chosen;
    const auto is_before = [&](std::size_t one, std::size_t other) {
      if (is_over(one) != is_over(other)) return is_over(other);
      return tokens(one) * divisors_[other] > tokens(other) * divisors_[one];
    };
    for (std::size_t language = 0; language < divisors_.size(); ++language) {
      if ((!chosen || is_before(language, *chosen)) && has_pair(language)) chosen = language;
    }
    return chosen;
  }

  void take(std::size_t language) {
    if (window_ == 0) return;
    latest_.push_back(language);
    times_[language] += 1;
    if (latest_.size() > window_) {
      times_[latest_.front()] -= 1;
      latest_.pop_front();
    }
  }

 private:
  bool is_over(std::size_t language) const { return window_ != 0 && times_[language] > most_taken_; }

  std::vector<std::int64_t> divisors_;
  std::size_t window_;
  std::size_t most_taken_;
  std::deque<std::size_t> latest_;
  std::vector<std::size_t> times_;  // by language: how often it is in latest_
};

// A text as symbols, with all of its pairs and, if requested, a heap of the most frequent ones.
template <class Symbol>
class ParityText {
 public:
  struct Limits {
    std::int64_t min_frequency;
    std::size_t max_token_length;
    std::vector<std::size_t> token_lengths;  // by id: the length of each token so far
  };

  // Without a heap, top() always returns nullptr. `limits` must outlive this object.
  template <class Pretokens>
  ParityText(const Pretokens& pretokens, const Limits& limits, std::uint64_t seed, bool has_heap)
      : limits_(limits), merger_(limits.token_lengths.size(), seed), has_heap_(has_heap) {
    merger_.lay_out([&](const auto& sink) { pretokens.for_each(sink); });
    merger_.post_pairs(1, *this);
  }

  // The most frequent pair of this text, the smallest one of equal ones; nullptr if there is none.
  const PairCounts::Entry* top() {
    while (!heap_.empty()) {
      const Candidate first = heap_.front();
      const PairCounts::Entry& pair = merger_[first.entry];
      if (pair.count == first.count) return &pair;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
      follow(first.entry);
    }
    return nullptr;
  }

  // Merges all occurrences of a pair; returns their number.
  std::int64_t merge(Id left, Id right, Id made) {
    const std::uint32_t entry = merger_.find(left, right);
    if (entry == PairCounts::kAbsent) return 0;
    const std::int64_t count = merger_[entry].count;
    if (count > 0) merger_.merge(entry, static_cast<Symbol>(made), 1, *this);
    return count;
  }

  std::int64_t num_tokens() const { return merger_.num_tokens(); }

 private:
  friend PairMerger<Symbol>;

  struct Candidate {
    std::int64_t count;
    Id left;
    Id right;
    std::uint32_t entry;
    bool operator<(const Candidate& other) const {
      if (count != other.count) return count < other.count;
      if (left != other.left) return left > other.left;
      return right > other.right;
    }
  };

  bool wants(Id left, Id right) const {
    return limits_.max_token_length == 0 ||
           limits_.token_lengths[left] + limits_.token_lengths[right] <= limits_.max_token_length;
  }

  void passed(Id, Id) const {}

  void follow(std::uint32_t entry) {
    const PairCounts::Entry& pair = merger_[entry];
    if (!has_heap_ || pair.count < limits_.min_frequency) return;
    heap_.push_back({pair.count, pair.left, pair.right, entry});
    std::push_heap(heap_.begin(), heap_.end());
  }

  const Limits& limits_;
  PairMerger<Symbol> merger_;
  std::vector<Candidate> heap_;
  bool has_heap_;
};

// The pre-tokens of several texts.
template <class Texts>
struct AllTexts {
  const Texts& texts;
  template <class Sink>
  void for_each(const Sink& sink) const {
    for (const auto& each : texts) each.for_each(sink);
  }
};

// Symbol must be able to hold the ids of all requested merges.
template <class Symbol>
class ParityTrainerOf {
 public:
  // Elements of both have for_each(sink), which calls sink(bytes, count) for each pre-token. There must be as many divisors as
  // development texts, and at least as many languages; additional languages only count for the global merges. report(merges) is
  // called after each global merge.
  template <class Texts, class Report>
  ParityTrainerOf(const Texts& languages, const Texts& development, const ParityOptions& options, Report& report)
      : num_merges_(options.training.num_merges),
        limits_{options.training.min_frequency, options.training.max_token_length, std::vector<std::size_t>(kNumBytes, 1)},
        choice_(options.divisors, options.window, options.most_taken) {
    const std::vector<Merge> global = global_merges(languages, options, report);
    const std::uint64_t seed = options.training.seed;
    for (const auto& each : languages) {
      languages_.push_back(std::make_unique<ParityText<Symbol>>(each, limits_, seed, languages_.size() < development.size()));
    }
    for (const auto& each : development) {
      development_.push_back(std::make_unique<ParityText<Symbol>>(each, limits_, seed, false));
    }
    for (const Merge& merge : global) {
      learn(merge.left, merge.right, kForAllText);
      report(global.size());
    }
  }

  // Learns the next merge; returns false if no pair is left that may be merged.
  bool step() {
    if (merges_.size() >= num_merges_) return false;
    const auto language = choice_.next([&](std::size_t each) { return development_[each]->num_tokens(); },
                                       [&](std::size_t each) { return languages_[each]->top() != nullptr; });
    if (!language) return false;
    const PairCounts::Entry& pair = *languages_[*language]->top();
    choice_.take(*language);
    learn(pair.left, pair.right, static_cast<std::int32_t>(*language));
    return true;
  }

  const std::vector<Merge>& merges() const { return merges_; }

  // For each merge the index of the language that it was chosen for, or kForAllText.
  const std::vector<std::int32_t>& chosen_for() const { return chosen_for_; }

  std::int64_t num_tokens() const { return sum(languages_); }
  std::vector<std::int64_t> development_tokens() const {
    std::vector<std::int64_t> tokens;
    for (const auto& each : development_) tokens.push_back(each->num_tokens());
    return tokens;
  }

 private:
  static constexpr std::size_t kNumBytes = 256;
  using Held = std::vector<std::unique_ptr<ParityText<Symbol>>>;

  template <class Texts, class Report>
  static std::vector<Merge> global_merges(const Texts& languages, const ParityOptions& options, Report& report) {
    TrainerOptions first = options.training;
    first.num_merges = std::min(options.num_global, options.training.num_merges);
    if (first.num_merges == 0) return {};
    TrainerOf<Symbol> trainer(AllTexts<Texts>{languages}, first);
    while (trainer.step()) report(trainer.merges().size());
    return trainer.merges();
  }

  void learn(Id left, Id right, std::int32_t language) {
    const auto made = static_cast<Id>(limits_.token_lengths.size());
    limits_.token_lengths.push_back(limits_.token_lengths[left] + limits_.token_lengths[right]);
    std::int64_t count = 0;
    for (const auto& each : languages_) count += each->merge(left, right, made);
    for (const auto& each : development_) each->merge(left, right, made);
    merges_.push_back({left, right, count});
    chosen_for_.push_back(language);
  }

  static std::int64_t sum(const Held& texts) {
    std::int64_t total = 0;
    for (const auto& each : texts) total += each->num_tokens();
    return total;
  }

  std::size_t num_merges_;
  typename ParityText<Symbol>::Limits limits_;
  LanguageChoice choice_;
  Held languages_;
  Held development_;
  std::vector<Merge> merges_;
  std::vector<std::int32_t> chosen_for_;
};

}  // namespace tokbench
