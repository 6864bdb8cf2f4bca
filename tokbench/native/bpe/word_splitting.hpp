// Splits text into pre-tokens as the words that the encoder looks up.
#pragma once

#include "encoding/text_words.hpp"
#include "splitting.hpp"

namespace tokbench {

// The splitting function of a pattern in a SIMD tier; all tiers give the same result.
SplitWords split_words_of(Pattern pattern, SimdTier tier = simd_tier());
SplitWords split_words_of(const CompiledPattern& pattern, SimdTier tier = simd_tier());

// The same, splitting before each space between two ASCII letters.
SplitWords split_at_spaces(SimdTier tier = simd_tier());

}  // namespace tokbench
