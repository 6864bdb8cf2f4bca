// Code points → UTF-8, eight at once: each becomes its bytes in a lane of four, and a table says how to move the
// bytes of four lanes together.
#pragma once

#include <array>

#include "byte_classes.hpp"

#if TOKBENCH_HAS_AVX2

namespace tokbench {

// By which of four code points have a second byte (the index's lower four bits) and which a third one.
struct Packing {
  std::array<Byte, 16> places;  // of the bytes that are kept
  Byte size;                    // how many these are
};
inline constexpr auto kPackings = [] {
  std::array<Packing, 256> packings{};
  for (unsigned index = 0; index < packings.size(); ++index) {
    Packing& packing = packings[index];
    packing.places.fill(0x80);
    for (unsigned lane = 0; lane < 4; ++lane) {
      const unsigned length = 1 + (index >> lane & 1) + (index >> (lane + 4) & 1);
      for (unsigned byte = 0; byte < length; ++byte) packing.places[packing.size++] = static_cast<Byte>(lane * 4 + byte);
    }
  }
  return packings;
}();

template <class Unit>
__attribute__((target("avx2"))) inline __m256i avx2_lanes(const Unit* units) {
  if constexpr (sizeof(Unit) == 1) return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(units)));
  if constexpr (sizeof(Unit) == 2) return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(units)));
  if constexpr (sizeof(Unit) == 4) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(units));
}

__attribute__((target("avx2"))) inline __m256i avx2_all(int value) { return _mm256_set1_epi32(value); }

__attribute__((target("avx2"))) inline Byte* avx2_pack(__m128i lanes, unsigned index, Byte* out) {
  const Packing& packing = kPackings[index];
  const __m128i places = _mm_loadu_si128(reinterpret_cast<const __m128i*>(packing.places.data()));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(lanes, places));
  return out + packing.size;
}

// Writes the next eight units, and may write up to 16 bytes more. Returns where they end, or nullptr where one of them
// is a surrogate or needs four bytes.
template <class Unit>
__attribute__((target("avx2"))) inline Byte* write_eight(const Unit* units, Byte* out) {
  const __m256i all = avx2_lanes(units);
  if constexpr (sizeof(Unit) > 1) {
    const __m256i surrogates = _mm256_cmpeq_epi32(_mm256_and_si256(all, avx2_all(~0x7FF)), avx2_all(0xD800));
    if (_mm256_movemask_epi8(_mm256_or_si256(surrogates, _mm256_cmpgt_epi32(all, avx2_all(0xFFFF)))) != 0) return nullptr;
  }
  const __m256i have_second = _mm256_cmpgt_epi32(all, avx2_all(0x7F)), have_third = _mm256_cmpgt_epi32(all, avx2_all(0x7FF));
  const __m256i low_bits = _mm256_or_si256(_mm256_and_si256(all, avx2_all(0x3F)), avx2_all(0x80));
  const __m256i rest = _mm256_srli_epi32(all, 6);
  const __m256i two = _mm256_or_si256(_mm256_or_si256(rest, avx2_all(0xC0)), _mm256_slli_epi32(low_bits, 8));
  const __m256i middle = _mm256_or_si256(_mm256_and_si256(rest, avx2_all(0x3F)), avx2_all(0x80));
  const __m256i first = _mm256_or_si256(_mm256_srli_epi32(all, 12), avx2_all(0xE0));
  const __m256i three = _mm256_or_si256(first, _mm256_or_si256(_mm256_slli_epi32(middle, 8), _mm256_slli_epi32(low_bits, 16)));
  const __m256i bytes = _mm256_blendv_epi8(_mm256_blendv_epi8(all, two, have_second), three, have_third);
  const auto second = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(have_second)));
  const auto third = static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(have_third)));
  out = avx2_pack(_mm256_castsi256_si128(bytes), (second & 0xF) | (third & 0xF) << 4, out);
  return avx2_pack(_mm256_extracti128_si256(bytes, 1), second >> 4 | (third & 0xF0), out);
}

}  // namespace tokbench

#endif
