#include "splitting.hpp"

#include <algorithm>

#include "block_scanner.hpp"

namespace tokbench {

namespace {

static_assert(kMostEnds >= kBlock, "a block may have as many pre-tokens as bytes");

template <Rules R>
struct RuleScanner {
  static constexpr bool kHasBlocks = has_blocks(R.word);
  static const Byte* next(const Byte* p, const Byte* end) { return next_pretoken<R>(p, end); }
  TOKBENCH_ALWAYS_INLINE static Mask starts(const ByteClasses& classes, const Byte* p, std::size_t size, const Byte* end) {
    return block_starts<R>(classes, p, size, end);
  }
};

// From character to character, which defines the pre-tokens of a text, to the first one that ends at `stop` or behind
// it; returns where it is written that it ends.
template <class Scanner>
TOKBENCH_NEVER_INLINE const Byte** scan_over(const Byte* p, const Byte* stop, const Byte* end, const Byte** ends) {
  while (p < stop) *ends++ = p = Scanner::next(p, end);
  return ends;
}

template <class Scanner>
std::size_t split_by_scanner(const Byte* p, const Byte* end, const Byte** ends) {
  std::size_t count = 0;
  while (p != end && count < kMostEnds) ends[count++] = p = Scanner::next(p, end);
  return count;
}

// Block by block, and by the scanner where a block does not tell. `classify` is inlined where the tier allows.
template <class Scanner, Classify classify>
TOKBENCH_ALWAYS_INLINE inline std::size_t split_by_blocks(const Byte* p, const Byte* end, const Byte** ends) {
  constexpr std::size_t kPoor = 16;  // a block that tells less is followed by a block's worth of scanning
  const Byte** out = ends;
  Byte padded[kBlock];
  do {
    const auto left = static_cast<std::size_t>(end - p);
    if (left < kPoor) {
      out = scan_over<Scanner>(p, end, end, out);
      break;
    }
    const Byte* const block = p;
    const Byte* known = p;
    const auto size = std::min(left, kBlock);
    if (size < kBlock) [[unlikely]] {
      std::fill(std::copy(p, end, padded), padded + kBlock, Byte{0});
      known = padded;
    }
    for (Mask starts = Scanner::starts(classify(known), p, size, end) & ~Mask{1}; starts != 0; starts &= starts - 1) {
      *out++ = p = block + std::countr_zero(starts);
    }
    if (p < block + kPoor) [[unlikely]] {
      out = scan_over<Scanner>(p, block + size, end, out);
      p = out[-1];
    }
  } while (p != end && out <= ends + (kMostEnds - kBlock));
  return static_cast<std::size_t>(out - ends);
}

template <class Scanner>
std::size_t split_by_words(const Byte* p, const Byte* end, const Byte** ends) {
  return split_by_blocks<Scanner, classify_by_words>(p, end, ends);
}

#if TOKBENCH_HAS_AVX
// All of it with the processor's better instructions, and what it calls in one function with it.
template <class Scanner>
TOKBENCH_FOR_AVX2 [[gnu::flatten]] std::size_t split_by_registers(const Byte* p, const Byte* end, const Byte** ends) {
  return split_by_blocks<Scanner, classify_by_registers>(p, end, ends);
}

template <class Scanner>
TOKBENCH_FOR_AVX512 [[gnu::flatten]] std::size_t split_by_wide_registers(const Byte* p, const Byte* end, const Byte** ends) {
  return split_by_blocks<Scanner, classify_by_wide_registers>(p, end, ends);
}
#endif

template <Rules R>
Split split_in(SimdTier tier) {
  using Scanner = RuleScanner<R>;
  if constexpr (Scanner::kHasBlocks) {
#if TOKBENCH_HAS_AVX
    if (tier == SimdTier::Avx512) return &split_by_wide_registers<Scanner>;
    if (tier == SimdTier::Avx2) return &split_by_registers<Scanner>;
#endif
    if (tier == SimdTier::Swar) return &split_by_words<Scanner>;
  }
  return &split_by_scanner<Scanner>;
}

std::size_t split_nowhere(const Byte*, const Byte* end, const Byte** ends) {
  ends[0] = end;
  return 1;
}

}  // namespace

Split split_of(Pattern pattern, SimdTier tier) {
  switch (pattern) {
    case Pattern::Gpt2:
      return split_in<kGpt2>(tier);
    case Pattern::Gpt4:
      return split_in<kGpt4>(tier);
    case Pattern::Gpt4o:
      return split_in<kGpt4o>(tier);
    case Pattern::Llama3:
    case Pattern::RustBpe:  // the same language, another spelling
      return split_in<kLlama3>(tier);
    case Pattern::Qwen2:
      return split_in<kQwen2>(tier);
    case Pattern::Nanochat:
      return split_in<kNanochat>(tier);
    case Pattern::Code:
      return split_in<kCode>(tier);
    case Pattern::None:
      break;
  }
  return &split_nowhere;
}

}  // namespace tokbench
