// The bytes in a block of 64 that end words, as bit masks, in all SIMD tiers (common/byte_classes.hpp).
#pragma once

#include "common/byte_classes.hpp"

namespace tokbench {

struct WordClasses {
  Mask white;   // space, tab, "\n" and "\r"
  Mask single;  // ASCII punctuation: a word by itself
  Mask high;    // 0x80 and above: bytes of non-ASCII characters
};

inline bool is_ascii_gap(Byte byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

inline WordClasses word_classes_by_words(const Byte* block) {
  WordClasses classes{};
  for (unsigned i = 0; i < kBlock; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, block + i, 8);
    const std::uint64_t ascii = word & ~kHighBits, low = ~word;
    const std::uint64_t white = bytes_between(ascii, ' ', ' ') | bytes_between(ascii, '\t', '\n') | bytes_between(ascii, '\r', '\r');
    const std::uint64_t single = bytes_between(ascii, '!', '/') | bytes_between(ascii, ':', '@') | bytes_between(ascii, '[', '`') |
                                 bytes_between(ascii, '{', '~');
    classes.white |= gathered(white & low) << i;
    classes.single |= gathered(single & low) << i;
    classes.high |= gathered(word & kHighBits) << i;
  }
  return classes;
}

#if TOKBENCH_HAS_AVX
// A byte is white space or a word by itself if the table entries of its upper and lower four bits share a bit:
//
//   bit     0        1        2          3        4        5        6
//           ! to /   : to ?   @ and `    [ to _   { to ~   space    tab, "\n", "\r"
inline constexpr Byte kOfUpperHalf[16] = {0x40, 0, 0x21, 0x02, 0x04, 0x08, 0x04, 0x10};
inline constexpr Byte kOfLowerHalf[16] = {0x24, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01,
                                          0x01, 0x41, 0x43, 0x1B, 0x1B, 0x5B, 0x1B, 0x0B};
inline constexpr char kSingleBits = 0x1F, kWhiteBits = 0x60;

TOKBENCH_FOR_AVX2 inline __m256i avx2_word_bits(__m256i bytes) {
  const __m256i upper = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(kOfUpperHalf)));
  const __m256i lower = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(kOfLowerHalf)));
  const __m256i halves = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0F));
  return _mm256_and_si256(_mm256_shuffle_epi8(upper, halves), _mm256_shuffle_epi8(lower, bytes));
}

TOKBENCH_FOR_AVX2 inline Mask avx2_without(__m256i first, __m256i second, char bits) {
  const __m256i wanted = _mm256_set1_epi8(bits), none = _mm256_setzero_si256();
  return avx2_bits(_mm256_cmpeq_epi8(_mm256_and_si256(first, wanted), none), _mm256_cmpeq_epi8(_mm256_and_si256(second, wanted), none));
}

TOKBENCH_FOR_AVX2 inline WordClasses word_classes_by_registers(const Byte* block) {
  const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
  const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 32));
  const __m256i first_bits_of = avx2_word_bits(first), second_bits_of = avx2_word_bits(second);
  return {~avx2_without(first_bits_of, second_bits_of, kWhiteBits), ~avx2_without(first_bits_of, second_bits_of, kSingleBits),
          avx2_bits(first, second)};
}

TOKBENCH_FOR_AVX512 inline WordClasses word_classes_by_wide_registers(const Byte* block) {
  const __m512i bytes = _mm512_loadu_si512(block);
  const __m512i upper = _mm512_maskz_broadcast_i32x4(0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kOfUpperHalf)));
  const __m512i lower = _mm512_maskz_broadcast_i32x4(0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(kOfLowerHalf)));
  const __m512i halves = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), _mm512_set1_epi8(0x0F));
  const __m512i bits = _mm512_and_si512(_mm512_shuffle_epi8(upper, halves), _mm512_shuffle_epi8(lower, bytes));
  return {_mm512_test_epi8_mask(bits, _mm512_set1_epi8(kWhiteBits)), _mm512_test_epi8_mask(bits, _mm512_set1_epi8(kSingleBits)),
          _mm512_movepi8_mask(bytes)};
}
#endif

}  // namespace tokbench
