// The counts in the order of tokbench/metrics/metric.py, which defines them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tokbench::metrics {

enum Count : std::size_t {
  kTokens, kBytes, kChars, kLines,
  kWords, kUnspacedWords, kSplitWords,
  kMultibyteChars, kCutChars, kLanguageChars, kCoveredChars,
  kUnknownTokens, kFallbackTokens, kUncoveredBytes,
  kNumbers, kShortNumbers, kWholeShortNumbers, kNumberTokens, kDigitBoundaries, kDigitCuts, kDigitHits,
  kIdentifiers, kIdentifierBoundaries, kIdentifierCuts, kIdentifierHits,
  kOperators, kIsolatedOperators,
  kIndentedLines, kIndentationChars, kIndentationTokens,
  kNumCounts,
};

inline constexpr std::array<const char*, kNumCounts> kCountNames = {
    "tokens", "bytes", "chars", "lines",
    "words", "unspaced_words", "split_words",
    "multibyte_chars", "cut_chars", "language_chars", "covered_chars",
    "unknown_tokens", "fallback_tokens", "uncovered_bytes",
    "numbers", "short_numbers", "whole_short_numbers", "number_tokens", "digit_boundaries", "digit_cuts", "digit_hits",
    "identifiers", "identifier_boundaries", "identifier_cuts", "identifier_hits",
    "operators", "isolated_operators",
    "indented_lines", "indentation_chars", "indentation_tokens",
};

using Counts = std::array<std::int64_t, kNumCounts>;

inline constexpr std::size_t kLongestNumber = 16;  // in digits; longer numbers are counted as this long

struct NumbersOfLength {
  std::int64_t numbers = 0;
  std::int64_t tokens = 0;  // tokens that overlap them
};

using NumbersByLength = std::array<NumbersOfLength, kLongestNumber + 1>;

}  // namespace tokbench::metrics
