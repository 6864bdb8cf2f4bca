#include "word_splitting.hpp"

#include "split_loops.hpp"

namespace tokbench {

SplitWords split_words_of(Pattern pattern, SimdTier tier) { return split_into<TextWords>(pattern, tier); }

SplitWords split_words_of(const CompiledPattern& pattern, SimdTier tier) { return pattern.split_into<TextWords>(tier); }

SplitWords split_at_spaces(SimdTier tier) { return split_with<SpaceScanner, TextWords>(tier); }

}  // namespace tokbench
