// Split patterns in steps in two forms: as programs of the kernel, and by their definition on strings.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bpe/split_steps.hpp"
#include "naive.hpp"

namespace split_expressions {

using namespace tokbench;

using Words = std::vector<std::string>;

// --- characters -------------------------------------------------------------------------------------

inline Words characters_of(const std::string& text) {
  Words characters;
  for (const char byte : text) {
    if (!is_continuation(static_cast<Byte>(byte)) || characters.empty()) characters.emplace_back();
    characters.back() += byte;
  }
  return characters;
}

enum Set : std::uint32_t { White, Letters, Digits, Others, NotWhite, Space, LetterA, LetterB, Small, kNumSets };

inline bool is_in(std::uint32_t set, std::uint32_t c) {
  const bool is_white = c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0x3000;
  const bool is_letter = (c < 0x80 && std::isalpha(static_cast<int>(c)) != 0) || (c >= 0xC0 && c < 0x3000), is_digit = c >= '0' && c <= '9';
  const bool members[] = {is_white, is_letter, is_digit, !(is_white || is_letter || is_digit), !is_white, c == ' ', c == 'a', c == 'b', c >= 'a' && c <= 'z'};
  return members[set];
}

inline const CharacterSets& character_sets() {
  static const CharacterSets made = [] {
    std::vector<SetMask> masks(CharacterSets::kNumCodePoints);
    for (std::uint32_t c = 0; c < masks.size(); ++c) {
      for (std::uint32_t set = 0; set < kNumSets; ++set) masks[c] |= static_cast<SetMask>(is_in(set, c)) << set;
    }
    const std::array<SetMask, 256> of_bytes{};
    return CharacterSets(masks, of_bytes);
  }();
  return made;
}

// --- steps ------------------------------------------------------------------------------------------

inline constexpr std::uint32_t kAny = UINT32_MAX;

struct Item {
  std::uint32_t set, least, most;
  bool is_lazy = false;
};
using Expression = std::vector<std::vector<Item>>;  // the alternatives, in order

inline const Expression kExpressions[] = {
    {{{White, 1, 1}}},
    {{{White, 1, kAny}}},
    {{{Space, 1, 1}}},
    {{{Digits, 1, 1}}},
    {{{Digits, 1, 3}}},
    {{{Digits, 1, kAny}}},
    {{{Others, 1, 1}}},
    {{{LetterA, 1, 1}}},
    {{{LetterA, 1, 1}, {LetterB, 1, 1}}},
    {{{Letters, 1, kAny}}, {{Others, 1, kAny}}},
    {{{Letters, 1, kAny}}, {{Digits, 1, kAny}}, {{White, 1, 1}}},
    {{{Space, 0, 1}, {Letters, 1, kAny}}, {{Space, 0, 1}, {Others, 1, kAny}}, {{White, 1, kAny}}},
    {{{Letters, 0, kAny}, {LetterA, 1, 1}, {LetterB, 1, 1}}, {{NotWhite, 1, 2}, {White, 1, 1}}},
    {{{Letters, 0, kAny, true}, {LetterA, 1, 1}, {LetterB, 1, 1}}, {{NotWhite, 1, 3, true}, {White, 0, 1, true}, {Digits, 1, 1}}},
    {{{NotWhite, 2, 3, true}}},
};

struct Step {
  Expression expression;
  SplitBehavior behavior;
  bool is_inverted;
};

inline SplitProgram program_of(const Expression& expression) {
  using Kind = SplitOperation::Kind;
  std::size_t size = expression.size();  // one Match, and one Either before all alternatives but the last
  for (const auto& items : expression) size += items.size();
  const auto match = static_cast<std::uint32_t>(size - 1);
  std::vector<SplitOperation> operations;
  SetMask first = 0;
  for (std::size_t tried = 0; tried < expression.size(); ++tried) {
    const auto& items = expression[tried];
    const auto here = [&] { return static_cast<std::uint32_t>(operations.size()); };
    if (tried + 1 < expression.size()) operations.push_back({Kind::Either, 0, 0, 0, here() + 1, here() + 1 + static_cast<std::uint32_t>(items.size())});
    for (std::size_t i = 0; i < items.size(); ++i) {
      const bool may_begin = std::all_of(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(i), [](const Item& item) { return item.least == 0; });
      if (may_begin) first |= SetMask{1} << items[i].set;
      operations.push_back({items[i].is_lazy ? Kind::Lazy : Kind::Characters, items[i].set, items[i].least, items[i].most, i + 1 < items.size() ? here() + 1 : match, 0});
    }
  }
  operations.push_back({Kind::Match, 0, 0, 0, 0, 0});
  return {std::move(operations), first, SplitUnit::Character};
}

inline ProgramStep step_of(const Step& step) {
  return {SplitMatcher(program_of(step.expression), character_sets()), step.behavior, step.is_inverted};
}

// The number of characters that items match from `at` on: each item takes as many as possible, and fewer if the rest does not match
// otherwise; a lazy item takes as few as possible, and more.
inline std::optional<std::size_t> matched(std::span<const Item> items, const Words& text, std::size_t at) {
  if (items.empty()) return 0;
  const Item& item = items.front();
  std::size_t count = 0;
  while (count < item.most && at + count < text.size() && is_in(item.set, naive::code_points(naive::to_bytes(text[at + count]))[0])) ++count;
  if (item.is_lazy) {
    for (std::size_t taken = item.least; taken <= count; ++taken) {
      if (const auto rest = matched(items.subspan(1), text, at + taken)) return taken + *rest;
    }
    return std::nullopt;
  }
  for (; count + 1 > item.least; --count) {
    if (const auto rest = matched(items.subspan(1), text, at + count)) return count + *rest;
    if (count == 0) break;
  }
  return std::nullopt;
}

struct Part {
  std::string text;
  bool is_match;
};

inline std::vector<Part> parts_of(const Step& step, const std::string& text) {
  const Words characters = characters_of(text);
  std::vector<Part> parts;
  bool goes_on = false;  // whether the last part is unmatched text, which may continue
  for (std::size_t at = 0; at < characters.size();) {
    std::optional<std::size_t> size;
    for (std::size_t tried = 0; tried < step.expression.size() && !size; ++tried) size = matched(step.expression[tried], characters, at);
    if (size || !goes_on) parts.push_back({"", size.has_value() != step.is_inverted});
    goes_on = !size;
    for (std::size_t left = size.value_or(1); left > 0; --left) parts.back().text += characters[at++];
  }
  return parts;
}

struct PlacedWord {
  std::size_t start;
  std::string text;
};

// The words that a step splits a word into, with their places.
inline std::vector<PlacedWord> split(const Step& step, const PlacedWord& whole) {
  std::vector<PlacedWord> words;
  bool was_match = false;
  std::size_t start = whole.start;
  for (const Part& part : parts_of(step, whole.text)) {
    const bool joins = step.behavior == SplitBehavior::Contiguous           ? part.is_match == was_match
                       : step.behavior == SplitBehavior::MergedWithPrevious ? part.is_match && !was_match
                       : step.behavior == SplitBehavior::MergedWithNext     ? was_match && !part.is_match
                                                                            : false;
    const bool is_left_out = step.behavior == SplitBehavior::Removed && part.is_match;
    if (joins && !words.empty()) {
      words.back().text += part.text;
    } else if (!is_left_out) {
      words.push_back({start, part.text});
    }
    was_match = part.is_match;
    start += part.text.size();
  }
  return words;
}

}  // namespace split_expressions
