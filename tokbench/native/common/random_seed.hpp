// A hash seed that the author of a text cannot predict.
#pragma once

#include <cstdint>
#include <random>

namespace tokbench {

inline std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace tokbench
