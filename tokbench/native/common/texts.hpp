// Input text in units of one, two or four bytes, and its conversion to UTF-8.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "utf8_packing.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tokbench {

enum class Units : std::uint8_t { Utf8, Latin1, Ucs2, Ucs4 };  // the last three have one code point per unit

struct Text {
  Text(Bytes utf8) : data(utf8.data()), size(utf8.size()) {}  // NOLINT: bytes are a text
  Text(const void* first, std::size_t count, Units kind) : data(first), size(count), units(kind) {}

  const void* data;
  std::size_t size;  // in units
  Units units = Units::Utf8;

  // The text of units [from, to).
  Text part(std::size_t from, std::size_t to) const {
    constexpr std::size_t kWidths[] = {1, 1, 2, 4};
    return {static_cast<const Byte*>(data) + from * kWidths[static_cast<std::size_t>(units)], to - from, units};
  }
};

// Which ends of its text a part contains.
struct TextEnds {
  bool is_first = true;
  bool is_last = true;
};

// Thrown for a text with a lone surrogate, which UTF-8 cannot represent.
struct LoneSurrogate : std::invalid_argument {
  LoneSurrogate() : std::invalid_argument("a text has a lone surrogate") {}
};

// Upper bound on the bytes of UTF-8 per unit.
inline std::size_t most_bytes(Units units) {
  return units == Units::Utf8 ? 1 : units == Units::Latin1 ? 2 : units == Units::Ucs2 ? 3 : 4;
}

inline Byte* write_character(std::uint32_t code_point, Byte* out) {
  const auto continuation = [&](unsigned shift) { return static_cast<Byte>(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) {
    *out++ = static_cast<Byte>(code_point);
  } else if (code_point < 0x800) {
    *out++ = static_cast<Byte>(0xC0 | code_point >> 6);
    *out++ = continuation(0);
  } else if (code_point < 0x10000) {
    if (code_point >= 0xD800 && code_point < 0xE000) throw LoneSurrogate();
    *out++ = static_cast<Byte>(0xE0 | code_point >> 12);
    *out++ = continuation(6);
    *out++ = continuation(0);
  } else {
    *out++ = static_cast<Byte>(0xF0 | code_point >> 18);
    *out++ = continuation(12);
    *out++ = continuation(6);
    *out++ = continuation(0);
  }
  return out;
}

// Writes the next 16 units if all of them are ASCII; returns whether they are.
template <class Unit>
inline bool write_ascii(const Unit* units, Byte* out) {
#if defined(__SSE2__)
  const auto* const p = reinterpret_cast<const __m128i*>(units);
  if constexpr (sizeof(Unit) == 1) {
    const __m128i all = _mm_loadu_si128(p);
    if (_mm_movemask_epi8(all) != 0) return false;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), all);
    return true;
  } else if constexpr (sizeof(Unit) == 2) {
    const __m128i a = _mm_loadu_si128(p), b = _mm_loadu_si128(p + 1);
    const __m128i high = _mm_and_si128(_mm_or_si128(a, b), _mm_set1_epi16(static_cast<short>(0xFF80)));
    if (_mm_movemask_epi8(_mm_cmpeq_epi16(high, _mm_setzero_si128())) != 0xFFFF) return false;
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(a, b));
    return true;
  }
#endif
  Unit together = 0;
  for (std::size_t i = 0; i < 16; ++i) together = static_cast<Unit>(together | units[i]);
  if (together >= 0x80) return false;
  for (std::size_t i = 0; i < 16; ++i) out[i] = static_cast<Byte>(units[i]);
  return true;
}

template <class Unit>
inline Byte* write_utf8(const Unit* units, std::size_t size, Byte* out) {
  std::size_t i = 0;
  while (i < size) {
    if (units[i] < 0x80 && size - i >= 16 && units[i + 1] < 0x80 && write_ascii(units + i, out)) {
      i += 16;
      out += 16;
    } else {
      out = write_character(units[i++], out);
    }
  }
  return out;
}

#if TOKBENCH_HAS_AVX
// Converts eight non-ASCII units at a time.
template <class Unit>
TOKBENCH_FOR_AVX2 inline Byte* write_utf8_by_registers(const Unit* units, std::size_t size, Byte* out) {
  std::size_t i = 0;
  while (size - i >= 16) {
    if (write_ascii(units + i, out)) {
      i += 16;
      out += 16;
      continue;
    }
    for (const std::size_t after = i + 16; i < after; i += 8) {
      Byte* const end = write_eight(units + i, out);
      out = end != nullptr ? end : write_utf8(units + i, 8, out);
    }
  }
  return write_utf8(units + i, size - i, out);
}

// Converts sixteen non-ASCII units at a time.
template <class Unit>
TOKBENCH_FOR_AVX512 inline Byte* write_utf8_by_wide_registers(const Unit* units, std::size_t size, Byte* out) {
  std::size_t i = 0;
  for (; size - i >= 16; i += 16) {
    if (write_ascii(units + i, out)) {
      out += 16;
      continue;
    }
    Byte* const end = write_sixteen(units + i, out);
    out = end != nullptr ? end : write_utf8(units + i, 16, out);
  }
  return write_utf8(units + i, size - i, out);
}
#endif

template <class Unit>
inline Byte* write_utf8(const Text& text, Byte* out, [[maybe_unused]] SimdTier tier) {
  const auto* const units = static_cast<const Unit*>(text.data);
#if TOKBENCH_HAS_AVX
  if (tier == SimdTier::Avx512) return write_utf8_by_wide_registers(units, text.size, out);
  if (tier == SimdTier::Avx2) return write_utf8_by_registers(units, text.size, out);
#endif
  return write_utf8(units, text.size, out);
}

// Writes the UTF-8 of a text to `buffer` from `start` on, growing it if needed, and returns the end. Throws LoneSurrogate.
inline std::size_t append_utf8(const Text& text, std::vector<Byte>& buffer, std::size_t start, SimdTier tier = simd_tier()) {
  constexpr std::size_t kSlack = 64;  // bytes that may be written past the end
  const std::size_t most = start + text.size * most_bytes(text.units) + kSlack;
  if (buffer.size() < most) buffer.resize(std::max(most, buffer.size() * 2));
  Byte* end = buffer.data() + start;
  if (text.units == Units::Utf8) end = std::copy_n(static_cast<const Byte*>(text.data), text.size, end);
  if (text.units == Units::Latin1) end = write_utf8<std::uint8_t>(text, end, tier);
  if (text.units == Units::Ucs2) end = write_utf8<std::uint16_t>(text, end, tier);
  if (text.units == Units::Ucs4) end = write_utf8<std::uint32_t>(text, end, tier);
  return static_cast<std::size_t>(end - buffer.data());
}

// The UTF-8 of a text: the text itself, or a conversion in `buffer`. Throws LoneSurrogate.
inline Bytes utf8_of(const Text& text, std::vector<Byte>& buffer, SimdTier tier = simd_tier()) {
  if (text.units == Units::Utf8) return {static_cast<const Byte*>(text.data), text.size};
  const std::size_t size = append_utf8(text, buffer, 0, tier);
  return {buffer.data(), size};
}

}  // namespace tokbench
