// Splits text into groups of pre-tokens, so that the code that processes them is compiled once for all patterns and tiers.
#pragma once

#include "compiled_pattern.hpp"
#include "encoding/text_words.hpp"
#include "patterns.hpp"

namespace tokbench {

// A sink that stores where pre-tokens end.
struct PretokenEnds {
  const Byte** next;
  const Byte* const* enough;

  void operator()(const Byte*, const Byte* stop) { *next++ = stop; }
  bool has_room() const { return next < enough; }
};

using Split = SplitInto<PretokenEnds>;

// The splitting function of a pattern in a SIMD tier; all tiers give the same result.
Split split_of(Pattern pattern, SimdTier tier = simd_tier());
Split split_of(const CompiledPattern& pattern, SimdTier tier = simd_tier());

// Calls sink(start, ends) for each group of at most kMostPretokens pre-tokens: the first one starts at `start`, each further
// one at the end of the one before.
template <class Sink>
inline void for_each_split(const Split& split, Bytes text, Sink sink) {
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
