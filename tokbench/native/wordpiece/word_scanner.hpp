// Splits raw text into the words that the encoder looks up, which are then normalized one by one.
//
// They are separated by gaps (white space that normalization keeps as such); punctuation and, depending on the rules,
// ideographs are words by themselves. Every BERT word comes from one of these words, which may yield several BERT words or
// none: a character that the normalizer turns into punctuation or white space, or removes, does not end a word here.
#pragma once

#include "characters.hpp"
#include "word_classes.hpp"

namespace tokbench {

enum class WordPart : std::uint8_t { Inside, Gap, Single };

// The role of a character in words. With `ideographs`, each ideograph is a word by itself.
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

// The first word of a text from `p` on; start == stop == end if there is none.
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

// The first and the last bytes of words among the `size` <= kBlock bytes at `p`, where a word or a gap must start.
struct BlockWords {
  Mask firsts;
  Mask lasts;
  std::size_t size;  // bytes that were processed: continue after them
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
  // A word at the end of the block may continue after it.
  const bool is_open = p + size != end && (inside >> (size - 1) & 1) != 0;
  if (is_open) {
    words.size = kBlock - 1 - static_cast<std::size_t>(std::countl_zero(words.firsts));
    words.firsts &= first_bits(words.size);
    words.lasts &= first_bits(words.size);
  }
  return words;
}

}  // namespace tokbench
