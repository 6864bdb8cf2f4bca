// The key of a short pre-token in all tables: up to 15 bytes and their length, in 16 bytes.
#pragma once

#include <array>
#include <bit>
#include <cstring>

#include "utf8.hpp"

namespace tokbench {

inline constexpr std::size_t kShortWord = 15;   // number of bytes that fit into a key
inline constexpr std::size_t kKeyPadding = 16;  // bytes that must be readable from the start of a word on

struct WordKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;  // the top byte is the length
  friend bool operator==(const WordKey&, const WordKey&) = default;
};

// The masks for the bytes of a word, by its length. A table lookup, because branches on the length would be mispredicted.
struct KeyMask {
  std::uint64_t low, high;
};
inline constexpr auto kKeyMasks = [] {
  std::array<KeyMask, kShortWord + 1> masks{};
  for (std::size_t length = 0; length <= kShortWord; ++length) {
    masks[length].low = length >= 8 ? ~0ull : (1ull << (8 * length)) - 1;
    masks[length].high = length <= 8 ? 0 : (1ull << (8 * (length - 8))) - 1;
  }
  return masks;
}();

// The key of `length` <= kShortWord bytes; reads 16 bytes whatever the length.
inline WordKey short_key(const Byte* p, std::size_t length) {
  static_assert(std::endian::native == std::endian::little, "keys are masked as little-endian words");
  std::uint64_t words[2];
  std::memcpy(words, p, 16);
  const KeyMask& keep = kKeyMasks[length];
  return {words[0] & keep.low, (words[1] & keep.high) | static_cast<std::uint64_t>(length) << 56};
}

}  // namespace tokbench
