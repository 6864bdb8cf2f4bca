// SHA-256 (FIPS 180-4, section 6.2), with the SHA instructions of the processor if available.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "common/byte_classes.hpp"
#include "common/utf8.hpp"

#if TOKBENCH_HAS_AVX
#include <cpuid.h>
#include <immintrin.h>
#define TOKBENCH_FOR_SHA [[gnu::target("sha,ssse3,sse4.1")]]
#endif

namespace tokbench::corpus {

// The words of a hash, most significant first.
using Digest = std::array<std::uint32_t, 8>;

inline constexpr std::size_t kShaBlock = 64;  // size of a block in bytes

alignas(16) inline constexpr std::uint32_t kShaConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

inline constexpr Digest kShaStart = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

// Updates a hash with blocks of 64 bytes: the definition.
inline void sha_blocks(Digest& hash, const Byte* block, std::size_t count) {
  for (; count > 0; --count, block += kShaBlock) {
    std::uint32_t w[64];
    for (std::size_t t = 0; t < 16; ++t) {
      const Byte* const p = block + 4 * t;
      w[t] = std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | p[3];
    }
    for (std::size_t t = 16; t < 64; ++t) {
      const std::uint32_t before = w[t - 15], after = w[t - 2];
      const std::uint32_t low = std::rotr(before, 7) ^ std::rotr(before, 18) ^ before >> 3;
      const std::uint32_t high = std::rotr(after, 17) ^ std::rotr(after, 19) ^ after >> 10;
      w[t] = high + w[t - 7] + low + w[t - 16];
    }
    auto [a, b, c, d, e, f, g, h] = hash;
    for (std::size_t t = 0; t < 64; ++t) {
      const std::uint32_t chosen = (e & f) ^ (~e & g), most = (a & b) ^ (a & c) ^ (b & c);
      const std::uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + chosen + kShaConstants[t] + w[t];
      const std::uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + most;
      h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    const Digest mixed = {a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < hash.size(); ++i) hash[i] += mixed[i];
  }
}

#if TOKBENCH_HAS_AVX
// The same with SHA-NI, four rounds at a time. The instructions expect the words in the orders ABEF and CDGH.
TOKBENCH_FOR_SHA inline void sha_blocks_by_instructions(Digest& hash, const Byte* block, std::size_t count) {
  const auto at = [](const auto* p) { return reinterpret_cast<const __m128i*>(p); };
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(at(hash.data())), 0xB1);
  const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(at(hash.data() + 4)), 0x1B);
  __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xF0);
  for (; count > 0; --count, block += kShaBlock) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i) {
      __m128i& four = w[i % 4];
      if (i < 4) {
        four = _mm_shuffle_epi8(_mm_loadu_si128(at(block + 16 * i)), big_endian);
      } else {
        const __m128i last = w[(i + 3) % 4];
        const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(four, w[(i + 1) % 4]), _mm_alignr_epi8(last, w[(i + 2) % 4], 4));
        four = _mm_sha256msg2_epu32(sum, last);
      }
      const __m128i keyed = _mm_add_epi32(four, _mm_load_si128(at(kShaConstants + 4 * i)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, keyed);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(keyed, 0x0E));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(hash.data()), _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(hash.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}

inline bool has_sha_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool is_known = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0;
  return is_known && (b & bit_SHA) != 0 && __builtin_cpu_supports("sse4.1") && __builtin_cpu_supports("ssse3");
}
#endif

using ShaBlocks = void (*)(Digest&, const Byte*, std::size_t);

// The fastest implementation that the processor supports.
inline ShaBlocks fastest_sha_blocks() {
#if TOKBENCH_HAS_AVX
  if (has_sha_instructions()) return sha_blocks_by_instructions;
#endif
  return sha_blocks;
}

inline Digest sha256(Bytes message, ShaBlocks add_blocks) {
  Digest hash = kShaStart;
  const std::size_t whole = message.size() / kShaBlock, left = message.size() % kShaBlock;
  add_blocks(hash, message.data(), whole);
  // Padding: the remaining bytes, a 1 bit, zeros, and the number of bits in 8 bytes.
  Byte end[2 * kShaBlock] = {};
  if (left > 0) std::memcpy(end, message.data() + whole * kShaBlock, left);
  end[left] = 0x80;
  const std::size_t size = left < kShaBlock - 8 ? kShaBlock : 2 * kShaBlock;
  const std::uint64_t bits = std::uint64_t{message.size()} * 8;
  for (std::size_t i = 0; i < 8; ++i) end[size - 1 - i] = static_cast<Byte>(bits >> 8 * i);
  add_blocks(hash, end, size / kShaBlock);
  return hash;
}

}  // namespace tokbench::corpus
