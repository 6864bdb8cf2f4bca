#include "word_lookup.hpp"

#include "split_loops.hpp"

namespace tokbench {

SplitWords split_words_of(Pattern pattern, SimdTier tier) { return split_into<TextWords>(pattern, tier); }

}  // namespace tokbench
