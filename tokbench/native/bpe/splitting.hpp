// Text → its pre-tokens, some at a time, so that what is done with them is compiled once for all patterns and tiers.
#pragma once

#include "common/byte_classes.hpp"
#include "patterns.hpp"

namespace tokbench {

// Gives the pre-tokens from `p` on to the sink, until it has no room for those of another block or the text ends; returns
// where the last one ends. The sink is called with where a pre-token begins and where it ends. p < end, and nothing
// from `end` on is read.
template <class Sink>
using SplitInto = const Byte* (*)(const Byte* p, const Byte* end, Sink& sink);

inline constexpr std::size_t kEnoughPretokens = 64;
inline constexpr std::size_t kMostPretokens = kEnoughPretokens + kBlock;

// The sink that writes down where they end.
struct PretokenEnds {
  const Byte** next;
  const Byte* const* enough;

  void operator()(const Byte*, const Byte* stop) { *next++ = stop; }
  bool has_room() const { return next < enough; }
};

using Split = SplitInto<PretokenEnds>;

// How a tier splits by a pattern: all tiers alike.
Split split_of(Pattern pattern, SimdTier tier = simd_tier());

// Calls sink(start, ends) for at most kMostPretokens of a text and then for the next, until there are none: they begin
// at `start`, each at the end of the one before.
template <class Sink>
inline void for_each_split(Split split, Bytes text, Sink sink) {
  const Byte* const end = text.data() + text.size();
  const Byte* ends[kMostPretokens];
  for (const Byte* p = text.data(); p != end;) {
    PretokenEnds found{ends, ends + kEnoughPretokens};
    const Byte* const behind = split(p, end, found);
    sink(p, std::span<const Byte* const>(ends, found.next));
    p = behind;
  }
}

}  // namespace tokbench
