// Text → its pre-tokens, as the words that an encoder looks up.
#pragma once

#include "encoding/text_words.hpp"
#include "splitting.hpp"

namespace tokbench {

// How a tier splits into the words of a pattern: all tiers alike.
SplitWords split_words_of(Pattern pattern, SimdTier tier = simd_tier());

// The same before each space between two ASCII letters.
SplitWords split_at_spaces(SimdTier tier = simd_tier());

}  // namespace tokbench
