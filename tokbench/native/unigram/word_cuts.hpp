// The spaces in a block of 64 bytes as a bit mask, for each WordCut and in all SIMD tiers (common/byte_classes.hpp).
#pragma once

#include "word_splitting.hpp"

namespace tokbench {

template <WordCut kCut>
inline bool is_space(Byte byte) {
  return byte == ' ' || (kCut == WordCut::AtWhiteSpace && (byte == '\t' || byte == '\n' || byte == '\r'));
}

// The first word from `p` on; start == stop == end if there is none.
struct CutWord {
  const Byte* start;
  const Byte* stop;
};

template <WordCut kCut>
inline CutWord next_word(const Byte* p, const Byte* end) {
  const Byte* start = p;
  while (p != end && is_space<kCut>(*p)) ++p;
  if constexpr (kCut != WordCut::BeforeSpaces) start = p;
  while (p != end && !is_space<kCut>(*p)) ++p;
  return {start, p};
}

template <WordCut kCut>
inline Mask spaces_by_words(const Byte* block) {
  Mask spaces = 0;
  for (unsigned i = 0; i < kBlock; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, block + i, 8);
    const std::uint64_t ascii = word & ~kHighBits;
    std::uint64_t found = bytes_between(ascii, ' ', ' ');
    if constexpr (kCut == WordCut::AtWhiteSpace) found |= bytes_between(ascii, '\t', '\n') | bytes_between(ascii, '\r', '\r');
    spaces |= gathered(found & ~word) << i;
  }
  return spaces;
}

#if TOKBENCH_HAS_AVX
template <WordCut kCut>
TOKBENCH_FOR_AVX2 inline Mask spaces_by_registers(const Byte* block) {
  const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
  const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 32));
  Mask spaces = avx2_bits_of(first, second, ' ');
  if constexpr (kCut == WordCut::AtWhiteSpace) {
    spaces |= avx2_bits_between(first, second, '\t', '\n') | avx2_bits_of(first, second, '\r');
  }
  return spaces;
}

template <WordCut kCut>
TOKBENCH_FOR_AVX512 inline Mask spaces_by_wide_registers(const Byte* block) {
  const __m512i bytes = _mm512_loadu_si512(block);
  Mask spaces = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(' '));
  if constexpr (kCut == WordCut::AtWhiteSpace) {
    spaces |= _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\t')) | _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\n')) |
              _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\r'));
  }
  return spaces;
}
#endif

}  // namespace tokbench
