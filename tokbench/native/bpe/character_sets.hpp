// The sets of characters that contain a character, as one bit per set: what programs of split patterns look at.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <stdexcept>
#include <vector>

#include "common/utf8.hpp"

namespace tokbench {

using SetMask = std::uint64_t;  // one bit per character set that programs use
inline constexpr std::uint32_t kMostSets = 64;

// The sets of each character, and of the 256 characters that represent bytes. Characters that are in the same sets have the same
// class; "\n", which ends lines, has a class of its own.
class CharacterSets {
 public:
  using Class = std::uint32_t;

  static constexpr std::size_t kNumCodePoints = 0x110000;

  // sets[i] are those of code point i; byte_sets[b] those of the character that represents byte b.
  CharacterSets(std::span<const SetMask> sets, std::span<const SetMask, 256> byte_sets) {
    if (sets.size() != kNumCodePoints) throw std::invalid_argument("there must be sets for each code point");
    ClassNumbers numbers;
    malformed_ = number_of(0, numbers);
    add_blocks(sets, numbers);
    const auto surrogates = sets.begin() + 0xD800, after = sets.begin() + 0xE000;  // no text has any
    contains_all_ = std::find(sets.begin(), surrogates, 0) == surrogates && std::find(after, sets.end(), 0) == sets.end();
    std::transform(byte_sets.begin(), byte_sets.end(), byte_classes_.begin(), [&](SetMask mask) { return number_of(mask, numbers); });
    newline_ = classes_['\n'] = static_cast<Class>(masks_.size());
    masks_.push_back(sets['\n']);
    std::copy_n(classes_.begin(), ascii_.size(), ascii_.begin());
  }

  Class class_of_ascii(Byte byte) const { return ascii_[byte]; }
  Class class_of_byte(Byte byte) const { return byte_classes_[byte]; }

  // The class of the character at p < end, and its length. Requires valid UTF-8.
  TOKBENCH_ALWAYS_INLINE Class class_of_character(const Byte* p, const Byte* end, std::size_t& length) const {
    const std::uint32_t b0 = *p;
    if (b0 < 0x80) [[likely]] {
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
        return malformed_;
    }
  }

  SetMask of_byte(Byte byte) const { return masks_[class_of_byte(byte)]; }
  SetMask of_character(const Byte* p, const Byte* end, std::size_t& length) const { return masks_[class_of_character(p, end, length)]; }

  // The sets of each class.
  std::span<const SetMask> classes() const { return masks_; }
  Class newline() const { return newline_; }

  // The class of bytes that are not UTF-8, and of characters that are in no set; whether there are no such characters.
  Class malformed() const { return malformed_; }
  bool contains_all() const { return contains_all_; }

 private:
  using ClassNumbers = std::map<SetMask, Class>;

  static constexpr std::size_t kBlockSize = 256;

  void add_blocks(std::span<const SetMask> sets, ClassNumbers& numbers) {
    std::vector<std::span<const SetMask>> distinct;
    blocks_.reserve(kNumCodePoints / kBlockSize);
    for (std::size_t first = 0; first < kNumCodePoints; first += kBlockSize) {
      const auto block = sets.subspan(first, kBlockSize);
      std::size_t known = 1;  // the first block, which contains "\n", is like no other
      while (known < distinct.size() && !std::equal(block.begin(), block.end(), distinct[known].begin())) ++known;
      if (known >= distinct.size()) {
        known = distinct.size();
        distinct.push_back(block);
        for (const SetMask mask : block) classes_.push_back(number_of(mask, numbers));
      }
      blocks_.push_back(static_cast<std::uint32_t>(known * kBlockSize));
    }
  }

  Class number_of(SetMask mask, ClassNumbers& numbers) {
    const auto [entry, is_new] = numbers.try_emplace(mask, static_cast<Class>(masks_.size()));
    if (is_new) masks_.push_back(mask);
    return entry->second;
  }

  Class at(std::uint32_t code_point) const { return classes_[blocks_[code_point / kBlockSize] + code_point % kBlockSize]; }

  std::array<Class, 256> byte_classes_;
  std::array<Class, 128> ascii_;
  std::vector<std::uint32_t> blocks_;
  std::vector<Class> classes_;
  std::vector<SetMask> masks_;
  Class malformed_ = 0, newline_ = 0;
  bool contains_all_ = false;
};

}  // namespace tokbench
