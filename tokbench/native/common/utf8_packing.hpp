// Converts many code points to UTF-8 at once: each is expanded to its bytes in a four-byte lane, then the lanes are compressed.
#pragma once

#include <array>
#include <bit>

#include "byte_classes.hpp"

#if TOKBENCH_HAS_AVX

namespace tokbench {

// --- eight, and a table that says how the bytes of four lanes move --------------------------------

// How to compress four lanes, indexed by which of them have a second byte (lower four bits) and a third one (upper four bits).
struct Packing {
  std::array<Byte, 16> places;  // shuffle indices of the bytes to keep
  Byte size;                    // number of bytes to keep
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
TOKBENCH_FOR_AVX2 inline __m256i avx2_lanes(const Unit* units) {
  if constexpr (sizeof(Unit) == 1) return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(units)));
  if constexpr (sizeof(Unit) == 2) return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(units)));
  if constexpr (sizeof(Unit) == 4) return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(units));
}

TOKBENCH_FOR_AVX2 inline __m256i avx2_all(int value) { return _mm256_set1_epi32(value); }

TOKBENCH_FOR_AVX2 inline Byte* avx2_pack(__m128i lanes, unsigned index, Byte* out) {
  const Packing& packing = kPackings[index];
  const __m128i places = _mm_loadu_si128(reinterpret_cast<const __m128i*>(packing.places.data()));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_shuffle_epi8(lanes, places));
  return out + packing.size;
}

// Writes the next eight units and returns the end, or nullptr if one of them is a surrogate or needs four bytes. May write up
// to 16 bytes past the end.
template <class Unit>
TOKBENCH_FOR_AVX2 inline Byte* write_eight(const Unit* units, Byte* out) {
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

// --- sixteen, of any length -----------------------------------------------------------------------

template <class Unit>
TOKBENCH_FOR_AVX512 inline __m512i avx512_lanes(const Unit* units) {
  if constexpr (sizeof(Unit) == 1) return _mm512_maskz_cvtepu8_epi32(0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(units)));
  if constexpr (sizeof(Unit) == 2) return _mm512_maskz_cvtepu16_epi32(0xFFFF, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(units)));
  if constexpr (sizeof(Unit) == 4) return _mm512_loadu_si512(units);
}

TOKBENCH_FOR_AVX512 inline __m512i avx512_all(int value) { return _mm512_set1_epi32(value); }

// Computes the lead byte of sequences of a given length, and the continuation byte at `place` of a lane, which holds six bits.
template <unsigned kShift>
TOKBENCH_FOR_AVX512 inline __m512i avx512_lead(__m512i all, int mark) {
  return _mm512_or_si512(_mm512_maskz_srli_epi32(0xFFFF, all, kShift), avx512_all(mark));
}
template <unsigned kShift, unsigned kPlace>
TOKBENCH_FOR_AVX512 inline __m512i avx512_continuation(__m512i all) {
  const __m512i bits = _mm512_and_si512(_mm512_maskz_srli_epi32(0xFFFF, all, kShift), avx512_all(0x3F));
  return _mm512_maskz_slli_epi32(0xFFFF, _mm512_or_si512(bits, avx512_all(0x80)), 8 * kPlace);
}

TOKBENCH_FOR_AVX512 inline __m512i avx512_two(__m512i all) {
  return _mm512_or_si512(avx512_lead<6>(all, 0xC0), avx512_continuation<0, 1>(all));
}
TOKBENCH_FOR_AVX512 inline __m512i avx512_three(__m512i all) {
  const __m512i more = _mm512_or_si512(avx512_continuation<6, 1>(all), avx512_continuation<0, 2>(all));
  return _mm512_or_si512(avx512_lead<12>(all, 0xE0), more);
}
TOKBENCH_FOR_AVX512 inline __m512i avx512_four(__m512i all) {
  const __m512i more = _mm512_or_si512(avx512_continuation<6, 2>(all), avx512_continuation<0, 3>(all));
  return _mm512_or_si512(_mm512_or_si512(avx512_lead<18>(all, 0xF0), avx512_continuation<12, 1>(all)), more);
}

// Writes the next sixteen units and returns the end, or nullptr if one of them is a surrogate. May write up to 64 bytes in all.
template <class Unit>
TOKBENCH_FOR_AVX512 inline Byte* write_sixteen(const Unit* units, Byte* out) {
  const __m512i all = avx512_lanes(units);
  __m512i bytes = _mm512_mask_mov_epi32(all, _mm512_cmpgt_epu32_mask(all, avx512_all(0x7F)), avx512_two(all));
  if constexpr (sizeof(Unit) > 1) {
    if (_mm512_cmpeq_epi32_mask(_mm512_and_si512(all, avx512_all(~0x7FF)), avx512_all(0xD800)) != 0) return nullptr;
    bytes = _mm512_mask_mov_epi32(bytes, _mm512_cmpgt_epu32_mask(all, avx512_all(0x7FF)), avx512_three(all));
  }
  if constexpr (sizeof(Unit) > 2) {
    bytes = _mm512_mask_mov_epi32(bytes, _mm512_cmpgt_epu32_mask(all, avx512_all(0xFFFF)), avx512_four(all));
  }
  // Unused bytes of a lane are 0; of its used bytes, only the first can be 0 as well (U+0000).
  const __mmask64 kept = _mm512_test_epi8_mask(bytes, bytes) | 0x1111111111111111u;
  _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(kept, bytes));
  return out + std::popcount(kept);
}

}  // namespace tokbench

#endif
