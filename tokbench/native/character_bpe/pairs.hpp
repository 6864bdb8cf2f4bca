// Which two symbols become which one, and before which others.
//
// A slot is one word of 64 bits: the left symbol, the right one and what they become, 21 bits each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "common/hashing.hpp"
#include "common/zeroed_table.hpp"
#include "encoding/id.hpp"

namespace tokbench {

// A piece by its id, or behind those a character that no piece is alone.
using Symbol = std::uint32_t;
using Rank = std::uint32_t;

inline constexpr unsigned kSymbolBits = 21;
inline constexpr Symbol kOther = (1u << kSymbolBits) - 1;  // a character that is in no piece

struct Merge {
  static constexpr Rank kNever = 0xFFFFFFFFu;
  Rank rank = kNever;  // the smallest is merged first
  Symbol made = 0;
};

class Pairs {
 public:
  struct Pair {
    Symbol left, right, made;
  };

  Pairs() = default;

  // ranks[made] is the rank of a pair. Of two that are alike the first one stays.
  Pairs(std::span<const Pair> pairs, std::vector<Rank> ranks)
      : ranks_(std::move(ranks)), slots_(std::bit_ceil(std::max<std::size_t>(pairs.size() * 2, 2))), shift_(64u - static_cast<unsigned>(std::countr_zero(slots_.size()))) {
    for (const Pair& pair : pairs) {
      const std::uint64_t key = key_of(pair.left, pair.right);
      std::size_t i = first_slot(key);
      while (slots_[i] != 0 && slots_[i] >> kSymbolBits != key) i = (i + 1) & (slots_.size() - 1);
      if (slots_[i] == 0) slots_[i] = key << kSymbolBits | pair.made;
    }
  }

  Merge find(Symbol left, Symbol right) const {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t i = first_slot(key);; i = (i + 1) & (slots_.size() - 1)) {
      const std::uint64_t slot = slots_[i];
      if (slot >> kSymbolBits == key) {
        const Symbol made = slot & kOther;
        return {ranks_[made], made};
      }
      if (slot == 0) return {};
    }
  }

 private:
  // Not 0: a symbol counts from 1 there.
  static std::uint64_t key_of(Symbol left, Symbol right) { return (std::uint64_t{left} + 1) << kSymbolBits | right; }
  std::size_t first_slot(std::uint64_t key) const { return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> shift_); }

  std::vector<Rank> ranks_;  // by what is made
  ZeroedTable<std::uint64_t> slots_{2};
  unsigned shift_ = 63;
};

}  // namespace tokbench
