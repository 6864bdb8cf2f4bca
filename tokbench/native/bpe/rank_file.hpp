// Parses a rank file: one line per token with its bytes in base64, a space and its rank. Only regular files are parsed here;
// others are left to the definition, formats/tiktoken.py, which parses them or reports the error.
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "common/utf8.hpp"
#include "encoding/whole_tokens.hpp"

namespace tokbench {

// The bytes of token i are bytes[starts[i]:starts[i + 1]]; empty if no token has this rank.
struct RankFile {
  std::vector<Byte> bytes;
  std::vector<std::uint32_t> starts;
  std::vector<Id> gaps;  // ranks below the largest one that no token has
};

namespace rank_file {

inline constexpr Byte kNoDigit = 0xFF;

inline constexpr auto kDigits = [] {
  std::array<Byte, 256> digits{};
  digits.fill(kNoDigit);
  constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (Byte value = 0; value < 64; ++value) digits[static_cast<Byte>(kAlphabet[value])] = value;
  return digits;
}();

// Appends the decoded bytes of canonical, non-empty base64; returns false for anything else.
inline bool append_decoded(Bytes text, std::vector<Byte>& bytes) {
  if (text.empty() || text.size() % 4 != 0) return false;
  const std::size_t padding = text.back() != '=' ? 0 : text[text.size() - 2] != '=' ? 1 : 2;
  const std::size_t digits = text.size() - padding;
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    const Byte digit = kDigits[text[i]];
    if (digit == kNoDigit) return false;
    bits = bits << 6 | digit;
    if (i % 4 == 3) bytes.insert(bytes.end(), {static_cast<Byte>(bits >> 16), static_cast<Byte>(bits >> 8), static_cast<Byte>(bits)});
  }
  if (padding == 1) bytes.insert(bytes.end(), {static_cast<Byte>(bits >> 10), static_cast<Byte>(bits >> 2)});
  if (padding == 2) bytes.push_back(static_cast<Byte>(bits >> 4));
  const std::uint32_t unused = padding == 0 ? 0 : (1u << 2 * padding) - 1;  // bits of the last digit, which must be zero
  return (bits & unused) == 0;
}

// The value of canonical decimal digits if it is below the limit.
inline std::optional<Id> number(Bytes text, Id limit) {
  constexpr std::size_t kMostDigits = 10;
  if (text.empty() || text.size() > kMostDigits || (text.front() == '0' && text.size() > 1)) return std::nullopt;
  std::uint64_t value = 0;
  for (const Byte digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + (digit - '0');
  }
  if (value >= limit) return std::nullopt;
  return static_cast<Id>(value);
}

// Removes blank lines at the end of a file.
inline Bytes without_blank_lines(Bytes data) {
  for (;;) {
    const bool ends_line = !data.empty() && data.back() == '\n';
    const Bytes rest = ends_line ? data.first(data.size() - 1) : data;
    const bool is_blank = !rest.empty() && rest.back() == '\r' && (rest.size() == 1 || rest[rest.size() - 2] == '\n');
    if (!ends_line && !is_blank) return data;
    data = is_blank ? rest.first(rest.size() - 1) : rest;
  }
}

// Whether all tokens are distinct and each of the 256 bytes is a token.
inline bool is_complete_and_distinct(const RankFile& file) {
  const auto token = [&file](Id id) { return Bytes{file.bytes.data() + file.starts[id], file.starts[id + 1] - file.starts[id]}; };
  const auto num_tokens = static_cast<Id>(file.starts.size() - 1);
  WholeTokens seen(num_tokens);
  std::size_t num_bytes = 0;
  for (Id id = 0; id < num_tokens; ++id) {
    const Bytes bytes = token(id);
    if (bytes.empty()) continue;
    if (!seen.insert(bytes, hash_of_padded(bytes), id, token)) return false;
    num_bytes += bytes.size() == 1;
  }
  return num_bytes == 256;
}

}  // namespace rank_file

// Parses a file with ascending ranks below the limit and distinct, non-empty tokens that include all bytes; nullopt for any
// other.
inline std::optional<RankFile> parse_ranks(Bytes data, Id limit) {
  data = rank_file::without_blank_lines(data);
  RankFile file;
  file.bytes.reserve(data.size());
  file.starts.reserve(data.size() / 16);
  for (const Byte *p = data.data(), *const end = p + data.size(); p < end;) {
    const auto* const found = static_cast<const Byte*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
    const Byte* const line_end = found == nullptr ? end : found;
    const Byte* const stop = line_end != p && line_end[-1] == '\r' ? line_end - 1 : line_end;
    const auto* const space = static_cast<const Byte*>(std::memchr(p, ' ', static_cast<std::size_t>(stop - p)));
    if (space == nullptr) return std::nullopt;
    const std::optional<Id> rank = rank_file::number({space + 1, stop}, limit);
    if (!rank || *rank < file.starts.size()) return std::nullopt;
    for (auto gap = static_cast<Id>(file.starts.size()); gap < *rank; ++gap) file.gaps.push_back(gap);
    file.starts.resize(*rank + std::size_t{1}, static_cast<std::uint32_t>(file.bytes.size()));
    if (!rank_file::append_decoded({p, space}, file.bytes)) return std::nullopt;
    p = line_end + (found != nullptr);
  }
  const std::size_t num_bytes = file.bytes.size();
  file.starts.push_back(static_cast<std::uint32_t>(num_bytes));
  file.bytes.insert(file.bytes.end(), kKeyPadding, 0);
  if (!rank_file::is_complete_and_distinct(file)) return std::nullopt;
  file.bytes.resize(num_bytes);
  return file;
}

}  // namespace tokbench
