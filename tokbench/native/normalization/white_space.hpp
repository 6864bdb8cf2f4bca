// White space in UTF-8, by Unicode's property White_Space.
#pragma once

#include <vector>

#include "common/utf8.hpp"

namespace tokbench {

inline constexpr std::uint32_t kAfterWhite = 0x3001;  // no code point from here on is White_Space

// The length of the white space (Unicode's White_Space) at a position; 0 if there is none.
inline std::size_t white_length(std::span<const Byte> bytes, std::size_t start, std::size_t stop) {
  const Byte lead = bytes[start];
  if (lead < 0x80) return lead == ' ' || (lead >= '\t' && lead <= '\r') ? 1 : 0;
  const std::size_t length = well_formed_length(bytes.data() + start, bytes.data() + stop);
  if (length == 2 && lead == 0xC2) return bytes[start + 1] == 0x85 || bytes[start + 1] == 0xA0 ? 2 : 0;
  if (length != 3) return 0;
  const std::uint32_t one = code_point_at(bytes.data() + start, bytes.data() + stop).value;
  const bool is_found = one == 0x1680 || (one >= 0x2000 && one <= 0x200A) || one == 0x2028 || one == 0x2029 || one == 0x202F ||
                        one == 0x205F || one == 0x3000;
  return is_found ? 3 : 0;
}

// Whether there is white space among the bytes.
inline bool has_white(Bytes bytes) {
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (white_length(bytes, at, bytes.size()) != 0) return true;
  }
  return false;
}

// Whether there are bytes, and all of them are white space.
inline bool is_white(Bytes bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t length = white_length(bytes, at, bytes.size());
    if (length == 0) return false;
    at += length;
  }
  return !bytes.empty();
}

// A text in which each run of some bytes is one space: the text itself if it is so, else the buffer.
template <typename IsSpace>
Bytes with_runs_as_space(Bytes text, std::vector<Byte>& buffer, IsSpace is_space) {
  const auto stays = [&](std::size_t at) {
    return !is_space(text[at]) || (text[at] == ' ' && (at + 1 == text.size() || !is_space(text[at + 1])));
  };
  std::size_t at = 0;
  while (at < text.size() && stays(at)) ++at;
  if (at == text.size()) return text;
  buffer.assign(text.begin(), text.end());
  Byte* out = buffer.data() + at;
  for (bool follows_space = false; at < text.size(); ++at) {
    const bool is_one = is_space(text[at]);
    if (!(is_one && follows_space)) *out++ = is_one ? Byte{' '} : text[at];
    follows_space = is_one;
  }
  return {buffer.data(), out};
}

// The same for runs of spaces, line ends and tabs.
inline Bytes with_single_spaces(Bytes text, std::vector<Byte>& buffer) {
  return with_runs_as_space(text, buffer, [](Byte byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; });
}

// The same for runs of spaces only.
inline Bytes without_runs_of_spaces(Bytes text, std::vector<Byte>& buffer) {
  return with_runs_as_space(text, buffer, [](Byte byte) { return byte == ' '; });
}

}  // namespace tokbench
