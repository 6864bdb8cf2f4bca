// Merges the pair with the highest count, again and again; ties go to the smallest (left, right), or as a preference has it.
//
// The count of a pair can only fall (pair_merger.hpp): a heap whose entries may be too high, and are pushed again with their
// true count when they come up, gives exactly the order that the reference defines.
//
// Nine pairs of ten are too rare ever to be merged. Those below a threshold get neither postings nor
// an entry; when none above it is left, it falls, and all pairs are counted anew. It changes how long
// training takes, never what is learned: whatever is known occurs more often than all that is not.
#pragma once

#include "pair_merger.hpp"

namespace tokbench {

// What a merge makes: a symbol, and whether it occurs for the first time.
struct MadeSymbol {
  Id symbol;
  bool is_new;
};

struct FrequencyOptions {
  std::size_t num_first;         // symbols that there are
  std::size_t num_merges;        // about as many are going to be asked for
  std::int64_t min_frequency;    // at least 1
  std::size_t max_token_length;  // of what a token is made of, in the unit of the lengths of the first ones; 0 for no limit
  std::uint64_t seed;
  unsigned threads = 1;
};

// Lets every pair be merged.
struct AllowsAll {
  bool operator()(Id, Id) const { return true; }
};

// Which of two pairs comes first that occur equally often, and which ones may be merged at all: it is asked of every pair that
// is to be known, also of one that was there for a moment only, between two that were merged side by side.
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
  // `source` is what PairMerger::lay_out() takes.
  template <class Source>
  FrequencyTrainer(const Source& source, const FrequencyOptions& options)
      : FrequencyTrainer(source, options, std::vector<std::size_t>(options.num_first, 1)) {}

  // The same with the length of each of the first symbols, where they are tokens already.
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

  // Merges the next pair into the symbol that make(left, right, count) tells; false when no pair is left that may be merged.
  // A pair that allows(left, right) refuses when its turn has come is passed over; it must be refused ever after.
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

  // Whether the other one is merged before: std heaps keep their greatest entry on top.
  auto later() const {
    return [this](const Candidate& one, const Candidate& other) {
      if (one.count != other.count) return one.count < other.count;
      return preference_.is_first(other.left, other.right, one.left, one.right);
    };
  }

  // Guesses of the count of the last merge, rather too low: counts fall about as 1 / rank.
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
  std::int64_t threshold_ = 0;  // of the count of a pair that is known
  PairMerger<Symbol, kStep> merger_;
  std::vector<Candidate> heap_;
  std::vector<std::size_t> token_lengths_;
  std::size_t num_learned_ = 0;
};

}  // namespace tokbench
