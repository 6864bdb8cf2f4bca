// BERT's normalizer and pre-tokenizer for a single character.
//
// The normalizer consists of clean_text, handle_chinese_chars, strip_accents and lowercase, in this order. All of them map each
// character by itself, except that strip_accents also sorts combining marks into canonical order, which is not done here. That
// order changes nothing unless two characters of trait::kMovable are adjacent; texts with such characters are left to the
// library.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>

#include "character_tables.hpp"
#include "common/utf8.hpp"

namespace tokbench {

struct BertRules {
  bool clean_text;
  bool handle_chinese_chars;
  bool strip_accents;
  bool lowercase;
};

inline std::uint8_t traits_of(std::uint32_t code_point) {
  const std::size_t block = kTraitBlockOf[code_point >> 8];
  return kTraitsInBlock[block * 256 + (code_point & 0xFF)];
}

// A character of a text. An invalid byte counts as a character without traits.
struct TextCharacter {
  std::uint32_t code_point;
  std::uint32_t length;  // in bytes, at least 1
  std::uint8_t traits;
};

TOKBENCH_ALWAYS_INLINE inline TextCharacter text_character_at(const Byte* p, const Byte* end) {
  const std::uint32_t lead = p[0];
  if (lead < 0x80) return {lead, 1, kTraitsInBlock[lead]};
  std::uint32_t code_point = 0;
  const std::uint32_t length = well_formed_length(p, end);
  if (length == 2) code_point = (lead & 0x1F) << 6 | (p[1] & 0x3Fu);
  if (length == 3) code_point = (lead & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
  if (length == 4) code_point = (lead & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
  if (length == 0) return {lead, 1, 0};
  return {code_point, length, traits_of(code_point)};
}

// Up to three code points, padded with zeros.
using Made = std::array<std::uint32_t, std::size(Change{}.made)>;

// The replacement of a code point, which must be in the table.
template <std::size_t kSize>
inline Made changed(const Change (&table)[kSize], std::uint32_t code_point) {
  const Change* const found = std::ranges::lower_bound(table, code_point, {}, &Change::character);
  return std::to_array(found->made);
}

// The decomposition of a Hangul syllable into letters (Unicode 15, section 3.12).
inline Made letters_of_syllable(std::uint32_t code_point) {
  const std::uint32_t index = code_point - 0xAC00, tail = index % 28;
  return {0x1100 + index / 588, 0x1161 + index % 588 / 28, tail == 0 ? 0 : 0x11A7 + tail};
}

inline Made without_accents(std::uint32_t code_point, std::uint8_t traits) {
  if (traits & trait::kMark) return {};
  if ((traits & trait::kAccented) == 0) return {code_point};
  return code_point >= 0xAC00 && code_point < 0xD7A4 ? letters_of_syllable(code_point) : changed(kStripped, code_point);
}

// Normalizes one character: calls use(code point, traits) for each resulting character, and cut() where words end: at white
// space, and before and after a character that is a word by itself.
template <class Use, class Cut>
inline void for_each_normal(const BertRules& rules, std::uint32_t code_point, std::uint8_t traits, Use use, Cut cut) {
  if (rules.clean_text && (traits & trait::kControl)) return;
  if (traits & trait::kWhite) return cut();
  const bool is_word = rules.handle_chinese_chars && (traits & trait::kIdeograph);
  if (is_word) cut();
  const Made stripped = rules.strip_accents ? without_accents(code_point, traits) : Made{code_point};
  for (const std::uint32_t one : stripped) {
    if (one == 0 && code_point != 0) break;
    const std::uint8_t own = traits_of(one);
    if (rules.lowercase && (own & trait::kCased)) {
      for (const std::uint32_t lower : changed(kLowered, one)) {
        if (lower != 0) use(lower, traits_of(lower));
      }
    } else {
      use(one, own);
    }
    if (one == 0) break;  // padding, or U+0000 itself
  }
  if (is_word) cut();
}

}  // namespace tokbench
