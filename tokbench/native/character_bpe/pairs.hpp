// A hash table from a pair of symbols to the merged symbol and its rank.
//
// A slot is one 64-bit word: left symbol, right symbol, and the index of the pair plus 1, 21 bits each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "common/hashing.hpp"
#include "common/zeroed_table.hpp"
#include "encoding/id.hpp"

namespace tokbench {

// The id of a piece or, above those, a character that is not itself a piece.
using Symbol = std::uint32_t;
using Rank = std::uint32_t;

inline constexpr unsigned kSymbolBits = 21;
inline constexpr Symbol kOther = (1u << kSymbolBits) - 1;  // a character that is in no piece

struct PairMerge {
  static constexpr Rank kNever = 0xFFFFFFFFu;
  Rank rank = kNever;  // the lowest rank is merged first
  Symbol made = 0;
};

class Pairs {
 public:
  struct Pair {
    Symbol left, right;
    PairMerge merge;
  };
  static constexpr std::size_t kMost = (std::size_t{1} << kSymbolBits) - 1;

  Pairs() = default;

  // Takes at most kMost pairs. Of equal pairs, the first one wins.
  explicit Pairs(std::span<const Pair> pairs)
      : slots_(std::bit_ceil(std::max<std::size_t>(pairs.size() * 2, 2))),
        shift_(64u - static_cast<unsigned>(std::countr_zero(slots_.size()))) {
    merges_.reserve(pairs.size());
    for (const Pair& pair : pairs) {
      merges_.push_back(pair.merge);
      const std::uint64_t key = key_of(pair.left, pair.right);
      std::size_t i = first_slot(key);
      while (slots_[i] != 0 && slots_[i] >> kSymbolBits != key) i = (i + 1) & (slots_.size() - 1);
      if (slots_[i] == 0) slots_[i] = key << kSymbolBits | merges_.size();
    }
  }

  PairMerge find(Symbol left, Symbol right) const {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t i = first_slot(key);; i = (i + 1) & (slots_.size() - 1)) {
      const std::uint64_t slot = slots_[i];
      if (slot == 0) return {};
      if (slot >> kSymbolBits == key) return merges_[(slot & kMost) - 1];
    }
  }

 private:
  static std::uint64_t key_of(Symbol left, Symbol right) { return std::uint64_t{left} << kSymbolBits | right; }
  std::size_t first_slot(std::uint64_t key) const { return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> shift_); }

  std::vector<PairMerge> merges_;
  ZeroedTable<std::uint64_t> slots_{2};
  unsigned shift_ = 63;
};

}  // namespace tokbench
