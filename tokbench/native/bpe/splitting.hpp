// Text → its pre-tokens, some at a time, so that what is done with them is compiled once for all patterns and tiers.
#pragma once

#include "encoding/text_words.hpp"
#include "patterns.hpp"

namespace tokbench {

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
    const Byte* const after = split(p, end, found);
    sink(p, std::span<const Byte* const>(ends, found.next));
    p = after;
  }
}

}  // namespace tokbench
