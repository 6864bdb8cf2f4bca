// Text → where its pre-tokens end, some at a time, so that what is done with them is compiled once for all patterns.
#pragma once

#include "byte_classes.hpp"
#include "patterns.hpp"

namespace tokbench {

inline constexpr std::size_t kMostEnds = 128;  // at least kBlock

// Writes to `ends`, which has room for kMostEnds, where the pre-tokens that begin at `p` end; returns how many there
// are. They are at least one, and all of them where the last is `end`. p < end, and nothing behind `end` is read.
using Split = std::size_t (*)(const Byte* p, const Byte* end, const Byte** ends);

// How a tier splits by a pattern: all tiers alike.
Split split_of(Pattern pattern, SimdTier tier = simd_tier());

// Calls sink(start, ends) for some pre-tokens after the other: they begin at `start`, each at the end of the last.
template <class Sink>
inline void for_each_split(Split split, Bytes text, Sink sink) {
  const Byte* const end = text.data() + text.size();
  const Byte* ends[kMostEnds];
  for (const Byte* p = text.data(); p != end;) {
    const std::size_t count = split(p, end, ends);
    sink(p, std::span<const Byte* const>(ends, count));
    p = ends[count - 1];
  }
}

}  // namespace tokbench
