// The pairs of adjacent characters that a merge may join: between any others, a word can be cut before it is merged.
#pragma once

#include <vector>

#include "pairs.hpp"

namespace tokbench {

class Joints {
 public:
  // Any two characters may be joined.
  Joints() = default;

  // The symbols that no merge makes are characters, and no character is made by a merge. `size` is the number of symbols.
  Joints(std::span<const Pairs::Pair> pairs, std::size_t size) {
    std::vector<Ends> ends(size);
    for (Symbol symbol = 0; symbol < size; ++symbol) ends[symbol] = {symbol, symbol};
    for (const Pairs::Pair& pair : pairs) ends[pair.merge.made] = {kOther, kOther};
    if (!find_ends(pairs, ends)) return;
    bits_.assign(std::size_t{1} << (kBits - 6), 0);
    for (const Pairs::Pair& pair : pairs) {
      const Symbol last = ends[pair.left].last, first = ends[pair.right].first;
      if (last == kOther || first == kOther) continue;  // one of the two is never made
      const std::uint64_t bit = bit_of(last, first);
      bits_[bit >> 6] |= std::uint64_t{1} << (bit & 63);
    }
  }

  // Whether a merge may join two adjacent characters; true also for some that are never joined, as bits are shared.
  bool may_join(Symbol left, Symbol right) const {
    if (bits_.empty()) return true;
    const std::uint64_t bit = bit_of(left, right);
    return bits_[bit >> 6] >> (bit & 63) & 1;
  }

 private:
  static constexpr unsigned kBits = 20;  // 128 KiB
  static constexpr unsigned kMostPasses = 64;  // merges may be listed before those that make their parts

  // The first and the last character of a symbol; kOther if it is made of symbols that are not known yet.
  struct Ends {
    Symbol first, last;
  };

  // Finds the ends of all symbols that can be made. Returns false if a symbol is made of different characters, or it takes too long.
  static bool find_ends(std::span<const Pairs::Pair> pairs, std::vector<Ends>& ends) {
    for (unsigned pass = 0; pass < kMostPasses; ++pass) {
      bool is_settled = true;
      for (const Pairs::Pair& pair : pairs) {
        const Symbol first = ends[pair.left].first, last = ends[pair.right].last;
        Ends& made = ends[pair.merge.made];
        if (first == kOther || last == kOther || (made.first == first && made.last == last)) continue;
        if (made.first != kOther) return false;
        made = {first, last};
        is_settled = false;
      }
      if (is_settled) return true;
    }
    return false;
  }

  static std::uint64_t bit_of(Symbol left, Symbol right) {
    return ((std::uint64_t{left} << kSymbolBits | right) * 0x9E3779B97F4A7C15u) >> (64 - kBits);
  }

  std::vector<std::uint64_t> bits_;
};

}  // namespace tokbench
