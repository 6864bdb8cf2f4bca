// Up to 15 bytes and their length in 16 bytes: the key of short pre-tokens in every table.
#pragma once

#include <bit>
#include <cstring>

#include "utf8.hpp"

namespace tokbench {

inline constexpr std::size_t kShortWord = 15;   // bytes that fit into a key
inline constexpr std::size_t kKeyPadding = 16;  // readable bytes that a text must have behind its end

struct WordKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;  // its top byte is the length
  friend bool operator==(const WordKey&, const WordKey&) = default;
};

// The key of `length` <= kShortWord bytes; reads 16 bytes whatever the length.
inline WordKey short_key(const Byte* p, std::size_t length) {
  static_assert(std::endian::native == std::endian::little, "keys are masked as little-endian words");
  std::uint64_t words[2];
  std::memcpy(words, p, 16);
  const std::uint64_t keep_low = length >= 8 ? ~0ull : (1ull << (8 * length)) - 1;
  const std::uint64_t keep_high = length <= 8 ? 0 : (1ull << (8 * (length - 8))) - 1;
  return {words[0] & keep_low, (words[1] & keep_high) | static_cast<std::uint64_t>(length) << 56};
}

}  // namespace tokbench
