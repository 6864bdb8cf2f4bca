// A hash table from a pair of symbols to the merged symbol and its rank.
//
// A slot holds both symbols and what becomes of them, so that a lookup is one memory access.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "common/compiler.hpp"
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
    for (const Pair& pair : pairs) {
      const std::uint64_t key = key_of(pair.left, pair.right);
      std::size_t i = first_slot(key);
      while (slots_[i].key != 0 && slots_[i].key != key) i = next(i);
      if (slots_[i].key == 0) slots_[i] = {key, pair.merge};
    }
  }

  PairMerge find(Symbol left, Symbol right) const {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t i = first_slot(key);; i = next(i)) {
      if (slots_[i].key == key) return slots_[i].merge;
      if (slots_[i].key == 0) return {};
    }
  }

  std::size_t num_bytes() const { return slots_.size() * sizeof(Slot); }

  // Begins to fetch what find() reads.
  void fetch(Symbol left, Symbol right) const { prefetch(&slots_[first_slot(key_of(left, right))]); }

 private:
  struct Slot {
    std::uint64_t key;
    PairMerge merge;
  };

  // Not 0, which marks a free slot.
  static std::uint64_t key_of(Symbol left, Symbol right) { return (std::uint64_t{left} << kSymbolBits | right) + 1; }
  std::size_t first_slot(std::uint64_t key) const { return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> shift_); }
  std::size_t next(std::size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

  ZeroedTable<Slot> slots_{2};
  unsigned shift_ = 63;
};

}  // namespace tokbench
