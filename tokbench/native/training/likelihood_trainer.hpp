// Merges the pair with the highest score count(ab) / (count(a) · count(b)), repeatedly. Ties go to the smallest (left, right).
// Pairs that are rarer than min_frequency are not merged.
//
// A merge lowers count(a) and count(b), which raises the scores of all other pairs with a or b. A lazy heap of pairs would
// therefore contain scores that are too low, and be wrong. Instead, there is one heap entry per left symbol (a row): an upper
// bound on the scores in the row. After a merge, the rows of the two symbols are computed again, and each pair with one of them
// on the right may raise the bound of its row. Pair counts only fall (pair_merger.hpp), which can leave a bound too high; that
// is corrected when the row reaches the top. So if the highest bound equals a score in its row, that pair is the best one.
//
// Scores are doubles, computed with five roundings of at most 2^-53 each. If all counts are small enough, different scores
// differ by more than the rounding, and equal scores round to the same double (is_decisive()): the first row with the highest
// bound, and the smallest right symbol in it, is then the smallest best pair. Otherwise all pairs near the best are compared as
// integers.
//
// A pair with a symbol of count c scores at most 1 / c. Merges therefore take rare symbols, which have few neighbours, for as
// long as there are any.
#pragma once

#include <array>
#include <optional>

#include "frequency_trainer.hpp"

namespace tokbench {

struct LikelihoodOptions {
  std::size_t num_first;       // number of initial symbols
  std::int64_t min_frequency;  // at least 1
  std::uint64_t seed;
};

// See PairMerger for Symbol and kStep.
template <class Symbol, std::size_t kStep = 1>
class LikelihoodTrainer {
 public:
  // `source` is the argument of PairMerger::lay_out(). Words of one symbol contribute to the counts of symbols.
  template <class Source>
  LikelihoodTrainer(const Source& source, const LikelihoodOptions& options)
      : min_frequency_(options.min_frequency), merger_(options.num_first, options.seed), counts_(options.num_first) {
    source([&](const auto& word, std::int64_t count) {
      for (const Id symbol : word) counts_[symbol] += count;
    });
    merger_.lay_out(source);
    post_pairs();
  }

  // See FrequencyTrainer::step().
  template <class Make>
  bool step(const Make& make) {
    const std::optional<std::uint32_t> best = best_pair();
    if (!best) return false;
    const Id left = merger_[*best].left, right = merger_[*best].right;
    const MadeSymbol made = make(left, right, merger_[*best].count);
    if (made.symbol >= counts_.size()) counts_.resize(made.symbol + std::size_t{1});
    rows_.resize(counts_.size());
    columns_.resize(counts_.size());
    bounds_.resize(counts_.size());

    const std::int64_t merged = merger_.merge(*best, static_cast<Symbol>(made.symbol), min_frequency_, *this);
    counts_[left] -= merged;
    counts_[right] -= merged;
    counts_[made.symbol] += merged;
    if (!made.is_new) {
      post_pairs();
      return true;
    }
    for (const Id symbol : {left, right}) {
      tighten(symbol);
      for_each_alive(columns_[symbol], [&](std::uint32_t entry) { raise(entry); });
    }
    raise_all(followed_);
    return true;
  }

  std::int64_t num_tokens() const { return merger_.num_tokens(); }

 private:
  friend PairMerger<Symbol, kStep>;

  using Entries = std::vector<std::uint32_t>;

  // A heap entry: the bound of a row, outdated once it differs from bounds_. The highest comes first, then the first row.
  struct Candidate {
    double bound;
    Id row;
    bool operator<(const Candidate& other) const {
      return bound != other.bound ? bound < other.bound : row > other.row;
    }
  };

  void post_pairs() {
    rows_.assign(counts_.size(), {});
    columns_.assign(counts_.size(), {});
    bounds_.assign(counts_.size(), 0);
    heap_.clear();
    merger_.post_pairs(min_frequency_, *this);
    raise_all(followed_);
  }

  bool wants(Id, Id) const { return true; }
  void passed(Id, Id) const {}

  // Registers a pair. Its score is computed later, because the counts of symbols are not final yet.
  void follow(std::uint32_t entry) {
    rows_[merger_[entry].left].push_back(entry);
    columns_[merger_[entry].right].push_back(entry);
    followed_.push_back(entry);
    highest_count_ = std::max(highest_count_, merger_[entry].count);
  }

  void raise_all(Entries& entries) {
    for (const std::uint32_t entry : entries) raise(entry);
    entries.clear();
  }

  void raise(std::uint32_t entry) {
    const double score = score_of(entry);
    if (score > bounds_[merger_[entry].left]) set_bound(merger_[entry].left, score);
  }

  // Sets the bound of a row to the highest score in it.
  void tighten(Id row) {
    double highest = 0;
    for_each_alive(rows_[row], [&](std::uint32_t entry) { highest = std::max(highest, score_of(entry)); });
    if (highest != bounds_[row]) set_bound(row, highest);
  }

  void set_bound(Id row, double bound) {
    bounds_[row] = bound;
    if (bound == 0) return;
    heap_.push_back({bound, row});
    std::push_heap(heap_.begin(), heap_.end());
  }

  Candidate pop() {
    const Candidate top = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    return top;
  }

  // Calls use(entry) for each pair that may still be merged, and removes the others for good.
  template <class Use>
  void for_each_alive(Entries& entries, const Use& use) {
    for (std::size_t i = 0; i < entries.size();) {
      if (merger_[entries[i]].count < min_frequency_) {
        entries[i] = entries.back();
        entries.pop_back();
      } else {
        use(entries[i++]);
      }
    }
  }

  double score_of(std::uint32_t entry) const {
    const PairCounts::Entry& pair = merger_[entry];
    return static_cast<double>(pair.count) / (static_cast<double>(counts_[pair.left]) * static_cast<double>(counts_[pair.right]));
  }

  // --- the best pair ------------------------------------------------------------------------------

  std::optional<std::uint32_t> best_pair() {
    while (!heap_.empty()) {
      const Candidate top = heap_.front();
      if (top.bound == bounds_[top.row]) {
        tighten(top.row);
        if (top.bound == bounds_[top.row]) {
          const std::uint32_t entry = smallest_of(top);
          return is_decisive(entry) ? entry : exactly_best(top.bound);
        }
      }
      pop();
    }
    return std::nullopt;
  }

  // Of the pairs whose score equals the bound of their row, the one with the smallest right symbol.
  std::uint32_t smallest_of(const Candidate& row) {
    std::uint32_t smallest = PairCounts::kAbsent;
    for_each_alive(rows_[row.row], [&](std::uint32_t entry) {
      if (score_of(entry) != row.bound) return;
      if (smallest == PairCounts::kAbsent || merger_[entry].right < merger_[smallest].right) smallest = entry;
    });
    return smallest;
  }

  // Whether the rounded score n / d of a pair equals the rounded score n' / d' of another pair only if the exact scores are
  // equal. Let N be at least every n', and N d at most 2^48. Two different scores then differ by at least 1 / (n' d) >= 2^-48
  // of the larger one, while rounding adds up to less than 2^-50. For two equal scores, n, d, n' and d' = n' d / n are all at
  // most 2^48, hence exact doubles, and the quotients round alike.
  bool is_decisive(std::uint32_t entry) const {
    const PairCounts::Entry& pair = merger_[entry];
    return static_cast<double>(highest_count_) * static_cast<double>(counts_[pair.left]) * static_cast<double>(counts_[pair.right]) <=
           kDecisive;
  }

  // The exactly best of all pairs whose rounded score is close to the highest one.
  std::uint32_t exactly_best(double highest) {
    const double near = highest * (1 - 1 / kDecisive);
    std::vector<Id> rows;
    while (!heap_.empty() && heap_.front().bound >= near) {
      const Candidate top = pop();
      if (top.bound != bounds_[top.row]) continue;
      bounds_[top.row] = 0;  // invalidates the other heap entries of the row
      rows.push_back(top.row);
    }
    std::uint32_t best = PairCounts::kAbsent;
    for (const Id row : rows) {
      tighten(row);
      for_each_alive(rows_[row], [&](std::uint32_t entry) {
        if (score_of(entry) >= near && (best == PairCounts::kAbsent || is_better(entry, best))) best = entry;
      });
    }
    return best;
  }

  bool is_better(std::uint32_t entry, std::uint32_t other) const {
    const PairCounts::Entry &one = merger_[entry], &two = merger_[other];
    const Product first = product(one.count, counts_[two.left], counts_[two.right]);
    const Product second = product(two.count, counts_[one.left], counts_[one.right]);
    if (first != second) return first > second;
    return one.left != two.left ? one.left < two.left : one.right < two.right;
  }

  using Product = std::array<std::uint32_t, 6>;  // most significant digit first

  static Product product(std::int64_t a, std::int64_t b, std::int64_t c) {
    Product result{0, 0, 0, 0, 0, 1};
    for (const std::int64_t factor : {a, b, c}) {
      Product sum{};
      const auto value = static_cast<std::uint64_t>(factor);
      const std::uint64_t halves[] = {value & 0xFFFFFFFFu, value >> 32};
      for (std::size_t shift = 0; shift < 2; ++shift) {
        std::uint64_t carry = 0;
        for (std::size_t i = result.size() - shift; i-- > 0;) {
          carry += result[i + shift] * halves[shift] + sum[i];
          sum[i] = static_cast<std::uint32_t>(carry);
          carry >>= 32;
        }
      }
      result = sum;
    }
    return result;
  }

  static constexpr double kDecisive = 0x1p48;

  std::int64_t min_frequency_;
  PairMerger<Symbol, kStep> merger_;
  std::vector<std::int64_t> counts_;  // by symbol
  std::int64_t highest_count_ = 0;    // highest count that any pair has ever had
  std::vector<Entries> rows_;         // by left symbol: its pairs
  std::vector<Entries> columns_;      // by right symbol: its pairs
  std::vector<double> bounds_;        // by row: upper bound on its scores; 0 for an empty row
  std::vector<Candidate> heap_;       // contains every bound that is not 0
  Entries followed_;                  // new pairs, whose scores are in no bound yet
};

}  // namespace tokbench
