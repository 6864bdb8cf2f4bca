// Splits text into BERT's words: normalized, and split at white space and punctuation. This is the definition, character by
// character.
#pragma once

#include <vector>

#include "characters.hpp"
#include "common/texts.hpp"

namespace tokbench {

// A range of bytes of a text.
struct Place {
  std::uint32_t start;
  std::uint32_t stop;
};

// A reusable buffer for normalized text, with the origin of each byte.
struct NormalText {
  std::vector<Byte> bytes;
  std::vector<Place> places;
};

// Calls use(offset in normal.bytes, number of bytes, number of characters) for each word. Each invalid byte counts as a
// character.
template <bool kWithPlaces, class Use>
inline void for_each_normal_word(const BertRules& rules, Bytes text, NormalText& normal, Use use) {
  normal.bytes.clear();
  normal.places.clear();
  std::size_t first = 0, characters = 0;
  const auto cut = [&] {
    if (normal.bytes.size() != first) use(first, normal.bytes.size() - first, characters);
    first = normal.bytes.size();
    characters = 0;
  };
  const Byte* const end = text.data() + text.size();
  for (const Byte* p = text.data(); p != end;) {
    const TextCharacter character = text_character_at(p, end);
    const auto add = [&](const Byte* bytes, std::size_t size, bool is_word) {
      if (is_word) cut();
      normal.bytes.insert(normal.bytes.end(), bytes, bytes + size);
      if constexpr (kWithPlaces) {
        const auto start = static_cast<std::uint32_t>(p - text.data());
        normal.places.insert(normal.places.end(), size, Place{start, start + character.length});
      }
      ++characters;
      if (is_word) cut();
    };
    if (character.length == 1 && *p >= 0x80) {
      add(p, 1, false);
    } else {
      for_each_normal(
          rules, character.code_point, character.traits,
          [&](std::uint32_t code_point, std::uint8_t traits) {
            Byte bytes[4];
            const auto size = static_cast<std::size_t>(write_character(code_point, bytes) - bytes);
            add(bytes, size, (traits & trait::kPunctuation) != 0);
          },
          cut);
    }
    p += character.length;
  }
  cut();
}

}  // namespace tokbench
