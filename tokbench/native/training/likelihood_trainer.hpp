// Merges the pair with the highest score count(ab) / (count(a) · count(b)), again and again; ties go to the smallest (left,
// right). Pairs that are rarer than min_frequency are not merged.
//
// A merge lowers count(a) and count(b), and so raises the scores of all other pairs of the two: on a heap of scores an entry
// could be too low, and would come up too late. What is kept instead is a bound for each left symbol, its row, which is never
// too low. A score is raised only by the count of one of its symbols, which is one of the two that are merged: their rows are
// computed anew, and each pair in which they stand on the right may raise the bound of its row. The count of a pair only falls
// (pair_merger.hpp), which leaves a bound too high: that is put right when it comes up. So a row whose bound is the highest of
// all, and is the score of one of its pairs, holds the best pair.
//
// Scores are rounded to floats, by five roundings of at most 2^-53 each. Where all counts are small enough, different scores
// differ by more than rounding does, and equal ones are rounded to the same float (is_decisive()): then the first row with the
// highest bound, and in it the smallest right symbol, is the smallest pair. Else all pairs near the best are compared in whole
// numbers.
//
// A symbol with the count c has no score above 1 / c: those that are merged are rare for as long as there are any, and have
// few neighbours.
#pragma once

#include <array>
#include <optional>

#include "frequency_trainer.hpp"

namespace tokbench {

struct LikelihoodOptions {
  std::size_t num_first;       // symbols that there are
  std::int64_t min_frequency;  // at least 1
  std::uint64_t seed;
};

// See PairMerger for Symbol and kStep.
template <class Symbol, std::size_t kStep = 1>
class LikelihoodTrainer {
 public:
  // `source` is what PairMerger::lay_out() takes; words of one symbol count, too.
  template <class Source>
  LikelihoodTrainer(const Source& source, const LikelihoodOptions& options)
      : min_frequency_(options.min_frequency), merger_(options.num_first, options.seed), counts_(options.num_first) {
    source([&](const auto& word, std::int64_t count) {
      for (const Id symbol : word) counts_[symbol] += count;
    });
    merger_.lay_out(source);
    post_pairs();
  }

  // As FrequencyTrainer does.
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

  // A bound of a row that holds as long as it is the row's. The highest comes first, of equal ones the first row.
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

  // Counts of symbols are not what they will be yet: its score waits.
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

  // Makes the bound of a row the highest score in it.
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

  // Calls use(entry) for each that may still be merged, and forgets the others: they never may again.
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

  // Of the pairs in a row that have its bound as their score the one with the smallest right symbol.
  std::uint32_t smallest_of(const Candidate& row) {
    std::uint32_t smallest = PairCounts::kAbsent;
    for_each_alive(rows_[row.row], [&](std::uint32_t entry) {
      if (score_of(entry) != row.bound) return;
      if (smallest == PairCounts::kAbsent || merger_[entry].right < merger_[smallest].right) smallest = entry;
    });
    return smallest;
  }

  // Whether the score n / d of a pair, rounded, is equal to the score n' / d' of no other pair, rounded, but of those that have
  // the very same one. With N no smaller than any n', and N d at most 2^48, two scores that differ do so by at least
  // 1 / (n' d) >= 2^-48 of the larger one, and rounding adds up to less than 2^-50; of two that do not, all of n, d, n' and
  // d' = n' d / n are at most 2^48, so that they are floats without rounding, and their quotients are rounded alike.
  bool is_decisive(std::uint32_t entry) const {
    const PairCounts::Entry& pair = merger_[entry];
    return static_cast<double>(highest_count_) * static_cast<double>(counts_[pair.left]) * static_cast<double>(counts_[pair.right]) <=
           kDecisive;
  }

  // The best of all pairs whose rounded score is near the highest one.
  std::uint32_t exactly_best(double highest) {
    const double near = highest * (1 - 1 / kDecisive);
    std::vector<Id> rows;
    while (!heap_.empty() && heap_.front().bound >= near) {
      const Candidate top = pop();
      if (top.bound != bounds_[top.row]) continue;
      bounds_[top.row] = 0;  // other entries of the row are not current any more
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

  using Product = std::array<std::uint32_t, 6>;  // the most significant one first

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
  std::vector<std::int64_t> counts_;  // of symbols
  std::int64_t highest_count_ = 0;    // that any pair ever had
  std::vector<Entries> rows_;         // the pairs of each left symbol
  std::vector<Entries> columns_;      // the pairs of each right symbol
  std::vector<double> bounds_;        // of the scores in each row; 0 where there are none
  std::vector<Candidate> heap_;       // has the bound of each row that is not 0
  Entries followed_;                  // pairs whose scores no bound knows yet
};

}  // namespace tokbench
