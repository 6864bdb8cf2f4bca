// Merges the pair with the highest count, repeatedly. Ties go to the smallest (left, right), or as a Preference decides.
//
// The count of a pair only falls (pair_merger.hpp), so a lazy heap is exact: an entry whose count is outdated, and therefore
// too high, is pushed again with its current count when it reaches the top.
//
// Nine pairs of ten are too rare ever to be merged. Pairs below a threshold get neither postings nor a heap entry. When no pair
// above the threshold is left, it is lowered and all pairs are counted again. The threshold affects the time only, not the
// result: every pair above it is more frequent than every pair below it.
#pragma once

#include "pair_merger.hpp"

namespace tokbench {

// The symbol that a merge creates, and whether it is new.
struct MadeSymbol {
  Id symbol;
  bool is_new;
};

struct FrequencyOptions {
  std::size_t num_first;         // number of initial symbols
  std::size_t num_merges;        // approximate number of merges that will be requested
  std::int64_t min_frequency;    // at least 1
  std::size_t max_token_length;  // in the unit of the initial symbols' lengths; 0 for no limit
  std::uint64_t seed;
  unsigned threads = 1;
};

// Allows every merge.
struct AllowsAll {
  bool operator()(Id, Id) const { return true; }
};

// The default Preference, which orders pairs of equal frequency and decides which pairs may be merged. It sees every pair that
// is followed, including pairs that exist only for a moment, between two adjacent merges.
struct SmallestIds {
  bool is_first(Id left, Id right, Id other_left, Id other_right) const {
    return left != other_left ? left < other_left : right < other_right;
  }
  bool wants(Id, Id) const { return true; }
};

// See PairMerger for Symbol and kStep.
template <class Symbol, std::size_t kStep = 1, class Preference = SmallestIds>
class FrequencyTrainer {
 public:
  // `source` is the argument of PairMerger::lay_out().
  template <class Source>
  FrequencyTrainer(const Source& source, const FrequencyOptions& options)
      : FrequencyTrainer(source, options, std::vector<std::size_t>(options.num_first, 1)) {}

  // The same with the length of each initial symbol, for symbols that are already tokens.
  template <class Source>
  FrequencyTrainer(const Source& source, const FrequencyOptions& options, std::vector<std::size_t> token_lengths,
                   Preference preference = {})
      : options_(options),
        preference_(std::move(preference)),
        merger_(options.num_first, options.seed, options.threads),
        token_lengths_(std::move(token_lengths)) {
    merger_.lay_out(source);
    threshold_ = std::max(options_.min_frequency, first_threshold());
    post_pairs();
  }

  // Merges the next pair into the symbol that make(left, right, count) returns. Returns false if no pair is left that may be
  // merged. A pair for which allows(left, right) is false is skipped for good: it must stay false.
  template <class Make, class Allows = AllowsAll>
  bool step(const Make& make, const Allows& allows = {}) {
    for (;;) {
      while (!heap_.empty()) {
        const Candidate top = heap_.front();
        std::pop_heap(heap_.begin(), heap_.end(), later());
        heap_.pop_back();
        const std::int64_t count = merger_[top.entry].count;
        if (count == top.count) {
          if (!allows(top.left, top.right)) continue;
          merge(top, make);
          return true;
        }
        if (count >= threshold_) follow(top.entry);
      }
      if (threshold_ == options_.min_frequency) return false;
      threshold_ = std::max(options_.min_frequency, next_threshold());
      post_pairs();
    }
  }

  std::int64_t num_tokens() const { return merger_.num_tokens(); }

 private:
  friend PairMerger<Symbol, kStep>;

  struct Candidate {
    std::int64_t count;
    Id left;
    Id right;
    std::uint32_t entry;
  };

  // A comparison for std heaps, which keep the greatest entry on top: whether `other` is merged first.
  auto later() const {
    return [this](const Candidate& one, const Candidate& other) {
      if (one.count != other.count) return one.count < other.count;
      return preference_.is_first(other.left, other.right, one.left, one.right);
    };
  }

  // A low estimate of the count of the last merge, assuming that counts fall as 1 / rank.
  std::int64_t first_threshold() const {
    return merger_.num_tokens() / static_cast<std::int64_t>(std::max<std::size_t>(options_.num_merges, 1) * kFirstGuess);
  }
  std::int64_t next_threshold() const {
    const double learned = static_cast<double>(num_learned_) / static_cast<double>(std::max<std::size_t>(options_.num_merges, 1));
    const double share = std::clamp(learned / 2, 1.0 / 16, 1.0 / 2);
    return static_cast<std::int64_t>(static_cast<double>(threshold_) * share);
  }

  void post_pairs() {
    heap_.clear();
    merger_.post_pairs(threshold_, *this);
  }

  bool wants(Id left, Id right) const {
    const bool is_short = options_.max_token_length == 0 || token_lengths_[left] + token_lengths_[right] <= options_.max_token_length;
    return is_short && preference_.wants(left, right);
  }

  void passed(Id left, Id right) const { wants(left, right); }

  void follow(std::uint32_t entry) {
    const PairCounts::Entry& pair = merger_[entry];
    heap_.push_back({pair.count, pair.left, pair.right, entry});
    std::push_heap(heap_.begin(), heap_.end(), later());
  }

  template <class Make>
  void merge(const Candidate& pair, const Make& make) {
    const MadeSymbol made = make(pair.left, pair.right, pair.count);
    const std::size_t length = token_lengths_[pair.left] + token_lengths_[pair.right];
    if (made.symbol >= token_lengths_.size()) token_lengths_.resize(made.symbol + std::size_t{1});
    token_lengths_[made.symbol] = length;
    num_learned_ += 1;
    merger_.merge(pair.entry, static_cast<Symbol>(made.symbol), threshold_, *this);
    if (!made.is_new) post_pairs();
  }

  static constexpr std::size_t kFirstGuess = 64;

  FrequencyOptions options_;
  [[no_unique_address]] Preference preference_;
  std::int64_t threshold_ = 0;  // lowest count of a pair that is followed
  PairMerger<Symbol, kStep> merger_;
  std::vector<Candidate> heap_;
  std::vector<std::size_t> token_lengths_;
  std::size_t num_learned_ = 0;
};

}  // namespace tokbench
