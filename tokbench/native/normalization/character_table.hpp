// A table with a value for each code point, optimized for one default value.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/utf8.hpp"

namespace tokbench {

// A decoded character: its code point and length in bytes; for an invalid byte, kNoCharacter and 1.
struct CodePoint {
  static constexpr std::uint32_t kNoCharacter = 0x110000;
  std::uint32_t value;
  std::uint32_t length;
};

TOKBENCH_ALWAYS_INLINE inline CodePoint code_point_at(const Byte* p, const Byte* end) {
  const std::uint32_t lead = p[0];
  switch (well_formed_length(p, end)) {
    case 1:
      return {lead, 1};
    case 2:
      return {(lead & 0x1F) << 6 | (p[1] & 0x3Fu), 2};
    case 3:
      return {(lead & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu), 3};
    case 4:
      return {(lead & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu), 4};
    default:
      return {CodePoint::kNoCharacter, 1};
  }
}

template <class Value>
class CharacterTable {
 public:
  explicit CharacterTable(Value usual) : usual_(usual), values_(kBlock, usual) {}

  // Accepts kNoCharacter as well.
  Value operator[](std::uint32_t code_point) const { return values_[blocks_[code_point / kBlock] * std::size_t{kBlock} + code_point % kBlock]; }

  Value& at(std::uint32_t code_point) {
    std::uint16_t& block = blocks_[code_point / kBlock];
    if (block == 0) {
      block = static_cast<std::uint16_t>(values_.size() / kBlock);
      values_.insert(values_.end(), kBlock, usual_);
    }
    return values_[block * std::size_t{kBlock} + code_point % kBlock];
  }

 private:
  static constexpr std::uint32_t kBlock = 256;

  Value usual_;
  std::array<std::uint16_t, CodePoint::kNoCharacter / kBlock + 1> blocks_{};  // 0: all have the default value
  std::vector<Value> values_;
};

}  // namespace tokbench
