// Where words are cut into parts: between characters of ASCII of which some stand beside others in no piece, as punctuation beside
// letters, so that a token ends there whatever the scores are.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "common/utf8.hpp"

namespace tokbench {

class PartCuts {
 public:
  // Nowhere.
  PartCuts() { kinds_.fill(kBoth); }

  // A character stands apart that is a piece, so that it is never unknown, and beside which pieces have others of the kind alone,
  // or ▁ in front.
  explicit PartCuts(std::span<const std::string_view> pieces) : PartCuts() {
    std::array<bool, kAscii> stands_apart{};
    std::array<std::array<bool, kAscii>, kAscii> joined{};
    for (const std::string_view piece : pieces) {
      if (piece.size() == 1 && piece[0] > ' ' && piece[0] < 0x7F) stands_apart[byte_of(piece[0])] = true;
    }
    for (const std::string_view piece : pieces) {
      const std::size_t first = piece.starts_with(kMark) ? kMark.size() : 0;
      for (std::size_t i = first + 1; i < piece.size(); ++i) {
        const Byte before = byte_of(piece[i - 1]), after = byte_of(piece[i]);
        if ((before | after) < kAscii) joined[before][after] = joined[after][before] = true;
      }
    }
    for (Byte letter = 0; letter < 26; ++letter) stands_apart['A' + letter] = stands_apart['a' + letter] = false;
    for (bool is_settled = false; !is_settled;) {
      is_settled = true;
      for (std::size_t one = 0; one < kAscii; ++one) {
        if (stands_apart[one]) continue;
        for (std::size_t other = 0; other < kAscii; ++other) {
          if (!joined[one][other] || !stands_apart[other]) continue;
          stands_apart[other] = false;
          is_settled = false;
        }
      }
    }
    for (std::size_t one = 0; one < kAscii; ++one) kinds_[one] = stands_apart[one] ? kApart : kTogether;
    kinds_[' '] = kBoth;  // it is ▁
  }

  // Where the part of a word that begins at `p` ends (p < end).
  const Byte* after_part(const Byte* p, const Byte* end) const {
    unsigned kind = kinds_[*p], before;
    do {
      before = kind;
      if (++p == end) break;
      kind = kinds_[*p];
    } while ((kind & before) != 0);
    return p;
  }

 private:
  static constexpr std::size_t kAscii = 0x80;
  static constexpr Byte kTogether = 1, kApart = 2, kBoth = 3;
  static constexpr std::string_view kMark = "\xE2\x96\x81";  // ▁

  static Byte byte_of(char c) { return static_cast<Byte>(c); }

  std::array<Byte, 256> kinds_;  // two bytes are cut apart that have none in common
};

}  // namespace tokbench
