// How many ASCII letters follow one another in a text, from the bit masks of blocks of 64 bytes.
#pragma once

#include <algorithm>
#include <bit>

#include "common/byte_classes.hpp"
#include "common/compiler.hpp"

namespace tokbench {

class LetterRuns {
 public:
  // Text up to `end` may be asked about.
  LetterRuns(Classify classify, const Byte* end) : classify_(classify), end_(end) {}

  // The number of ASCII letters, or of small ones, from p <= end on. It is fast if p ascends.
  TOKBENCH_ALWAYS_INLINE std::size_t letters(const Byte* p) { return run(p, letters_); }
  TOKBENCH_ALWAYS_INLINE std::size_t small_letters(const Byte* p) { return run(p, small_); }

 private:
  static std::uintptr_t address_of(const Byte* p) { return reinterpret_cast<std::uintptr_t>(p); }

  TOKBENCH_ALWAYS_INLINE std::size_t run(const Byte* p, const Mask& mask) {
    const std::size_t offset = address_of(p) - block_;
    if (offset < kBlock) [[likely]] {
      const auto size = static_cast<std::size_t>(std::countr_one(mask >> offset));
      if (offset + size < kBlock) [[likely]] return size;
    }
    return run_over(p, mask);
  }

  // `mask` is that of the block, which changes.
  TOKBENCH_NEVER_INLINE std::size_t run_over(const Byte* p, const Mask& mask) {
    const Byte* const first = p;
    while (p < end_) {
      load(p);
      const auto size = static_cast<std::size_t>(std::countr_one(mask));
      p += size;
      if (size < kBlock) break;
    }
    return static_cast<std::size_t>(p - first);
  }

  void load(const Byte* p) {
    Byte padded[kBlock] = {};
    const Byte* known = p;
    if (static_cast<std::size_t>(end_ - p) < kBlock) {
      std::copy(p, end_, padded);
      known = padded;
    }
    const ByteClasses classes = classify_(known);
    block_ = address_of(p);
    small_ = classes.lower;
    letters_ = classes.lower | classes.upper;
  }

  Classify classify_;
  const Byte* end_;
  std::uintptr_t block_ = 0;  // the address of the block that the masks are of
  Mask small_ = 0, letters_ = 0;
};

}  // namespace tokbench
