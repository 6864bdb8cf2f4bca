// The bytes of each id, and what they imply about words and operators in any context.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "characters.hpp"
#include "common/word_key.hpp"
#include "identifiers.hpp"
#include "operators.hpp"

namespace tokbench::metrics {

// The length, flags and first bytes of a token, packed so that one lookup gives all of them.
struct Piece {
  static constexpr std::size_t kFirst = 11;

  std::array<Byte, kFirst> first;
  std::uint8_t flags;
  std::uint32_t length;

  // A single word of letters, possibly after white space, up to the end of the token. The token is exactly this word unless the
  // word continues after the token or started before it; white space in the token rules out the latter.
  static constexpr std::uint8_t kWord = 1;
  // The word has no ASCII white space before it.
  static constexpr std::uint8_t kBare = 2;
  // The word is an identifier with a single part.
  static constexpr std::uint8_t kIdentifier = 4;
  // Starts with a character that ends a preceding word of letters.
  static constexpr std::uint8_t kEndsWord = 8;
  // No word and no operator starts in it, except for an operator that starts with its last byte.
  static constexpr std::uint8_t kNothing = 16;
  static constexpr std::uint8_t kBeginsOperator = 32;      // its last byte may start an operator
  static constexpr std::uint8_t kGoesOnWithOperator = 64;  // its first byte may continue an operator

  // Combinations of the flags of a token and the next one, as 0 or 1 instead of branches, which would be mispredicted.
  static unsigned is_word(unsigned flags, unsigned next) { return bit<kWord>(flags) & bit<kEndsWord>(next); }
  static unsigned is_surely_word(unsigned flags, unsigned next) { return is_word(flags, next) & ~bit<kBare>(flags); }
  static unsigned is_nothing(unsigned flags, unsigned next) {
    return bit<kNothing>(flags) & ~(bit<kBeginsOperator>(flags) & bit<kGoesOnWithOperator>(next));
  }
  template <unsigned flag>
  static unsigned bit(unsigned flags) {
    return flags >> std::countr_zero(flag) & 1;
  }

  // Whether its bytes, at most kFirst, are those at `p`. kKeyPadding bytes must be readable there.
  bool begins(const Byte* p) const {
    std::uint64_t mine[2], found[2];
    std::memcpy(mine, this, sizeof mine);  // includes other members, which are masked
    std::memcpy(found, p, sizeof found);
    const KeyMask& keep = kKeyMasks[length];
    return (((mine[0] ^ found[0]) & keep.low) | ((mine[1] ^ found[1]) & keep.high)) == 0;
  }
};
static_assert(sizeof(Piece) == 16 && offsetof(Piece, first) == 0);

class Pieces {
 public:
  // The bytes of id i are data[offsets[i]:offsets[i + 1]]; the offsets must be valid.
  Pieces(const CharacterTable& table, Bytes data, std::span<const std::int64_t> offsets)
      : data_(data.begin(), data.end()), offsets_(offsets.begin(), offsets.end()) {
    pieces_.reserve(offsets.size() - 1);
    for (std::size_t id = 0; id + 1 < offsets.size(); ++id) pieces_.push_back(described(table, bytes(id)));
  }

  std::size_t size() const { return pieces_.size(); }
  const Piece* table() const { return pieces_.data(); }
  Bytes bytes(std::size_t id) const {
    const auto start = static_cast<std::size_t>(offsets_[id]);
    return Bytes(data_).subspan(start, static_cast<std::size_t>(offsets_[id + 1]) - start);
  }

  // The word of a token with kWord.
  Bytes word(const CharacterTable& table, std::size_t id) const { return bytes(id).subspan(white_bytes(table, bytes(id))); }

 private:
  // The number of bytes of ASCII white space at the start.
  static std::size_t white_bytes(const CharacterTable& table, Bytes bytes) {
    const auto is_white = [&](Byte byte) { return (table.flags(byte) & kWhiteByte) != 0; };
    return static_cast<std::size_t>(std::ranges::find_if_not(bytes, is_white) - bytes.begin());
  }

  static Piece described(const CharacterTable& table, Bytes bytes) {
    Piece piece{{}, flags_of(table, bytes), static_cast<std::uint32_t>(bytes.size())};
    std::copy_n(bytes.begin(), std::min(bytes.size(), Piece::kFirst), piece.first.begin());
    return piece;
  }

  static std::uint8_t flags_of(const CharacterTable& table, Bytes bytes) {
    if (bytes.empty()) return Piece::kGoesOnWithOperator;  // the next token may continue an operator
    unsigned flags = 0;
    if (ends_word(table, bytes)) flags |= Piece::kEndsWord;
    if (kIsSecondByte[bytes.front()]) flags |= Piece::kGoesOnWithOperator;
    if (has_nothing(table, bytes)) {
      flags |= Piece::kNothing;
      if (table.flags(bytes.back()) & kOperatorByte) flags |= Piece::kBeginsOperator;
    }
    return static_cast<std::uint8_t>(flags | word_flags(table, bytes));
  }

  static unsigned word_flags(const CharacterTable& table, Bytes bytes) {
    const Bytes word = bytes.subspan(white_bytes(table, bytes));
    if (word.empty() || !is_of_letters(table, word)) return 0;
    const unsigned flags = word.size() == bytes.size() ? Piece::kWord | Piece::kBare : Piece::kWord;
    if (std::ranges::any_of(word, [](Byte byte) { return byte >= 0x80; })) return flags;
    std::size_t boundaries = 0;
    for_each_identifier_boundary(word, [&](std::size_t, std::size_t) { ++boundaries; });
    return boundaries == 0 ? flags | Piece::kIdentifier : 0;
  }

  static bool has_nothing(const CharacterTable& table, Bytes bytes) {
    const Byte* const end = bytes.data() + bytes.size();
    for (const Byte* p = bytes.data(); p < end;) {
      const ClassifiedCharacter character = table.at(p, end);
      if (character.code_point == kNoCodePoint || starts_word(character.kind) || character.kind == CharacterClass::Unspaced) return false;
      if (p != bytes.data() && (table.flags(p[-1]) & kOperatorByte) != 0 && kIsSecondByte[*p]) return false;
      p += character.length;
    }
    return true;
  }

  static bool is_of_letters(const CharacterTable& table, Bytes bytes) {
    const Byte* const end = bytes.data() + bytes.size();
    for (const Byte* p = bytes.data(); p < end;) {
      const ClassifiedCharacter character = table.at(p, end);
      if (!is_letter(character.kind)) return false;
      p += character.length;
    }
    return true;
  }

  // An incomplete character may be the start of anything.
  static bool ends_word(const CharacterTable& table, Bytes bytes) {
    const ClassifiedCharacter first = table.at(bytes.data(), bytes.data() + bytes.size());
    return first.code_point != kNoCodePoint && !starts_word(first.kind) && first.kind != CharacterClass::Mark && !joins_letters(first.code_point);
  }

  std::vector<Byte> data_;
  std::vector<std::int64_t> offsets_;
  std::vector<Piece> pieces_;
};

}  // namespace tokbench::metrics
