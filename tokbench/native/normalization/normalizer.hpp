// The normalizer of a SentencePiece model.
//
// At each position, a user-defined symbol is kept; otherwise the longest key of the character map is replaced; otherwise a
// character is kept, and an invalid byte becomes U+FFFD. Depending on the options, extra spaces are then removed, a dummy
// prefix (or suffix) is added, and spaces become ▁ (U+2581).
//
// Source: normalizer.cc of SentencePiece 0.2.3.
#pragma once

#include <stdexcept>
#include <utility>

#include "character_map.hpp"
#include "common/texts.hpp"
#include "symbols.hpp"

namespace tokbench {

struct NormalizerOptions {
  bool add_dummy_prefix;
  bool remove_extra_whitespaces;
  bool escape_whitespaces;
  bool treat_whitespace_as_suffix;  // the dummy prefix is added after the text
};

// A reusable buffer for normalized text.
struct NormalizedText {
  std::vector<Byte> bytes;
  std::vector<std::int64_t> origins;  // on request: for each byte, and the end, a position in the original text
};

class Normalizer {
 public:
  Normalizer(CharacterMap map, Symbols symbols, NormalizerOptions options)
      : map_(std::move(map)), symbols_(std::move(symbols)), options_(options) {
    for (unsigned byte = 0; byte < kAscii; ++byte) stays_[byte] = stays_before_ascii(static_cast<Byte>(byte));
  }

  const CharacterMap& map() const { return map_; }
  const Symbols& symbols() const { return symbols_; }
  const NormalizerOptions& options() const { return options_; }
  Bytes space() const { return options_.escape_whitespaces ? Bytes(kSpaceSymbol) : Bytes(&kSpace, 1); }

  // A unit of normalization: its length in the text, and its replacement before spaces are handled.
  struct Unit {
    std::size_t length;
    Bytes made;
  };
  Unit unit_at(const Byte* p, const Byte* end) const {
    if (const std::size_t length = symbols_.longest(p, end); length != 0) return {length, {p, length}};
    if (const CharacterMap::Match match = map_.longest(p, end); match.length != 0) return {match.length, match.replacement};
    if (const std::size_t length = well_formed_length(p, end); length != 0) return {length, {p, length}};
    return {1, kReplacementCharacter};
  }

  // Writes the normalized form of a text, or of a part that contains the given ends, to `out`. A part must not follow a space
  // or end within a character, key or symbol; the first part and the last one must contain more than spaces.
  void normalize(Bytes text, TextEnds ends, NormalizedText& out) const { write<false>(text, ends, out); }

  // The same for a whole text, with origins; an empty result has none.
  void normalize_with_origins(Bytes text, NormalizedText& out) const { write<true>(text, {true, true}, out); }

 private:
  static constexpr Byte kSpaceSymbol[] = {0xE2, 0x96, 0x81};
  static constexpr Byte kSpace = ' ';
  static constexpr Byte kReplacementCharacter[] = {0xEF, 0xBF, 0xBD};

  static constexpr Byte kAscii = 0x80;

  template <bool kOrigins>
  void write(Bytes text, TextEnds ends, NormalizedText& out) const {
    out.bytes.clear();
    out.origins.clear();
    const Byte* p = text.data();
    const Byte* const end = p + text.size();
    const auto add = [&](Bytes bytes) {
      out.bytes.insert(out.bytes.end(), bytes.begin(), bytes.end());
      if constexpr (kOrigins) out.origins.insert(out.origins.end(), bytes.size(), p - text.data());
    };
    if (ends.is_first && options_.remove_extra_whitespaces) p = after_spaces(p, end);
    if (p == end && ends.is_first) return;
    const bool is_prefix = ends.is_first && options_.add_dummy_prefix && !options_.treat_whitespace_as_suffix;
    if (is_prefix) add(space());
    bool is_after_space = ends.is_first && options_.remove_extra_whitespaces;
    while (p != end) {
      const Byte* const run = p;
      p = after_run(p, end);
      if (p != run) {
        out.bytes.insert(out.bytes.end(), run, p);
        if constexpr (kOrigins) {
          for (const Byte* each = run; each != p; ++each) out.origins.push_back(is_continuation(*each) ? out.origins.back() : each - text.data());
        }
        is_after_space = false;
        if (p == end) break;
      }
      Unit unit = unit_at(p, end);
      while (is_after_space && !unit.made.empty() && unit.made.front() == ' ') unit.made = unit.made.subspan(1);
      if (!unit.made.empty()) {
        for (const Byte& byte : unit.made) add(byte == ' ' ? space() : Bytes(&byte, 1));
        is_after_space = options_.remove_extra_whitespaces && unit.made.back() == ' ';
      }
      p += unit.length;
    }
    if (ends.is_last && options_.remove_extra_whitespaces) remove_spaces_after(out.bytes);
    if constexpr (kOrigins) {
      if (out.origins.size() > out.bytes.size()) p = text.data() + out.origins[out.bytes.size()];
      out.origins.resize(out.bytes.size());
    }
    if (ends.is_last && options_.add_dummy_prefix && options_.treat_whitespace_as_suffix) add(space());
    if constexpr (kOrigins) out.origins.push_back(p - text.data());
  }

  // Whether normalization keeps an ASCII byte, if another ASCII byte follows.
  bool stays(Byte byte) const { return stays_[byte]; }
  bool stays_before_ascii(Byte byte) const {
    if (byte == ' ' || symbols_.may_begin(byte) || map_.longest(&byte, &byte + 1).length != 0) return false;
    for (Byte next = 0; next < kAscii; ++next) {
      if (map_.may_begin(byte, next)) return false;
    }
    return true;
  }

  // The end of the run of bytes that normalization keeps and that are not spaces.
  const Byte* after_run(const Byte* p, const Byte* end) const {
    if (!map_.is_empty() || !symbols_.is_empty()) {
      while (end - p >= 2 && stays(p[0]) && p[1] < kAscii) ++p;
      return p;
    }
    for (std::uint32_t length; p != end && *p != ' ' && (length = well_formed_length(p, end)) != 0;) p += length;
    return p;
  }

  const Byte* after_spaces(const Byte* p, const Byte* end) const {
    while (p != end) {
      const Unit unit = unit_at(p, end);
      if (unit.made.size() != 1 || unit.made.front() != ' ') break;
      p += unit.length;
    }
    return p;
  }

  void remove_spaces_after(std::vector<Byte>& made) const {
    const Bytes mark = space();
    std::size_t size = made.size();
    while (size >= mark.size() && std::equal(mark.begin(), mark.end(), made.begin() + static_cast<std::ptrdiff_t>(size - mark.size()))) {
      size -= mark.size();
    }
    made.resize(size);
  }

  CharacterMap map_;
  Symbols symbols_;
  NormalizerOptions options_;
  bool stays_[256] = {};
};

}  // namespace tokbench
