// Classifies characters by the table that Python provides.
#pragma once

#include <bit>
#include <stdexcept>
#include <vector>

#include "common/utf8.hpp"
#include "operators.hpp"

namespace tokbench::metrics {

enum class CharacterClass : std::uint8_t {
  Other, Upper, Lower, Letter, Unspaced, Mark, Digit, Number, Underscore, Space, Newline,
};

inline bool is_letter(CharacterClass kind) { return kind >= CharacterClass::Upper && kind <= CharacterClass::Letter; }
inline bool is_white_space(CharacterClass kind) { return kind >= CharacterClass::Space; }
inline bool starts_word(CharacterClass kind) {
  return is_letter(kind) || (kind >= CharacterClass::Digit && kind <= CharacterClass::Underscore);
}

// Whether a class is letters, marks or numbers.
inline bool is_of_language(CharacterClass kind) { return kind >= CharacterClass::Upper && kind <= CharacterClass::Number; }

inline constexpr std::uint32_t kNoCodePoint = 0xFFFFFFFF;

struct ClassifiedCharacter {
  CharacterClass kind;
  std::uint32_t length;      // in bytes, at least 1
  std::uint32_t code_point;  // kNoCodePoint for an invalid byte
};

// Whether a character joins two letters into one word.
inline bool joins_letters(std::uint32_t code_point) { return code_point == '\'' || code_point == 0x2019 || code_point == 0xB7; }

// Flags of a byte; those from 0x80 on have kBeyondAscii only.
inline constexpr unsigned kWordByte = 1;
inline constexpr unsigned kDigitByte = 2;
inline constexpr unsigned kPartingByte = 4;  // in a word, but not a small letter: an identifier may have a boundary here
inline constexpr unsigned kWhiteByte = 8;
inline constexpr unsigned kOperatorByte = 16;  // may start an operator
inline constexpr unsigned kJoinerByte = 32;    // may join the parts of a word
inline constexpr unsigned kBeyondAscii = 64;

// Flags of a word, in addition to those of its bytes.
inline constexpr unsigned kBeyondIdentifier = 128;  // contains a joiner or non-ASCII characters
inline constexpr unsigned kUnspacedWord = 256;      // a single letter of a script without spaces

class CharacterTable {
 public:
  static constexpr std::size_t kCodePoints = 0x110000;

  // `classes` are the classes of all code points.
  explicit CharacterTable(std::span<const std::uint8_t> classes) : classes_(kCodePoints) {
    if (classes.size() != kCodePoints) throw std::invalid_argument("there must be a class for each code point");
    if (std::ranges::max(classes) > static_cast<std::uint8_t>(CharacterClass::Newline)) {
      throw std::invalid_argument("a character's class is out of range");
    }
    std::memcpy(classes_.data(), classes.data(), kCodePoints);
    for (std::size_t byte = 0; byte < 256; ++byte) flags_[byte] = static_cast<std::uint8_t>(flags_of(static_cast<Byte>(byte)));
  }

  unsigned flags(Byte byte) const { return flags_[byte]; }
  CharacterClass class_of(std::uint32_t code_point) const { return classes_[code_point]; }

  // Skips ASCII small letters from `p` on, eight at a time; may stop early.
  const Byte* after_small_letters(const Byte* p, const Byte* end) const {
    constexpr std::uint64_t kOnes = 0x0101010101010101u, kHighBits = kOnes << 7;
    while (end - p >= 8) {
      std::uint64_t word;
      std::memcpy(&word, p, 8);
      const std::uint64_t low = word & ~kHighBits;  // prevents carries between bytes
      const std::uint64_t from_a = low + kOnes * (0x80 - 'a'), after_z = low + kOnes * (0x7F - 'z');
      const std::uint64_t others = ~(from_a & ~after_z & ~word) & kHighBits;
      if (others != 0) return p + std::countr_zero(others) / 8;
      p += 8;
    }
    return p;
  }

  // Whether a byte below 0x80 is a letter, mark or number.
  bool is_ascii_of_language(Byte byte) const { return is_of_language(classes_[byte]); }

  // The character at `p` (p < end). An invalid byte counts as a character of class Other.
  ClassifiedCharacter at(const Byte* p, const Byte* end) const {
    const std::uint32_t b0 = p[0];
    if (b0 < 0x80) return {classes_[b0], 1, b0};
    switch (well_formed_length(p, end)) {
      case 2:
        return classified((b0 & 0x1F) << 6 | (p[1] & 0x3Fu), 2);
      case 3:
        return classified((b0 & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu), 3);
      case 4:
        return classified((b0 & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu), 4);
      default:
        return {CharacterClass::Other, 1, kNoCodePoint};
    }
  }

  // The end of the white space at `p`.
  const Byte* after_white_space(const Byte* p, const Byte* end) const {
    while (p < end) {
      const ClassifiedCharacter character = at(p, end);
      if (!is_white_space(character.kind)) break;
      p += character.length;
    }
    return p;
  }

 private:
  ClassifiedCharacter classified(std::uint32_t code_point, std::uint32_t length) const {
    return {classes_[code_point], length, code_point};
  }

  unsigned flags_of(Byte byte) const {
    if (byte >= 0x80) return kBeyondAscii;
    const CharacterClass kind = classes_[byte];
    unsigned flags = 0;
    if (starts_word(kind)) flags |= kWordByte;
    if (kind == CharacterClass::Digit) flags |= kDigitByte;
    if (starts_word(kind) && kind != CharacterClass::Lower) flags |= kPartingByte;
    if (is_white_space(kind)) flags |= kWhiteByte;
    if (begins_operator(byte)) flags |= kOperatorByte;
    if (byte == '\'' || byte == '.' || byte == ',') flags |= kJoinerByte;
    return flags;
  }

  std::vector<CharacterClass> classes_;
  std::uint8_t flags_[256];
};

}  // namespace tokbench::metrics
