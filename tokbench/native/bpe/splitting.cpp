#include "splitting.hpp"

#include "split_loops.hpp"

namespace tokbench {

Split split_of(Pattern pattern, SimdTier tier) { return split_into<PretokenEnds>(pattern, tier); }

Split split_of(const CompiledPattern& pattern, SimdTier tier) { return pattern.split_into<PretokenEnds>(tier); }

}  // namespace tokbench
