// The loops over the pre-tokens of a text, for each SIMD tier, pattern and type of sink. The sink is inlined into each of them;
// to be included in one source file per sink.
#pragma once

#include <algorithm>

#include "block_scanner.hpp"
#include "splitting.hpp"

namespace tokbench {

template <Rules R>
struct RuleScanner {
  static constexpr bool kHasBlocks = has_blocks(R.word);
  static const Byte* next(const Byte* p, const Byte* end) { return next_pretoken<R>(p, end); }
  TOKBENCH_ALWAYS_INLINE static Mask starts(const ByteClasses& classes, const Byte* p, std::size_t size, const Byte* end) {
    return block_starts<R>(classes, p, size, end);
  }
};

struct SuperwordScanner {
  static constexpr bool kHasBlocks = false;
  static const Byte* next(const Byte* p, const Byte* end) { return next_superword(p, end); }
};

// Splits before each space between two ASCII letters.
struct SpaceScanner {
  static constexpr bool kHasBlocks = true;
  static const Byte* next(const Byte* p, const Byte* end) {
    const auto is_letter = [](Byte byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; };
    for (const Byte* q = p + 1; q + 1 < end; ++q) {
      if (*q == ' ' && is_letter(q[-1]) && is_letter(q[1])) return q;
    }
    return end;
  }
  TOKBENCH_ALWAYS_INLINE static Mask starts(const ByteClasses& classes, const Byte*, std::size_t, const Byte*) {
    const Mask letters = classes.upper | classes.lower;
    return classes.spaces & letters << 1 & letters >> 1;
  }
};

// Splits character by character, which is the definition, up to the first pre-token that ends at or after `stop`; returns its
// end.
template <class Scanner, class Sink>
TOKBENCH_NEVER_INLINE const Byte* scan_over(const Byte* p, const Byte* stop, const Byte* end, Sink& sink) {
  while (p < stop) {
    const Byte* const after = Scanner::next(p, end);
    sink(p, after);
    p = after;
  }
  return p;
}

template <class Scanner, class Sink>
const Byte* split_by_scanner(const Byte* p, const Byte* end, Sink& sink) {
  while (p != end && sink.has_room()) {
    p = scan_over<Scanner>(p, p + std::min(static_cast<std::size_t>(end - p), kBlock), end, sink);
  }
  return p;
}

// Splits block by block, and with the scanner where a block is not sufficient. `classify` is inlined if the tier allows. Works
// on a copy of the sink whose address does not escape, so that the compiler keeps it in registers.
template <class Scanner, Classify classify, class Sink>
TOKBENCH_ALWAYS_INLINE inline const Byte* split_by_blocks(const Byte* p, const Byte* end, Sink& shared_sink) {
  constexpr std::size_t kPoor = 16;  // after a block that yields fewer bytes, the scanner processes one block's worth
  Sink sink = shared_sink;
  Byte padded[kBlock];
  while (static_cast<std::size_t>(end - p) >= kPoor && sink.has_room()) {
    const Byte* const block = p;
    const Byte* known = p;
    const auto size = std::min(static_cast<std::size_t>(end - p), kBlock);
    if (size < kBlock) [[unlikely]] {
      std::fill(std::copy(p, end, padded), padded + kBlock, Byte{0});
      known = padded;
    }
    for (Mask starts = Scanner::starts(classify(known), p, size, end) & ~Mask{1}; starts != 0; starts &= starts - 1) {
      const Byte* const stop = block + std::countr_zero(starts);
      sink(p, stop);
      p = stop;
    }
    if (p < block + kPoor) [[unlikely]] {
      shared_sink = sink;
      p = scan_over<Scanner>(p, block + size, end, shared_sink);
      sink = shared_sink;
    }
  }
  shared_sink = sink;
  return shared_sink.has_room() ? scan_over<Scanner>(p, end, end, shared_sink) : p;
}

template <class Scanner, class Sink>
const Byte* split_by_words(const Byte* p, const Byte* end, Sink& sink) {
  return split_by_blocks<Scanner, classify_by_words>(p, end, sink);
}

#if TOKBENCH_HAS_AVX
// Compiled for AVX2, with everything that it calls inlined.
template <class Scanner, class Sink>
TOKBENCH_FOR_AVX2 [[gnu::flatten]] const Byte* split_by_registers(const Byte* p, const Byte* end, Sink& sink) {
  return split_by_blocks<Scanner, classify_by_registers>(p, end, sink);
}

template <class Scanner, class Sink>
TOKBENCH_FOR_AVX512 [[gnu::flatten]] const Byte* split_by_wide_registers(const Byte* p, const Byte* end, Sink& sink) {
  return split_by_blocks<Scanner, classify_by_wide_registers>(p, end, sink);
}
#endif

template <class Scanner, class Sink>
SplitInto<Sink> split_with(SimdTier tier) {
  if constexpr (Scanner::kHasBlocks) {
#if TOKBENCH_HAS_AVX
    if (tier == SimdTier::Avx512) return &split_by_wide_registers<Scanner, Sink>;
    if (tier == SimdTier::Avx2) return &split_by_registers<Scanner, Sink>;
#endif
    if (tier == SimdTier::Swar) return &split_by_words<Scanner, Sink>;
  }
  return &split_by_scanner<Scanner, Sink>;
}

template <class Sink>
const Byte* split_nowhere(const Byte* p, const Byte* end, Sink& sink) {
  if (p != end) sink(p, end);
  return end;
}

template <Rules R, class Sink>
SplitInto<Sink> split_in(SimdTier tier) {
  return split_with<RuleScanner<R>, Sink>(tier);
}

// The splitting function of a pattern in a SIMD tier; all tiers give the same result.
template <class Sink>
SplitInto<Sink> split_into(Pattern pattern, SimdTier tier) {
  switch (pattern) {
    case Pattern::Gpt2:
      return split_in<kGpt2, Sink>(tier);
    case Pattern::Gpt4:
      return split_in<kGpt4, Sink>(tier);
    case Pattern::Gpt4o:
      return split_in<kGpt4o, Sink>(tier);
    case Pattern::Llama3:
    case Pattern::RustBpe:  // a different spelling that matches the same
      return split_in<kLlama3, Sink>(tier);
    case Pattern::Qwen2:
      return split_in<kQwen2, Sink>(tier);
    case Pattern::Nanochat:
      return split_in<kNanochat, Sink>(tier);
    case Pattern::Code:
      return split_in<kCode, Sink>(tier);
    case Pattern::Superwords:
      return split_with<SuperwordScanner, Sink>(tier);
    case Pattern::None:
      break;
  }
  return &split_nowhere<Sink>;
}

}  // namespace tokbench
