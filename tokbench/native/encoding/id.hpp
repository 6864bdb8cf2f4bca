// The type of a token id.
#pragma once

#include <cstdint>

namespace tokbench {

using Id = std::uint32_t;

}  // namespace tokbench
