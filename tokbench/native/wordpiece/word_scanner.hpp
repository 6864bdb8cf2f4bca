// Text → the words that are looked up: parts of it, as it stands there, that are normalized each by itself.
//
// They lie between gaps (white space that stays white space), and some characters are words alone: punctuation and, where the
// rules say so, ideographs. Every one of BERT's words comes from one of these; one of these can become several of BERT's words,
// or none. A character that the normalizer changes into punctuation or white space, or leaves out, does not end a word here.
#pragma once

#include "characters.hpp"
#include "word_classes.hpp"

namespace tokbench {

enum class WordPart : std::uint8_t { Inside, Gap, Single };

// What a character is to words; `ideographs` says whether each of them is a word alone.
TOKBENCH_ALWAYS_INLINE inline WordPart word_part(const TextCharacter& character, bool ideographs) {
  const std::uint8_t traits = character.traits;
  if (character.code_point < 0x80) {
    if (traits & trait::kPunctuation) return WordPart::Single;
    return is_ascii_gap(static_cast<Byte>(character.code_point)) ? WordPart::Gap : WordPart::Inside;
  }
  if ((traits & trait::kWhite) && !(traits & trait::kControl)) return WordPart::Gap;
  if ((traits & trait::kPunctuation) && !(traits & (trait::kAccented | trait::kCased))) return WordPart::Single;
  return ideographs && (traits & trait::kIdeograph) ? WordPart::Single : WordPart::Inside;
}

// The first word of a text from `p` on: none, with start == stop == end, where there is no other.
struct WordFound {
  const Byte* start;
  const Byte* stop;
};

template <bool kIdeographs>
inline WordFound next_word(const Byte* p, const Byte* end) {
  const Byte* start = nullptr;
  while (p != end) {
    const TextCharacter character = text_character_at(p, end);
    const WordPart part = word_part(character, kIdeographs);
    if (part == WordPart::Inside) {
      if (start == nullptr) start = p;
    } else if (start != nullptr) {
      return {start, p};
    } else if (part == WordPart::Single) {
      return {p, p + character.length};
    }
    p += character.length;
  }
  return {start == nullptr ? end : start, end};
}

// Where words begin and where their last bytes are, among the `size` <= kBlock bytes at `p`, where a word or a gap begins.
struct BlockWords {
  Mask firsts;
  Mask lasts;
  std::size_t size;  // bytes that are known: after them go on
};

template <bool kIdeographs>
TOKBENCH_ALWAYS_INLINE inline BlockWords block_words(const WordClasses& classes, const Byte* p, std::size_t size, const Byte* end) {
  Mask white = classes.white, single = classes.single, continuing = 0;
  for (Mask high = classes.high & first_bits(size); high != 0;) {
    const auto position = static_cast<std::size_t>(std::countr_zero(high));
    const TextCharacter character = text_character_at(p + position, end);
    if (position + character.length > size) {
      size = position;
      break;
    }
    const Mask bits = first_bits(character.length) << position;
    const WordPart part = word_part(character, kIdeographs);
    if (part == WordPart::Gap) white |= bits;
    if (part == WordPart::Single) {
      single |= bits;
      continuing |= bits & (bits << 1);
    }
    high &= ~bits;
  }
  const Mask known = first_bits(size);
  single &= known;
  const Mask inside = known & ~(white | single);
  BlockWords words{(inside & ~(inside << 1)) | (single & ~continuing), (inside & ~(inside >> 1)) | (single & ~(continuing >> 1)), size};
  // A word at the end may go on.
  const bool is_open = p + size != end && (inside >> (size - 1) & 1) != 0;
  if (is_open) {
    words.size = kBlock - 1 - static_cast<std::size_t>(std::countl_zero(words.firsts));
    words.firsts &= first_bits(words.size);
    words.lasts &= first_bits(words.size);
  }
  return words;
}

}  // namespace tokbench
