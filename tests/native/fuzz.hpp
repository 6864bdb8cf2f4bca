// Tools for fuzz targets: an input that is consumed piece by piece, and a check that ends the run.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "common/utf8.hpp"

// Each target defines this function; driver.cpp or libFuzzer calls it with arbitrary bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

#define CHECK(condition) ((condition) ? void() : ::tokbench::fuzz::fail(#condition, __FILE__, __LINE__))

namespace tokbench::fuzz {

[[noreturn]] inline void fail(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
  std::abort();
}

// SplitMix64: small, and the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }
  std::size_t between(std::size_t least, std::size_t most) { return least + below(most - least + 1); }
  bool one_in(std::size_t times) { return below(times) == 0; }

 private:
  std::uint64_t state_;
};

// Options are read from the front, a byte or a word each; the rest is the text. Bytes past the end are 0.
class Input {
 public:
  static constexpr std::size_t kOptionBytes = 24;  // the most that any target reads

  Input(const Byte* data, std::size_t size) : left_(data, size) {}

  std::size_t below(std::size_t limit) { return byte() % limit; }
  std::uint64_t word() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return value;
  }
  Bytes rest() const { return left_; }

 private:
  Byte byte() {
    if (left_.empty()) return 0;
    const Byte first = left_.front();
    left_ = left_.subspan(1);
    return first;
  }

  Bytes left_;
};

}  // namespace tokbench::fuzz
