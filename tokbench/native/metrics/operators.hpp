// The operators of two characters or more, in the order of tokbench/metrics/metric.py (??= would be a trigraph).
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "common/utf8.hpp"

namespace tokbench::metrics {

inline constexpr std::array<std::string_view, 50> kAllOperators = {
    "==", "!=", "<=", ">=", "===", "!==", "<=>", "=~", "!~", "~=", ":=", "::", "->", "=>", "<-", "|>", "<|",
    "&&", "||", "++", "--", "**", "//", "<<", ">>", ">>>", "??", "?.", "?:", "..", "...", "..=", "..<",
    "+=", "-=", "*=", "/=", "%=", "@=", "&=", "|=", "^=", "**=", "//=", "<<=", ">>=", ">>>=", "&&=", "||=", "?\?=",
};

// Sorted by first byte, then longest first, so that the first match is the longest.
inline constexpr auto kSortedOperators = [] {
  auto sorted = kAllOperators;
  std::ranges::sort(sorted, [](std::string_view a, std::string_view b) {
    return a[0] != b[0] ? a[0] < b[0] : a.size() > b.size();
  });
  return sorted;
}();

// For each first byte (below 0x80) the start of its operators in the sorted list; they end where those of the next byte start.
inline constexpr auto kFirstOperator = [] {
  std::array<std::uint8_t, 129> first{};
  for (const std::string_view each : kAllOperators) {
    for (std::size_t byte = static_cast<std::size_t>(each[0]) + 1; byte < first.size(); ++byte) ++first[byte];
  }
  return first;
}();

// Whether a byte is the second one of an operator.
inline constexpr auto kIsSecondByte = [] {
  std::array<bool, 256> is_second{};
  for (const std::string_view each : kAllOperators) is_second[static_cast<std::size_t>(each[1])] = true;
  return is_second;
}();

inline bool begins_operator(Byte byte) { return byte < 0x80 && kFirstOperator[byte] != kFirstOperator[byte + 1u]; }

// The length of the longest operator at `p` (p < end, *p < 0x80), or 0.
inline std::size_t operator_length(const Byte* p, const Byte* end) {
  if (end - p < 2 || !kIsSecondByte[p[1]]) return 0;
  const std::string_view text(reinterpret_cast<const char*>(p), static_cast<std::size_t>(end - p));
  for (std::size_t i = kFirstOperator[*p]; i < kFirstOperator[*p + 1u]; ++i) {
    if (text.starts_with(kSortedOperators[i])) return kSortedOperators[i].size();
  }
  return 0;
}

}  // namespace tokbench::metrics
