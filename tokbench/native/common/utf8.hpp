// UTF-8: decoding, the class of a character, and validation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "compiler.hpp"
#include "unicode_tables.hpp"

namespace tokbench {

using Byte = std::uint8_t;
using Bytes = std::span<const Byte>;

struct Character {
  CharClass kind;
  std::uint32_t length;  // in bytes, at least 1
};

inline CharClass class_of(std::uint32_t code_point) {
  const std::size_t block = kBlockOfCodePoint[code_point >> 8];
  return static_cast<CharClass>(kClassInBlock[block * 256 + (code_point & 0xFF)]);
}

inline bool is_continuation(Byte byte) { return (byte & 0xC0) == 0x80; }

// Length of the well-formed character at `p` (Unicode 15, table 3-7), or 0.
TOKBENCH_ALWAYS_INLINE inline std::uint32_t well_formed_length(const Byte* p, const Byte* end) {
  const auto left = end - p;
  const Byte lead = p[0];
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  if (lead < 0xE0) return left >= 2 && is_continuation(p[1]) ? 2 : 0;
  if (lead < 0xF0) {
    if (left < 3 || !is_continuation(p[1]) || !is_continuation(p[2])) return 0;
    if (lead == 0xE0 && p[1] < 0xA0) return 0;
    if (lead == 0xED && p[1] > 0x9F) return 0;
    return 3;
  }
  if (left < 4 || !is_continuation(p[1]) || !is_continuation(p[2]) || !is_continuation(p[3])) return 0;
  if (lead == 0xF0 && p[1] < 0x90) return 0;
  if (lead == 0xF4 && p[1] > 0x8F) return 0;
  return 4;
}

// The character at `p` (p < end). A byte that starts no valid character counts as a character of class Other, so that any bytes
// can be scanned.
TOKBENCH_ALWAYS_INLINE inline Character inlined_character_at(const Byte* p, const Byte* end) {
  const std::uint32_t b0 = p[0];
  if (b0 < 0x80) return {static_cast<CharClass>(kClassInBlock[b0]), 1};
  const std::uint32_t length = well_formed_length(p, end);
  switch (length) {
    case 2:
      return {class_of((b0 & 0x1F) << 6 | (p[1] & 0x3Fu)), 2};
    case 3:
      return {class_of((b0 & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu)), 3};
    case 4:
      return {class_of((b0 & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu)), 4};
    default:
      return {CharClass::Other, 1};
  }
}

// The same as an ordinary function, for use outside of innermost loops.
inline Character character_at(const Byte* p, const Byte* end) { return inlined_character_at(p, end); }

// The offset of the first byte that is not part of a well-formed character, if any.
inline std::optional<std::size_t> first_invalid(Bytes text) {
  const Byte* p = text.data();
  const Byte* const end = p + text.size();
  while (p < end) {
    while (end - p >= 8) {
      std::uint64_t word;
      std::memcpy(&word, p, 8);
      if (word & 0x8080808080808080u) break;
      p += 8;
    }
    if (p == end) break;
    const std::uint32_t length = well_formed_length(p, end);
    if (length == 0) return static_cast<std::size_t>(p - text.data());
    p += length;
  }
  return std::nullopt;
}

}  // namespace tokbench
