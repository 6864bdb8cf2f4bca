// Merges one short pre-token in steps: each step starts lookups of ranks, and the next one reads their results. In between,
// other pre-tokens take their steps, so that memory accesses overlap.
//
// Interleaved lookups: Kocberber, Falsafi and Grot, "Asynchronous Memory Access Chaining", VLDB 2015.
#pragma once

#include <algorithm>
#include <array>

#include "vocabulary.hpp"

namespace tokbench {

// The rank and the position of a pair in one number: the smallest one merges next. Pairs that do not merge are at least kNever.
struct PairOrder {
  static constexpr std::uint32_t kNever = Vocabulary::kNoRank << 8;
  static std::uint32_t of(Rank rank, std::size_t position) { return rank << 8 | static_cast<std::uint32_t>(position); }
  static Rank rank(std::uint32_t order) { return order >> 8; }
  static std::uint32_t position(std::uint32_t order) { return order & 0xFF; }
};

class ShortMerge {
 public:
  static constexpr std::size_t kMost = 16;       // most initial symbols
  static constexpr std::size_t kMostBytes = 32;  // most bytes of a pre-token

  // Room for the initial symbols and one more.
  Id* symbols() { return symbols_; }

  // Starts with `num_symbols` symbols, at least one and at most kMost, and looks up the ranks of all adjacent pairs.
  void begin(const Vocabulary& vocabulary, std::size_t num_symbols) {
    left_ = (1u << num_symbols) - 1;
    has_second_group_ = num_symbols > kGroup;
    std::fill(pairs_, pairs_ + kMost, PairOrder::kNever);
    num_asked_ = num_symbols - 1;
    vocabulary.ask_for_neighbours({symbols_, num_symbols}, asked_);
  }

  // Reads the ranks that begin() looked up; returns whether a pair merges.
  bool take_first(const Vocabulary& vocabulary) {
    for (std::size_t i = 0; i < num_asked_; ++i) pairs_[i] = PairOrder::of(vocabulary.answer(asked_[i]), i);
    return find_next();
  }

  // Merges the next pair, and looks up the ranks of the result with the symbols on both sides. At the ends of the pre-token,
  // the lookup uses an arbitrary symbol, which avoids an unpredictable branch.
  void merge(const Vocabulary& vocabulary) {
    position_ = PairOrder::position(next_);
    const std::uint32_t after = left_ & (~1u << position_), before = left_ & ((1u << position_) - 1);
    const auto taken = static_cast<std::uint32_t>(std::countr_zero(after));
    last_pair_ = {symbols_[position_], symbols_[taken]};
    const Id made = vocabulary.made(PairOrder::rank(next_));
    symbols_[position_] = made;
    left_ &= ~(1u << taken);
    pairs_[taken] = PairOrder::kNever;
    const std::uint32_t following = after & (after - 1);
    previous_ = static_cast<std::uint32_t>(std::bit_width(before | 1) - 1);
    has_following_ = following != 0;
    vocabulary.ask_beside(symbols_[previous_], made, symbols_[has_following_ ? std::countr_zero(following) : 0], asked_);
  }

  // Reads the ranks that merge() looked up; returns whether another pair merges.
  bool take(const Vocabulary& vocabulary) {
    pairs_[previous_] = PairOrder::of(vocabulary.answer(asked_[0]), previous_);
    const Rank after = vocabulary.answer(asked_[1]);
    pairs_[position_] = has_following_ ? PairOrder::of(after, position_) : PairOrder::kNever;
    return find_next();
  }

  // Writes the remaining symbols; returns their number.
  std::size_t write(Id* out) const {
    std::size_t count = 0;
    for (std::uint32_t left = left_; left != 0; left &= left - 1) out[count++] = symbols_[std::countr_zero(left)];
    return count;
  }

  // The last pair that was merged.
  std::array<Id, 2> last_pair() const { return last_pair_; }

 private:
  static constexpr std::size_t kGroup = 8;

  static std::uint32_t smallest(const std::uint32_t* group) {
    std::uint32_t best = group[0];
    for (std::size_t i = 1; i < kGroup; ++i) best = std::min(best, group[i]);
    return best;
  }

  bool find_next() {
    next_ = has_second_group_ ? std::min(smallest(pairs_), smallest(pairs_ + kGroup)) : smallest(pairs_);
    return next_ < PairOrder::kNever;
  }

  Id symbols_[kMostBytes + 1];
  std::uint32_t pairs_[kMost];  // PairOrder of each symbol with the next one
  std::uint32_t left_;          // one bit per remaining symbol
  std::uint32_t next_;          // the pair that merges next
  std::uint32_t position_, previous_;
  bool has_second_group_, has_following_;
  std::size_t num_asked_;
  std::array<Id, 2> last_pair_;
  Vocabulary::Question asked_[kMost];
};

}  // namespace tokbench
