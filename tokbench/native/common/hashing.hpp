// A seeded, non-linear hash of 64-bit words, and of bytes.
#pragma once

#include <cstdint>
#include <cstring>

#include "utf8.hpp"

namespace tokbench {

// The two halves of a 128-bit product, folded.
inline std::uint64_t fold_multiply(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__)
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#else
  const std::uint64_t a0 = a & 0xFFFFFFFFu, a1 = a >> 32, b0 = b & 0xFFFFFFFFu, b1 = b >> 32;
  const std::uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), other = a0 * b1 + (middle & 0xFFFFFFFFu);
  return (a * b) ^ (a1 * b1 + (middle >> 32) + (other >> 32));
#endif
}

inline std::uint64_t hash_words(std::uint64_t first, std::uint64_t second, std::uint64_t seed) {
  return fold_multiply(first ^ (seed | 1) ^ 0x9E3779B97F4A7C15u, second ^ 0xD6E8FEB86659FD93u ^ (seed << 1));
}

inline std::uint64_t hash_bytes(Bytes bytes, std::uint64_t seed) {
  const Byte* p = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t hash = left;
  for (; left >= 8; p += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    hash = hash_words(word, hash, seed);
  }
  std::uint64_t tail = 0;
  if (left != 0) std::memcpy(&tail, p, left);
  return hash_words(tail, hash, seed);
}

}  // namespace tokbench
