// The number of a token.
#pragma once

#include <cstdint>

namespace tokbench {

using Id = std::uint32_t;

}  // namespace tokbench
