// The named split patterns on blocks of 64 bytes: computes where pre-tokens start by shifting and adding bit masks.
//
// A block starts at the start of a pre-token, and no pattern looks back, so everything to the left of a position is known. What
// follows the block is not known: starts that depend on it are left out, and the scanner of scanner.hpp, which is the
// definition, continues from the last start that was found. All bytes of a character are in the mask of its class, all but the
// first one also in `inside`.
#pragma once

#include <algorithm>

#include "common/byte_classes.hpp"
#include "scanner.hpp"

namespace tokbench {

// Whether the rule for words can be computed on blocks. CamelCase cannot, because of its lookahead.
inline constexpr bool has_blocks(WordRule word) { return word != WordRule::CamelCase; }

struct CharacterClasses {
  std::size_t size;   // bytes of the block that are available and that masks can handle
  Mask letters;
  Mask upper;
  Mask caseless = 0;  // letters that are neither upper nor lower case
  Mask inside = 0;
};

// The positions after the runs of `mask` that begin at `starts`: the addition carries through each run.
inline Mask after_runs(Mask mask, Mask starts) { return (mask + starts) & ~mask; }

// Adds non-ASCII characters; reduces `size` to the first one that is incomplete, or that masks cannot handle.
template <Rules R>
TOKBENCH_ALWAYS_INLINE inline void add_characters(CharacterClasses& classes, Mask high, const Byte* p, const Byte* end) {
  high &= first_bits(classes.size);
  while (high != 0) {
    const auto position = static_cast<std::size_t>(std::countr_zero(high));
    const Character character = inlined_character_at(p + position, end);
    const bool is_hard = is_number(character.kind) || is_space(character.kind) ||
                         (R.word == WordRule::CapitalsFirst && character.kind == CharClass::Mark);
    if (is_hard || position + character.length > classes.size) {
      classes.size = position;
      return;
    }
    const Mask bits = first_bits(character.length) << position;
    if (is_letter(character.kind)) classes.letters |= bits;
    if (is_upper(character.kind)) classes.upper |= bits;
    if (character.kind == CharClass::OtherLetter) classes.caseless |= bits;
    classes.inside |= bits & (bits << 1);
    high &= ~bits;
  }
}

// Adds starts within runs of digits, every R.max_digits digits.
template <Rules R>
inline Mask digit_group_starts(Mask digits, Mask starts) {
  if constexpr (R.max_digits == 0) return starts;
  if constexpr (R.max_digits == 1) return digits;
  Mask group_ends = digits;
  for (std::uint32_t i = 1; i < R.max_digits; ++i) group_ends &= digits << i;
  for (Mask next = starts; next != 0; starts |= next) next = (next << R.max_digits) & group_ends;
  return starts;
}

// Starts in white space: a run is split after its last line end, and before its last character. `absorbed` are line ends that
// belong to the punctuation before them.
inline Mask white_space_starts(Mask white, Mask newlines, Mask absorbed) {
  const Mask gaps = white & ~newlines;
  const Mask first = white & ~(white << 1) & ~absorbed;
  const Mask after_absorbed = gaps & (absorbed << 1);
  const Mask last = gaps & ~(white >> 1);
  // A pre-token starts after a line end unless another line end follows in the same run.
  Mask after_newline = gaps & ((newlines & ~absorbed) << 1);
  for (Mask wrong = after_runs(gaps, after_newline) & newlines; wrong != 0; wrong &= wrong - 1) {
    const Mask before = after_newline & ((wrong & (~wrong + 1)) - 1);
    after_newline &= ~std::bit_floor(before);
  }
  return first | after_absorbed | last | after_newline;
}

// The starts of pre-tokens among the `size` <= kBlock bytes at `p`, as far as these bytes determine them. Bit 0 is the
// pre-token at `p`. `classes` are those of the bytes at `p`; bits from `size` on are ignored.
template <Rules R>
TOKBENCH_ALWAYS_INLINE inline Mask block_starts(const ByteClasses& classes, const Byte* p, std::size_t size, const Byte* end) {
  CharacterClasses characters{size, classes.upper | classes.lower, classes.upper};
  if (classes.high != 0) {
    add_characters<R>(characters, classes.high, p, end);
    if (characters.size == 0) return 0;
  }
  const Mask known = first_bits(characters.size);
  const Mask letters = characters.letters & known, digits = classes.digits & known, white = classes.white & known;
  const Mask punctuation = known & ~(letters | digits | white);
  const Mask after_space = (classes.spaces & known) << 1;
  const Mask newlines = classes.newlines & known, apostrophes = classes.apostrophes & known;
  const Mask first_letters = letters & ~(letters << 1);
  const Mask first_punctuation = punctuation & ~(punctuation << 1) & ~after_space;
  Mask starts = first_punctuation;
  Mask known_starts = known;

  if constexpr (R.word == WordRule::SpaceBefore) {
    static_assert(R.word != WordRule::SpaceBefore || (R.max_digits == 0 && !R.newline_rule && !R.newlines_after_punctuation));
    starts |= first_letters & ~after_space;
    starts |= digits & ~(digits << 1) & ~after_space;
    starts |= white & ~((white << 1) & (white >> 1));
  } else {
    static_assert(R.word == WordRule::SpaceBefore || (R.newline_rule && R.newlines_after_punctuation && !R.indentation));
    const Mask first_absorbed = newlines & (punctuation << 1);
    const Mask after_absorbed = after_runs(newlines, first_absorbed);
    const Mask absorbed = newlines & ~(newlines + first_absorbed);
    // A word can be preceded by one character that starts its pre-token: punctuation, or the last character of white space.
    const Mask after_punctuation = ((first_punctuation << 1) + characters.inside) & ~characters.inside;
    const Mask after_gap = (white & ~newlines) << 1;
    starts |= first_letters & ~after_punctuation & ~after_gap;
    starts |= digit_group_starts<R>(digits, digits & ~(digits << 1));
    starts |= white_space_starts(white, newlines, absorbed);
    if constexpr (R.slashes_after_punctuation) {
      // A slash after an absorbed line end continues the pre-token: rare, and left to the scanner.
      known_starts &= first_bits(static_cast<std::size_t>(std::countr_zero(after_absorbed & classes.slashes)));
    }
  }

  if constexpr (R.word == WordRule::CapitalsFirst) {
    starts |= characters.upper & ((letters & ~characters.upper & ~characters.caseless) << 1);
    // Whether a capital after a caseless letter starts a word depends on what follows the capitals.
    const Mask hard = characters.upper & (characters.caseless << 1);
    known_starts &= first_bits(static_cast<std::size_t>(std::countr_zero(hard)));
  }

  // Contractions start a pre-token; for gpt4o, they end a word.
  constexpr bool is_suffix = R.word == WordRule::CapitalsFirst;
  const Mask after_known = is_suffix ? ~(known >> 1) : 0;  // a suffix may start here and end after the block
  const Mask candidates = apostrophes & (is_suffix ? letters << 1 : first_punctuation) & ((letters >> 1) | after_known);
  std::size_t after_last = 0;
  for (Mask left = candidates; left != 0; left &= left - 1) {
    const auto position = static_cast<std::size_t>(std::countr_zero(left));
    if (is_suffix && after_last == position) continue;  // a word has at most one contraction
    const std::size_t length = contraction_length(p + position, end, R.contraction != Contraction::CaseSensitive);
    if (length == 0) continue;
    after_last = position + length;
    starts &= ~(first_bits(length - !is_suffix) << (position + !is_suffix));
    if (after_last < kBlock) starts |= Mask{1} << after_last;
  }

  // A run of white space at the end of the block may continue after it.
  const std::size_t size_without_white = kBlock - static_cast<std::size_t>(std::countl_zero(known & ~white));
  return starts & known_starts & first_bits(size_without_white + 1);
}

}  // namespace tokbench
