// The rules of SentencePiece's trainer for valid pieces.
//
// Source: `IsValidSentencePiece` in SentencePiece's trainer_interface.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace tokbench::sentencepiece {

inline constexpr std::uint32_t kSpace = 0x2581;  // ▁
inline constexpr std::uint32_t kBoundary = 0x1F;  // replaces a user-defined symbol in a text, and counts as a character
inline constexpr std::uint32_t kCodePoints = 0x110000;
inline constexpr std::size_t kLongestPiece = 512;  // upper limit of the option, in characters

using Characters = std::span<const std::uint32_t>;

struct PieceOptions {
  std::size_t longest;  // in characters
  bool split_by_script, split_by_number, split_by_whitespace, split_digits, whitespace_only;
};

class PieceRules {
 public:
  // The script of a code point is that of the last element of `starts` at or below it. Script 0 is inherited from the character
  // before.
  PieceRules(PieceOptions options, std::span<const std::uint32_t> starts, std::span<const std::uint8_t> scripts)
      : options_(options), scripts_(kCodePoints) {
    if (starts.empty() || starts.size() != scripts.size() || starts[0] != 0) throw std::invalid_argument("the runs of scripts do not fit");
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::uint32_t end = i + 1 < starts.size() ? starts[i + 1] : kCodePoints;
      if (end <= starts[i] || end > kCodePoints || scripts[i] == kAnyScript) throw std::invalid_argument("the runs of scripts do not ascend");
      std::fill(scripts_.begin() + starts[i], scripts_.begin() + end, scripts[i]);
    }
  }

  const PieceOptions& options() const { return options_; }

  // Whether no piece may contain a character: NUL, and ▅ and U+001F, which SentencePiece's trainer reserves.
  static bool is_in_no_piece(std::uint32_t c) { return c == 0 || c == 0x2585 || c == kBoundary; }

  // Whether the two characters may be adjacent in no piece.
  bool are_parted(std::uint32_t left, std::uint32_t right) const {
    if (left == kSpace || right == kSpace) {
      return left != kSpace ? options_.split_by_whitespace
                            : right == kSpace && options_.split_by_whitespace && !options_.whitespace_only;
    }
    if (options_.split_digits && (is_digit(left) || is_digit(right))) return true;
    const std::uint8_t one = script_of(left), other = script_of(right);
    return options_.split_by_script && one != other && one != kInherited && other != kInherited && one != kAnyScript && other != kAnyScript;
  }

  // Whether these characters may be a piece. None of them may be one that is_in_no_piece().
  bool allow(Characters piece) const {
    if (piece.empty() || piece.size() > options_.longest) return false;
    const bool only_spaces = std::all_of(piece.begin(), piece.end(), [](std::uint32_t c) { return c == kSpace; });
    std::uint8_t before = kAnyScript;
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const std::uint32_t c = piece[i];
      if (c == kSpace) {
        if (options_.whitespace_only && only_spaces) continue;
        if (i > 0 && (options_.split_by_whitespace || i + 1 == piece.size())) return false;
        continue;
      }
      if (options_.split_digits && is_digit(c) && piece.size() > 1) return false;
      std::uint8_t script = script_of(c);
      if (script == kInherited) script = before;
      if (options_.split_by_script && script != kAnyScript && before != kAnyScript && script != before) return false;
      before = script;
    }
    return true;
  }

 private:
  static constexpr std::uint8_t kInherited = 0, kAnyScript = 255;

  static bool is_digit(std::uint32_t c) { return (c >= '0' && c <= '9') || (c >= 0xFF10 && c <= 0xFF19); }

  std::uint8_t script_of(std::uint32_t c) const {
    return !options_.split_by_number && is_digit(c) ? kAnyScript : scripts_[c];
  }

  PieceOptions options_;
  std::vector<std::uint8_t> scripts_;
};

}  // namespace tokbench::sentencepiece
