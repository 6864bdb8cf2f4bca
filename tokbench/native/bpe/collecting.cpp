#include "collecting.hpp"

#include "split_loops.hpp"

namespace tokbench {

Collect collect_of(Pattern pattern, SimdTier tier) { return split_into<TextWords>(pattern, tier); }

}  // namespace tokbench
