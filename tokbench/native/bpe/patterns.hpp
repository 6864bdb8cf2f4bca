// The named split patterns: their rules, and where a text can be cut safely.
#pragma once

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

#include "scanner.hpp"

namespace tokbench {

enum class Pattern : std::uint8_t { Gpt2, Gpt4, Gpt4o, Llama3, Qwen2, Nanochat, RustBpe, Code, Superwords, None };

inline constexpr std::array<std::string_view, 10> kPatternNames = {
    "gpt2", "gpt4", "gpt4o", "llama3", "qwen2", "nanochat", "rustbpe", "code", "superwords", "none"};

inline Pattern pattern_named(std::string_view name) {
  for (std::size_t i = 0; i < kPatternNames.size(); ++i) {
    if (kPatternNames[i] == name) return static_cast<Pattern>(i);
  }
  throw std::invalid_argument("no scanner for the pattern \"" + std::string(name) + "\"");
}

//                                  contraction                 word                     digits newl  slash nlrule end1st indent
inline constexpr Rules kGpt2{Contraction::CaseSensitive, WordRule::SpaceBefore, 0, false, false, false, false, false};
inline constexpr Rules kGpt4{Contraction::IgnoreCase, WordRule::AnyBefore, 3, true, false, true, true, false};
inline constexpr Rules kGpt4o{Contraction::None, WordRule::CapitalsFirst, 3, true, true, true, false, false};
inline constexpr Rules kLlama3{Contraction::IgnoreCase, WordRule::AnyBefore, 3, true, false, true, false, false};
inline constexpr Rules kQwen2{Contraction::IgnoreCase, WordRule::AnyBefore, 1, true, false, true, false, false};
inline constexpr Rules kNanochat{Contraction::IgnoreCase, WordRule::AnyBefore, 2, true, false, true, false, false};
inline constexpr Rules kCode{Contraction::IgnoreCase, WordRule::CamelCase, 3, true, false, true, false, true};

// Whether is_safe_cut() holds for a pattern.
inline constexpr bool has_safe_cuts(Pattern pattern) { return pattern != Pattern::Superwords && pattern != Pattern::None; }

// Whether the pre-tokens on each side of `cut` do not depend on the other side. This holds for every pattern that separates
// words in two places: before a space between two ASCII letters (no pre-token contains a letter followed by a space, and none
// looks back), and after a "\n" between a character that is not white space and a letter (no pre-token contains a line end
// followed by a letter, and a final "\n" is split off in the same way at the end of a text).
inline bool is_safe_cut(Bytes text, std::size_t cut) {
  const Byte* const data = text.data();
  const Byte* const end = data + text.size();
  const auto is_ascii_letter = [](Byte byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; };
  if (data[cut] == ' ') return cut + 1 < text.size() && is_ascii_letter(data[cut - 1]) && is_ascii_letter(data[cut + 1]);
  if (cut < 2 || data[cut - 1] != '\n') return false;
  std::size_t before = cut - 2;
  while (before > 0 && is_continuation(data[before])) --before;
  return !is_space(character_at(data + before, end).kind) && is_letter(character_at(data + cut, end).kind);
}

// The last safe cut after `from`, or 0 if there is none. `text` may end inside a character.
inline std::size_t last_safe_cut(Pattern pattern, Bytes text, std::size_t from) {
  if (!has_safe_cuts(pattern)) return 0;
  for (std::size_t cut = text.size(); cut-- > from + 1;) {
    if ((text[cut] == ' ' || text[cut - 1] == '\n') && is_safe_cut(text, cut)) return cut;
  }
  return 0;
}

}  // namespace tokbench
