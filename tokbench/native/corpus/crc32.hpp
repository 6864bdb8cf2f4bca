// CRC-32 as in zlib (RFC 1952, section 8), eight bytes at a time.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "common/utf8.hpp"

namespace tokbench::corpus {

using CrcTable = std::array<std::uint32_t, 256>;

// Table k: the contribution of a byte that k more bytes follow.
inline constexpr std::array<CrcTable, 8> kCrcTables = [] {
  std::array<CrcTable, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0u);
    tables[0][byte] = sum;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = before >> 8 ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}();

// Updates a sum byte by byte: the definition. The sum starts and ends with its bits inverted.
inline std::uint32_t crc_by_bytes(std::uint32_t sum, Bytes data) {
  for (const Byte byte : data) sum = sum >> 8 ^ kCrcTables[0][(sum ^ byte) & 0xFF];
  return sum;
}

inline std::uint32_t crc32(Bytes data) {
  std::uint32_t sum = ~0u;
  if constexpr (std::endian::native == std::endian::little) {
    for (; data.size() >= 8; data = data.subspan(8)) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, data.data(), sizeof eight);
      eight ^= sum;
      sum = 0;
      for (unsigned i = 0; i < 8; ++i) sum ^= kCrcTables[7 - i][eight >> 8 * i & 0xFF];
    }
  }
  return ~crc_by_bytes(sum, data);
}

}  // namespace tokbench::corpus
