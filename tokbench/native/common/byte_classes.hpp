// Classifies the bytes of a block of 64 (letters, digits, white space and so on) as bit masks, one bit per byte, in tiers with
// the same results: "scalar" uses no blocks (scanners go character by character, which is the definition), "swar" processes
// eight bytes in a word, "avx2" thirty-two in a register, "avx512" all sixty-four.
//
// The best tier that the processor supports is used, or the one that the environment variable TOKBENCH_SIMD names.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include "utf8.hpp"

#if (defined(__x86_64__) || defined(__amd64__)) && defined(__GNUC__)
#define TOKBENCH_HAS_AVX 1
#include <immintrin.h>
// Every function of a tier needs this attribute, lambdas included: a function without it cannot be inlined into one with it.
#define TOKBENCH_FOR_AVX2 [[gnu::target("avx2,bmi,bmi2")]]
#define TOKBENCH_FOR_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi,bmi2")]]
#else
#define TOKBENCH_HAS_AVX 0
#endif

namespace tokbench {

inline constexpr std::size_t kBlock = 64;  // bytes in a block, and bits in a mask

using Mask = std::uint64_t;

// A mask of the first `count` <= 64 bytes.
inline Mask first_bits(std::size_t count) { return count >= kBlock ? ~Mask{0} : (Mask{1} << count) - 1; }

struct ByteClasses {
  Mask upper;       // A to Z
  Mask lower;       // a to z
  Mask digits;      // 0 to 9
  Mask spaces;      // " " only
  Mask white;       // all ASCII white space, " " included
  Mask newlines;    // "\n" and "\r"
  Mask apostrophes;
  Mask slashes;
  Mask high;        // 0x80 and above: bytes of non-ASCII characters
  friend bool operator==(const ByteClasses&, const ByteClasses&) = default;
};

using Classify = ByteClasses (*)(const Byte*);  // reads kBlock bytes

enum class SimdTier : std::uint8_t { Scalar, Swar, Avx2, Avx512 };

inline constexpr const char* kSimdTierNames[] = {"scalar", "swar", "avx2", "avx512"};

// --- eight bytes in a word ------------------------------------------------------------------------

inline constexpr std::uint64_t kEachByte = 0x0101010101010101u;
inline constexpr std::uint64_t kHighBits = 0x8080808080808080u;

// Sets the high bit of each byte in [low, high]. All bytes of `ascii` must be below 0x80.
inline std::uint64_t bytes_between(std::uint64_t ascii, Byte low, Byte high) {
  const std::uint64_t at_least_low = ascii + kEachByte * (0x80u - low);
  const std::uint64_t above_high = ascii + kEachByte * (0x7Fu - high);
  return at_least_low & ~above_high & kHighBits;
}

// Gathers the high bits of eight bytes into eight bits, the first byte's lowest.
inline Mask gathered(std::uint64_t high_bits) { return ((high_bits >> 7) * 0x0102040810204080u) >> 56; }

inline ByteClasses classify_by_words(const Byte* block) {
  static_assert(std::endian::native == std::endian::little, "the first byte of a word is its lowest");
  ByteClasses classes{};
  for (unsigned i = 0; i < kBlock; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, block + i, 8);
    const std::uint64_t ascii = word & ~kHighBits, low = ~word;
    const std::uint64_t space = bytes_between(ascii, ' ', ' ') & low;
    const std::uint64_t newline = (bytes_between(ascii, '\n', '\n') | bytes_between(ascii, '\r', '\r')) & low;
    classes.upper |= gathered(bytes_between(ascii, 'A', 'Z') & low) << i;
    classes.lower |= gathered(bytes_between(ascii, 'a', 'z') & low) << i;
    classes.digits |= gathered(bytes_between(ascii, '0', '9') & low) << i;
    classes.spaces |= gathered(space) << i;
    classes.white |= gathered(space | (bytes_between(ascii, '\t', '\r') & low)) << i;
    classes.newlines |= gathered(newline) << i;
    classes.apostrophes |= gathered(bytes_between(ascii, '\'', '\'') & low) << i;
    classes.slashes |= gathered(bytes_between(ascii, '/', '/') & low) << i;
    classes.high |= gathered(word & kHighBits) << i;
  }
  return classes;
}

// --- thirty-two in a register ---------------------------------------------------------------------

#if TOKBENCH_HAS_AVX
TOKBENCH_FOR_AVX2 inline __m256i avx2_between(__m256i bytes, char low, char high) {
  const __m256i offset = _mm256_sub_epi8(bytes, _mm256_set1_epi8(low));
  const __m256i span = _mm256_set1_epi8(static_cast<char>(high - low));
  return _mm256_cmpeq_epi8(_mm256_min_epu8(offset, span), offset);
}

TOKBENCH_FOR_AVX2 inline Mask avx2_bits(__m256i first, __m256i second) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(first)) |
         static_cast<Mask>(static_cast<std::uint32_t>(_mm256_movemask_epi8(second))) << 32;
}

TOKBENCH_FOR_AVX2 inline Mask avx2_bits_between(__m256i first, __m256i second, char low, char high) {
  return avx2_bits(avx2_between(first, low, high), avx2_between(second, low, high));
}

TOKBENCH_FOR_AVX2 inline Mask avx2_bits_of(__m256i first, __m256i second, char byte) {
  const __m256i wanted = _mm256_set1_epi8(byte);
  return avx2_bits(_mm256_cmpeq_epi8(first, wanted), _mm256_cmpeq_epi8(second, wanted));
}

TOKBENCH_FOR_AVX2 inline ByteClasses classify_by_registers(const Byte* block) {
  const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block));
  const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block + 32));
  ByteClasses classes;
  classes.upper = avx2_bits_between(first, second, 'A', 'Z');
  classes.lower = avx2_bits_between(first, second, 'a', 'z');
  classes.digits = avx2_bits_between(first, second, '0', '9');
  classes.spaces = avx2_bits_of(first, second, ' ');
  classes.white = classes.spaces | avx2_bits_between(first, second, '\t', '\r');
  classes.newlines = avx2_bits_of(first, second, '\n') | avx2_bits_of(first, second, '\r');
  classes.apostrophes = avx2_bits_of(first, second, '\'');
  classes.slashes = avx2_bits_of(first, second, '/');
  classes.high = avx2_bits(first, second);
  return classes;
}

// --- sixty-four in a register ---------------------------------------------------------------------

TOKBENCH_FOR_AVX512 inline Mask avx512_between(__m512i bytes, char low, char high) {
  const __m512i offset = _mm512_sub_epi8(bytes, _mm512_set1_epi8(low));
  return _mm512_cmple_epu8_mask(offset, _mm512_set1_epi8(static_cast<char>(high - low)));
}

TOKBENCH_FOR_AVX512 inline Mask avx512_equal(__m512i bytes, char byte) {
  return _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte));
}

TOKBENCH_FOR_AVX512 inline ByteClasses classify_by_wide_registers(const Byte* block) {
  const __m512i bytes = _mm512_loadu_si512(block);
  ByteClasses classes;
  classes.upper = avx512_between(bytes, 'A', 'Z');
  classes.lower = avx512_between(bytes, 'a', 'z');
  classes.digits = avx512_between(bytes, '0', '9');
  classes.spaces = avx512_equal(bytes, ' ');
  classes.white = classes.spaces | avx512_between(bytes, '\t', '\r');
  classes.newlines = avx512_equal(bytes, '\n') | avx512_equal(bytes, '\r');
  classes.apostrophes = avx512_equal(bytes, '\'');
  classes.slashes = avx512_equal(bytes, '/');
  classes.high = _mm512_movepi8_mask(bytes);
  return classes;
}
#endif

// --- which one ------------------------------------------------------------------------------------

// Whether the processor supports a tier. AVX-512 without VBMI2 is left out: those processors lower their clock for it.
inline bool has_tier([[maybe_unused]] SimdTier tier) {
#if TOKBENCH_HAS_AVX
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  if (tier == SimdTier::Avx2) return has_avx2;
  if (tier == SimdTier::Avx512) {
    return has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
  }
#endif
  return tier <= SimdTier::Swar;
}

// The classifier of a tier; nullptr for "scalar".
inline Classify classify_of(SimdTier tier) {
#if TOKBENCH_HAS_AVX
  if (tier == SimdTier::Avx512) return &classify_by_wide_registers;
  if (tier == SimdTier::Avx2) return &classify_by_registers;
#endif
  return tier == SimdTier::Scalar ? nullptr : &classify_by_words;
}

// The tier that TOKBENCH_SIMD names; an empty name means the best one.
inline SimdTier simd_tier_named(std::string_view name) {
  const std::string found = "TOKBENCH_SIMD is \"" + std::string(name) + "\"";
  for (const SimdTier tier : {SimdTier::Avx512, SimdTier::Avx2, SimdTier::Swar, SimdTier::Scalar}) {
    const bool is_named = name == kSimdTierNames[static_cast<std::size_t>(tier)];
    if ((is_named || name.empty()) && has_tier(tier)) return tier;
    if (is_named) throw std::invalid_argument(found + ", which this processor does not have");
  }
  throw std::invalid_argument(found + "; it may be scalar, swar, avx2 or avx512");
}

// The tier of this process. Throws if the environment requests one that is unknown or unsupported.
inline SimdTier simd_tier() {
  static const SimdTier tier = [] {
    const char* const name = std::getenv("TOKBENCH_SIMD");
    return simd_tier_named(name == nullptr ? "" : name);
  }();
  return tier;
}

}  // namespace tokbench
