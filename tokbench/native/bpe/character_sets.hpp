// The sets of characters that contain a character, as one bit per set: what programs of split patterns look at.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <vector>

#include "common/utf8.hpp"

namespace tokbench {

using SetMask = std::uint64_t;  // one bit per character set that programs use
inline constexpr std::uint32_t kMostSets = 64;

// The sets of each character, and of the 256 characters that represent bytes.
class CharacterSets {
 public:
  static constexpr std::size_t kNumCodePoints = 0x110000;

  // sets[i] are those of code point i; byte_sets[b] those of the character that represents byte b.
  CharacterSets(std::span<const SetMask> sets, std::span<const SetMask, 256> byte_sets) {
    if (sets.size() != kNumCodePoints) throw std::invalid_argument("there must be sets for each code point");
    std::copy(byte_sets.begin(), byte_sets.end(), byte_sets_.begin());
    std::copy(sets.begin(), sets.begin() + 128, ascii_.begin());
    blocks_.reserve(kNumCodePoints / kBlockSize);
    for (std::size_t first = 0; first < kNumCodePoints; first += kBlockSize) {
      const auto block = sets.subspan(first, kBlockSize);
      std::size_t place = 0;
      while (place < values_.size() && !std::equal(block.begin(), block.end(), values_.begin() + static_cast<std::ptrdiff_t>(place))) place += kBlockSize;
      if (place == values_.size()) values_.insert(values_.end(), block.begin(), block.end());
      blocks_.push_back(static_cast<std::uint32_t>(place));
    }
  }

  SetMask of_byte(Byte byte) const { return byte_sets_[byte]; }

  // The sets of the character at p < end, and its length. Requires valid UTF-8.
  SetMask of_character(const Byte* p, const Byte* end, std::size_t& length) const {
    const std::uint32_t b0 = *p;
    if (b0 < 0x80) {
      length = 1;
      return ascii_[b0];
    }
    length = well_formed_length(p, end);
    switch (length) {
      case 2:
        return at((b0 & 0x1F) << 6 | (p[1] & 0x3Fu));
      case 3:
        return at((b0 & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu));
      case 4:
        return at((b0 & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu));
      default:
        length = 1;
        return 0;
    }
  }

 private:
  static constexpr std::size_t kBlockSize = 256;

  SetMask at(std::uint32_t code_point) const { return values_[blocks_[code_point / kBlockSize] + code_point % kBlockSize]; }

  std::array<SetMask, 256> byte_sets_;
  std::array<SetMask, 128> ascii_;
  std::vector<std::uint32_t> blocks_;
  std::vector<SetMask> values_;
};

}  // namespace tokbench
