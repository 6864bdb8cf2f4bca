#include "splitting.hpp"

#include "split_loops.hpp"

namespace tokbench {

Split split_of(Pattern pattern, SimdTier tier) { return split_into<PretokenEnds>(pattern, tier); }

Split split_of(const CompiledPattern& pattern) { return pattern.split_into<PretokenEnds>(); }

}  // namespace tokbench
