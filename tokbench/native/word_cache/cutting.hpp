// Where words of a text begin and end: what `tokbench/libraries/word_cache/cut_points.py` says in regular expressions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "common/utf8.hpp"

namespace tokbench::word_cache {

enum class Cut { Words, WhiteSpace };

inline constexpr std::array<std::string_view, 2> kCutNames = {"words", "white space"};

inline std::optional<Cut> cut_named(std::string_view name) {
  for (std::size_t i = 0; i < kCutNames.size(); ++i) {
    if (kCutNames[i] == name) return static_cast<Cut>(i);
  }
  return std::nullopt;
}

inline bool is_blank(Byte byte) { return byte == ' ' || byte == '\n'; }

inline bool is_ascii_punctuation(Byte byte) {
  return (byte >= '!' && byte <= '/') || (byte >= ':' && byte <= '@') || (byte >= '[' && byte <= '`') ||
         (byte >= '{' && byte <= '~');
}

// The end of the word that begins at `p` < `end`.
template <Cut kCut>
inline const Byte* word_end(const Byte* p, const Byte* end) {
  while (p < end && is_blank(*p)) ++p;
  if (p == end) return end;
  if (kCut == Cut::Words && is_ascii_punctuation(*p)) return p + 1;
  while (p < end && !is_blank(*p) && !(kCut == Cut::Words && is_ascii_punctuation(*p))) ++p;
  return p;
}

// Calls use(word) for each word of a text, which together are the text.
template <class Use>
inline void for_each_word(Cut cut, Bytes text, const Use& use) {
  const auto all = [&](auto word_end_of) {
    const Byte* const end = text.data() + text.size();
    for (const Byte* p = text.data(); p < end;) {
      const Byte* const stop = word_end_of(p, end);
      use(Bytes(p, stop));
      p = stop;
    }
  };
  switch (cut) {
    case Cut::Words:
      return all(&word_end<Cut::Words>);
    case Cut::WhiteSpace:
      return all(&word_end<Cut::WhiteSpace>);
  }
}

}  // namespace tokbench::word_cache
