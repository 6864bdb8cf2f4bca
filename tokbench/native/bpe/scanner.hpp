// The named split patterns as hand-written scanners, which find the end of the pre-token that starts at a position.
//
// A pattern is described by a set of rules; each function below is one alternative of the regular expression. Time is linear:
// each character is examined a bounded number of times.
#pragma once

#include <algorithm>

#include "common/utf8.hpp"

namespace tokbench {

enum class Contraction : std::uint8_t { None, CaseSensitive, IgnoreCase };
enum class WordRule : std::uint8_t {
  SpaceBefore,   // " ?\p{L}+", and the same before digits
  AnyBefore,     // "[^\r\n\p{L}\p{N}]?\p{L}+"
  CamelCase,     // AnyBefore (except tabs), and a capital after a small letter starts a new word
  CapitalsFirst  // gpt4o: capitals, then small letters, then at most one contraction
};

struct Rules {
  Contraction contraction;          // tried before everything else
  WordRule word;
  std::uint32_t max_digits;         // in one pre-token; 0 for no limit
  bool newlines_after_punctuation;  // "[\r\n]*" after punctuation
  bool slashes_after_punctuation;   // "/" too
  bool newline_rule;                // "\s*[\r\n]": a run of white space is split after its last line end
  bool end_of_text_first;           // "\s++$" comes before that rule
  bool indentation;                 // two or more spaces and tabs, and a single tab, are one pre-token
};

inline constexpr bool is_letter(CharClass kind) {
  return kind == CharClass::Upper || kind == CharClass::Lower || kind == CharClass::OtherLetter;
}
inline constexpr bool is_small(CharClass kind) { return kind == CharClass::Lower || kind == CharClass::OtherLetter; }
inline constexpr bool is_upper(CharClass kind) { return kind == CharClass::Upper; }
inline constexpr bool is_number(CharClass kind) { return kind == CharClass::Number; }
inline constexpr bool is_space(CharClass kind) { return kind == CharClass::Space; }
// Neither white space nor letter nor number; includes combining marks.
inline constexpr bool is_punctuation(CharClass kind) { return kind == CharClass::Other || kind == CharClass::Mark; }
// Characters in both letter classes of gpt4o: "\p{Lm}\p{Lo}\p{M}".
inline constexpr bool is_caseless(CharClass kind) { return kind == CharClass::OtherLetter || kind == CharClass::Mark; }
inline constexpr bool is_newline(Byte byte) { return byte == '\n' || byte == '\r'; }

template <class Predicate>
inline const Byte* skip_while(const Byte* p, const Byte* end, Predicate wanted) {
  while (p < end) {
    const Character character = character_at(p, end);
    if (!wanted(character.kind)) break;
    p += character.length;
  }
  return p;
}

inline bool starts_with(CharClass wanted, const Byte* p, const Byte* end) {
  return p < end && character_at(p, end).kind == wanted;
}

// The length of a contraction ("'s", "'ll", …) at `p`, or 0. With `ignore_case`, U+017F matches s.
inline std::size_t contraction_length(const Byte* p, const Byte* end, bool ignore_case) {
  if (end - p < 2 || p[0] != '\'') return 0;
  const auto fold = [ignore_case](Byte byte) {
    return ignore_case && byte >= 'A' && byte <= 'Z' ? static_cast<Byte>(byte + 32) : byte;
  };
  const Byte first = fold(p[1]);
  if (first == 's' || first == 'd' || first == 'm' || first == 't') return 2;
  if (end - p < 3) return 0;
  if (ignore_case && p[1] == 0xC5 && p[2] == 0xBF) return 3;
  const Byte second = fold(p[2]);
  if ((first == 'l' && second == 'l') || ((first == 'v' || first == 'r') && second == 'e')) return 3;
  return 0;
}

// The end of gpt4o's first alternative, [Lu Lt Lm Lo M]*[Ll Lm Lo M]+, or `p` if it does not match. If no small letter follows
// the capitals, the expression backtracks to the last caseless character.
inline const Byte* capitals_then_small(const Byte* p, const Byte* end) {
  const Byte* after_caseless = p;
  const Byte* q = p;
  while (q < end) {
    const Character character = character_at(q, end);
    if (character.kind == CharClass::Lower) {
      return skip_while(q, end, [](CharClass kind) { return is_small(kind) || kind == CharClass::Mark; });
    }
    if (!is_upper(character.kind) && !is_caseless(character.kind)) break;
    q += character.length;
    if (is_caseless(character.kind)) after_caseless = q;
  }
  return after_caseless;
}

inline const Byte* capitals_first_word(const Byte* p, Character first, const Byte* end) {
  const bool can_be_prefix = !is_letter(first.kind) && !is_number(first.kind) && !is_newline(*p);
  const Byte* const start = can_be_prefix ? p + first.length : p;
  const Byte* stop = capitals_then_small(start, end);
  if (stop == start && first.kind != CharClass::Mark) {  // a mark that is not a prefix is itself a word
    stop = skip_while(start, end, is_upper);
    if (stop == start) return p;
  }
  return stop + contraction_length(stop, end, true);
}

// The end of the letters from `p` on, or the first capital at which camelCase starts a new word.
inline const Byte* camel_case_word(const Byte* p, const Byte* end) {
  const Byte* last = p;
  const Byte* q = p;
  while (starts_with(CharClass::Upper, q, end)) {
    last = q;
    q += character_at(q, end).length;
  }
  if (!starts_with(CharClass::Lower, q, end)) return q == p ? skip_while(p, end, is_small) : q;
  return last == p ? skip_while(q, end, is_small) : last;  // HTTPServer: the last capital belongs to the next word
}

// The end of a word with its optional prefix, or `p`.
template <Rules R>
inline const Byte* word(const Byte* p, Character first, const Byte* end) {
  if constexpr (R.word == WordRule::CapitalsFirst) {
    return capitals_first_word(p, first, end);
  } else {
    const Byte* start = p;
    if constexpr (R.word == WordRule::SpaceBefore) {
      start += *p == ' ';
    } else if (!is_letter(first.kind)) {
      if (is_number(first.kind) || is_newline(*p)) return p;
      if (R.word == WordRule::CamelCase && *p == '\t') return p;
      start += first.length;
    }
    const Byte* stop;
    if constexpr (R.word == WordRule::CamelCase) {
      stop = camel_case_word(start, end);
    } else {
      stop = skip_while(start, end, is_letter);
    }
    return stop == start ? p : stop;
  }
}

// The end of digits, or `p`.
template <Rules R>
inline const Byte* number(const Byte* p, const Byte* end) {
  const Byte* const start = R.word == WordRule::SpaceBefore && *p == ' ' ? p + 1 : p;
  if constexpr (R.max_digits == 0) {
    const Byte* const stop = skip_while(start, end, is_number);
    return stop == start ? p : stop;
  } else {
    const Byte* stop = start;
    for (std::uint32_t count = 0; count < R.max_digits && starts_with(CharClass::Number, stop, end); ++count) {
      stop += character_at(stop, end).length;
    }
    return stop;
  }
}

// The end of punctuation with an optional space before and line ends after it, or `p`.
template <Rules R>
inline const Byte* punctuation(const Byte* p, const Byte* end) {
  const Byte* const start = p + (*p == ' ');
  const Byte* stop = skip_while(start, end, is_punctuation);
  if (stop == start) return p;
  if constexpr (R.newlines_after_punctuation) {
    while (stop < end && (is_newline(*stop) || (R.slashes_after_punctuation && *stop == '/'))) ++stop;
  }
  return stop;
}

template <Rules R>
inline const Byte* white_space(const Byte* p, const Byte* end) {
  const Byte* last = p;              // the last character of the run
  const Byte* after_newline = p;     // the position after its last line end
  const Byte* q = p;
  while (q < end) {
    const Character character = character_at(q, end);
    if (!is_space(character.kind)) break;
    last = q;
    q += character.length;
    if (is_newline(*last)) after_newline = q;
  }
  if (R.end_of_text_first && q == end) return end;
  if (R.newline_rule && after_newline != p) return after_newline;
  if constexpr (R.indentation) {
    const Byte* unit = p;
    while (unit < q && (*unit == ' ' || *unit == '\t')) ++unit;
    if (unit - p >= 2 || *p == '\t') return unit;
  }
  return q == end || last == p ? q : last;
}

// Where the pre-token that begins at `p` ends; p < end, and the result is after p.
template <Rules R>
inline const Byte* next_pretoken(const Byte* p, const Byte* end) {
  if constexpr (R.contraction != Contraction::None) {
    const std::size_t length = contraction_length(p, end, R.contraction == Contraction::IgnoreCase);
    if (length != 0) return p + length;
  }
  const Character first = character_at(p, end);
  if (const Byte* stop = word<R>(p, first, end); stop != p) return stop;
  if (const Byte* stop = number<R>(p, end); stop != p) return stop;
  if (const Byte* stop = punctuation<R>(p, end); stop != p) return stop;
  return white_space<R>(p, end);
}

// The "superwords" pattern splits off digits, two or more characters of punctuation, and white space; the rest stays together.

// Whether one of these starts at `p` < end. Examines at most three characters.
inline bool ends_superword(const Byte* p, const Byte* end) {
  const bool has_space = *p == ' ';
  const Byte* const q = p + has_space;
  if (q == end) return true;
  const Character next = character_at(q, end);
  if (is_space(next.kind)) return has_space;
  if (is_number(next.kind)) return !has_space;
  if (!is_punctuation(next.kind) || q + next.length == end) return false;
  return is_punctuation(character_at(q + next.length, end).kind);
}

// The end of the spaces from `p` on, without the last one if a character other than white space follows.
inline const Byte* separate_spaces(const Byte* p, const Byte* end) {
  const Byte* const stop = std::find_if(p, end, [](Byte byte) { return byte != ' '; });
  return stop == end || starts_with(CharClass::Space, stop, end) ? stop : stop - 1;
}

// Where the pre-token that begins at `p` ends; p < end, and the result is after p.
inline const Byte* next_superword(const Byte* p, const Byte* end) {
  const Byte* q = p;
  if (!ends_superword(p, end)) {
    do {
      q += character_at(q, end).length;
    } while (q < end && !ends_superword(q, end));
    return q;
  }
  for (std::size_t digits = 0; digits < 3 && starts_with(CharClass::Number, q, end); ++digits) q += character_at(q, end).length;
  if (q != p) return q;
  const Byte* const start = p + (*p == ' ');
  q = skip_while(start, end, is_punctuation);
  if (q == start) return separate_spaces(p, end);
  while (q < end && (is_newline(*q) || *q == '/')) ++q;
  return q;
}

}  // namespace tokbench
