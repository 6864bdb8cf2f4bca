// Cuts words into parts between ASCII characters that are adjacent in no piece, such as punctuation and letters: there, a token
// ends whatever the scores are.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "common/utf8.hpp"

namespace tokbench {

class PartCuts {
 public:
  // Cuts nowhere.
  PartCuts() { kinds_.fill(kBoth); }

  // The characters that "stand apart": each is a piece by itself, so that it is never unknown, and in longer pieces it is adjacent
  // only to other such characters, or to ▁ before it.
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
    kinds_[' '] = kBoth;  // stands for ▁
  }

  // The end of the part that begins at `p` (p < end).
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

  std::array<Byte, 256> kinds_;  // a word is cut between two bytes that have no bit in common
};

}  // namespace tokbench
