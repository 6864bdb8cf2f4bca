// Counts the characters and lines of a document and how its tokens overlap them. For words, numbers and operators, see
// runs.hpp.
//
// tokbench/metrics/reference.py defines the counts, with one pass for each; here, two passes compute all of them. Both only
// move forward, so that time is linear in the text.
#pragma once

#include "characters.hpp"
#include "counts.hpp"
#include "tokens.hpp"

namespace tokbench::metrics {

template <class Tokens>  // TiledTokens or PlacedTokens
class LayoutMeasurer {
 public:
  LayoutMeasurer(const CharacterTable& table, Bytes text, const Boundaries& boundaries, const Tokens& tokens, Counts& counts)
      : table_(table), begin_(text.data()), end_(text.data() + text.size()), boundaries_(boundaries),
        at_characters_(tokens), at_indentations_(tokens), counts_(counts) {}

  void measure() {
    measure_characters();
    measure_lines();
  }

 private:
  std::int64_t& count(Count which) { return counts_[which]; }
  std::size_t offset_of(const Byte* p) const { return static_cast<std::size_t>(p - begin_); }

  // --- characters -------------------------------------------------------------------------------

  void measure_characters() {
    std::int64_t multibyte = 0, continuations = 0;
    for (const Byte* p = begin_; p < end_;) {
      if (*p < 0x80) {
        const Byte* const stop = after_ascii(p);
        measure_ascii(p, stop);
        p = stop;
        continue;
      }
      const std::uint32_t length = std::max(well_formed_length(p, end_), 1u);
      if (length > 1) {
        ++multibyte;
        continuations += length - 1;
        if (boundaries_.inside(offset_of(p), offset_of(p) + length) != 0) ++count(kCutChars);
        if (is_of_language(table_.at(p, end_).kind)) {
          ++count(kLanguageChars);
          if (at_characters_.holds(offset_of(p), offset_of(p) + length)) ++count(kCoveredChars);
        }
      }
      p += length;
    }
    count(kBytes) += end_ - begin_;
    count(kChars) += end_ - begin_ - continuations;
    count(kMultibyteChars) += multibyte;
  }

  // No token cuts a character of one byte, so if tokens tile the text, each ASCII character is covered.
  void measure_ascii(const Byte* p, const Byte* stop) {
    if constexpr (Tokens::kTile) {
      std::int64_t letters = 0;
      for (; p < stop; ++p) letters += table_.is_ascii_of_language(*p);
      count(kLanguageChars) += letters;
      count(kCoveredChars) += letters;
    } else {
      for (; p < stop; ++p) {
        if (!table_.is_ascii_of_language(*p)) continue;
        ++count(kLanguageChars);
        if (at_characters_.holds(offset_of(p), offset_of(p) + 1)) ++count(kCoveredChars);
      }
    }
  }

  const Byte* after_ascii(const Byte* p) const {
    for (; end_ - p >= 32; p += 32) {
      std::uint64_t words[4];
      std::memcpy(words, p, 32);
      if ((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080u) break;
    }
    while (p < end_ && *p < 0x80) ++p;
    return p;
  }

  // --- lines ------------------------------------------------------------------------------------

  void measure_lines() {
    for (const Byte* line = begin_; line < end_;) {
      const void* const newline = std::memchr(line, '\n', static_cast<std::size_t>(end_ - line));
      const Byte* const stop = newline ? static_cast<const Byte*>(newline) : end_;
      ++count(kLines);
      measure_indentation(line, stop);
      line = newline ? stop + 1 : end_;
    }
  }

  void measure_indentation(const Byte* line, const Byte* stop) {
    const Byte* p = line;
    while (p < stop && (*p == ' ' || *p == '\t')) ++p;
    if (p == line || table_.after_white_space(p, stop) == stop) return;
    ++count(kIndentedLines);
    count(kIndentationChars) += p - line;
    count(kIndentationTokens) += at_indentations_.touching(offset_of(line), offset_of(p));
  }

  const CharacterTable& table_;
  const Byte* begin_;
  const Byte* end_;
  const Boundaries& boundaries_;
  Tokens at_characters_;
  Tokens at_indentations_;
  Counts& counts_;
};

}  // namespace tokbench::metrics
