// Merges up to 32 symbols in steps: each step begins to fetch pairs, and the next one reads them. In between, other words take
// their steps, so that memory accesses overlap.
//
// All pairs are scanned for each merge. Interleaved lookups: see bpe/short_merge.hpp.
#pragma once

#include <algorithm>
#include <bit>

#include "pieces.hpp"

namespace tokbench {

// A symbol with its start in the text.
struct PlacedSymbol {
  Symbol symbol;
  std::uint32_t start;
};

class ShortCharacterMerge {
 public:
  static constexpr std::size_t kMost = 32;

  // Merges at least two symbols and at most kMost in place; returns the number of remaining ones.
  static std::size_t merge_alone(const CharacterPieces& pieces, std::span<PlacedSymbol> symbols) {
    ShortCharacterMerge alone;
    alone.symbols_ = symbols;
    if (alone.take_first(pieces)) {
      do {
        alone.merge_next();
      } while (alone.take(pieces));
    }
    return alone.finish();
  }

  // Starts with such symbols, and fetches all adjacent pairs.
  void begin(const CharacterPieces& pieces, std::span<PlacedSymbol> symbols) {
    symbols_ = symbols;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) pieces.fetch_merge(symbols[i].symbol, symbols[i + 1].symbol);
  }

  // Reads the pairs that begin() fetched; returns whether one merges.
  bool take_first(const CharacterPieces& pieces) {
    const std::size_t size = symbols_.size();
    padded_ = (size + kGroup - 1) / kGroup * kGroup;
    left_ = size == kMost ? ~std::uint32_t{0} : (1u << size) - 1;
    for (std::size_t i = 0; i + 1 < size; ++i) look(pieces, i, i + 1);
    std::fill(pairs_ + size - 1, pairs_ + padded_, kNever);
    return find_next();
  }

  // Merges the next pair, and fetches those of the result with the symbols on both sides.
  void merge(const CharacterPieces& pieces) {
    merge_next();
    if (after_ != 0) pieces.fetch_merge(symbols_[position_].symbol, symbols_[following()].symbol);
    if (before_ != 0) pieces.fetch_merge(symbols_[previous()].symbol, symbols_[position_].symbol);
  }

  // Reads the pairs that merge() fetched; returns whether another one merges.
  bool take(const CharacterPieces& pieces) {
    if (after_ != 0) look(pieces, position_, following());
    if (before_ != 0) look(pieces, previous(), position_);
    return find_next();
  }

  // Moves the remaining symbols to the front; returns their number.
  std::size_t finish() const {
    std::size_t count = 0;
    for (std::uint32_t left = left_; left != 0; left &= left - 1) symbols_[count++] = symbols_[static_cast<std::size_t>(std::countr_zero(left))];
    return count;
  }

 private:
  static constexpr std::size_t kGroup = 8;
  static constexpr unsigned kPositionBits = 5;
  static constexpr std::uint32_t kNever = 0xFFFFFFFFu;
  static_assert(kMost == 1u << kPositionBits);

  void merge_next() {
    position_ = next_ & (kMost - 1);
    const std::uint32_t after = left_ & (~1u << position_);
    const auto taken = static_cast<std::uint32_t>(std::countr_zero(after));
    symbols_[position_].symbol = made_[position_];
    left_ &= ~(1u << taken);
    pairs_[taken] = pairs_[position_] = kNever;
    before_ = left_ & ((1u << position_) - 1);
    after_ = after & (after - 1);
  }

  std::size_t following() const { return static_cast<std::size_t>(std::countr_zero(after_)); }
  std::size_t previous() const { return static_cast<std::size_t>(std::bit_width(before_)) - 1; }

  void look(const CharacterPieces& pieces, std::size_t left, std::size_t right) {
    const PairMerge merge = pieces.merge(symbols_[left].symbol, symbols_[right].symbol);
    pairs_[left] = merge.rank == PairMerge::kNever ? kNever : merge.rank << kPositionBits | static_cast<std::uint32_t>(left);
    made_[left] = merge.made;
  }

  bool find_next() {
    next_ = kNever;
    for (std::size_t i = 0; i < padded_; ++i) next_ = std::min(next_, pairs_[i]);
    return next_ != kNever;
  }

  std::span<PlacedSymbol> symbols_;
  std::size_t padded_;
  std::uint32_t pairs_[kMost];      // the rank and the position of each symbol with the following one: the smallest one merges next
  Symbol made_[kMost];              // what becomes of that pair
  std::uint32_t left_;              // one bit per remaining symbol
  std::uint32_t next_, position_;   // the pair that merges next, and where the last one did
  std::uint32_t before_, after_;    // the remaining symbols on its sides
};

}  // namespace tokbench
