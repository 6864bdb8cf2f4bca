// Fingerprints of a text by its lines: hashes of the lines that are documents, and sums over all lines that are not blank.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "crc32.hpp"
#include "sha256.hpp"

namespace tokbench::corpus {

// Calls use(line) for each line without its line end, including an empty one after the last line end.
template <class Use>
void for_each_line(Bytes text, Use&& use) {
  const Byte* p = text.data();
  const Byte* const stop = p + text.size();
  while (p != stop) {
    const void* const found = std::memchr(p, '\n', static_cast<std::size_t>(stop - p));
    const Byte* const end = found == nullptr ? stop : static_cast<const Byte*>(found);
    use(Bytes(p, end));
    p = found == nullptr ? stop : end + 1;
  }
}

// The size of the white-space character at the start of a text, as Python's str.isspace() defines it; 0 if there is none.
inline std::size_t white_space(Bytes text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? text[i] : Byte{0}; };
  const Byte first = at(0), second = at(1), third = at(2);
  if (first < 0x80) return (first >= 0x09 && first <= 0x0D) || (first >= 0x1C && first <= 0x20) ? 1 : 0;
  if (first == 0xC2) return second == 0x85 || second == 0xA0 ? 2 : 0;       // U+0085, U+00A0
  if (first == 0xE1) return second == 0x9A && third == 0x80 ? 3 : 0;        // U+1680
  if (first == 0xE3) return second == 0x80 && third == 0x80 ? 3 : 0;        // U+3000
  if (first != 0xE2) return 0;
  if (second == 0x81) return third == 0x9F ? 3 : 0;                         // U+205F
  const bool is_space = (third >= 0x80 && third <= 0x8A) || third == 0xA8 || third == 0xA9 || third == 0xAF;
  return second == 0x80 && is_space ? 3 : 0;                                // U+2000 to U+200A, U+2028, U+2029, U+202F
}

inline bool is_blank(Bytes line) {
  while (!line.empty()) {
    const std::size_t size = white_space(line);
    if (size == 0) return false;
    line = line.subspan(size);
  }
  return true;
}

// Strips ASCII white space, like Python's bytes.strip().
inline Bytes stripped(Bytes line) {
  const auto is_space = [](Byte byte) { return byte == ' ' || (byte >= 0x09 && byte <= 0x0D); };
  while (!line.empty() && is_space(line.front())) line = line.subspan(1);
  while (!line.empty() && is_space(line.back())) line = line.first(line.size() - 1);
  return line;
}

// Hashes of the lines of a text that are documents: lines that are not blank, without one "\r" at the end.
struct LineDocuments {
  std::array<std::uint64_t, 8> sums{};  // sums of each 32-bit word of the hashes
  std::uint64_t number = 0, num_bytes = 0;
  std::vector<std::uint64_t> smallest;  // the smallest distinct prefixes of hashes, ascending

  LineDocuments(Bytes text, std::uint64_t largest, std::size_t most) {
    const ShaBlocks add_blocks = fastest_sha_blocks();
    for_each_line(text, [&](Bytes line) {
      if (is_blank(line)) return;
      if (line.back() == '\r') line = line.first(line.size() - 1);
      const Digest digest = sha256(line, add_blocks);
      for (std::size_t i = 0; i < digest.size(); ++i) sums[i] += digest[i];
      ++number;
      num_bytes += line.size();
      const std::uint64_t beginning = std::uint64_t{digest[0]} << 32 | digest[1];
      if (beginning <= largest) smallest.push_back(beginning);
      if (smallest.size() >= 2 * most + kSpareHashes) largest = keep_smallest(most, largest);
    });
    keep_smallest(most, largest);
  }

  // The sum of all hashes modulo 2^256, in big-endian order.
  std::array<Byte, 32> sum() const {
    std::array<Byte, 32> bytes{};
    std::uint64_t carry = 0;
    for (std::size_t i = sums.size(); i-- > 0;) {
      const std::uint64_t low = (sums[i] & 0xFFFFFFFF) + (carry & 0xFFFFFFFF);
      carry = (sums[i] >> 32) + (carry >> 32) + (low >> 32);
      for (std::size_t byte = 0; byte < 4; ++byte) bytes[4 * i + byte] = static_cast<Byte>(low >> (24 - 8 * byte));
    }
    return bytes;
  }

 private:
  static constexpr std::size_t kSpareHashes = 1024;

  // Keeps the `most` smallest prefixes; returns the largest one that may still be kept.
  std::uint64_t keep_smallest(std::size_t most, std::uint64_t largest) {
    std::ranges::sort(smallest);
    smallest.erase(std::ranges::unique(smallest).begin(), smallest.end());
    if (smallest.size() < most) return largest;
    smallest.resize(most);
    return smallest.empty() ? 0 : smallest.back();
  }
};

// Sums over the stripped lines of a text, without blank lines.
struct LineSums {
  std::uint64_t number = 0, num_bytes = 0;
  std::uint64_t checksums = 0;  // sum of the CRC-32 of each line
  // Sums of checksum × size, separately for the upper and lower halves of checksums, because a single sum may exceed 64 bits.
  std::uint64_t upper = 0, lower = 0;
  std::vector<std::pair<std::uint32_t, Bytes>> sampled;  // long enough lines whose checksum, the first element, is low enough

  LineSums(Bytes text, std::uint32_t largest, std::size_t fewest_bytes) {
    std::vector<Bytes> seen(kSeen);
    for_each_line(text, [&](Bytes line) {
      line = stripped(line);
      if (is_blank(line)) return;
      const std::uint32_t checksum = crc32(line);
      ++number;
      num_bytes += line.size();
      checksums += checksum;
      upper += (checksum >> 16) * std::uint64_t{line.size()};
      lower += (checksum & 0xFFFF) * std::uint64_t{line.size()};
      if (checksum > largest || line.size() < fewest_bytes) return;
      Bytes& before = seen[checksum % kSeen];  // avoids most repetitions of frequent lines
      if (std::ranges::equal(before, line)) return;
      before = line;
      sampled.emplace_back(checksum, line);
    });
  }

 private:
  static constexpr std::size_t kSeen = 256;
};

}  // namespace tokbench::corpus
