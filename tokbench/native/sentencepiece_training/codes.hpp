// An array of character codes with three bytes each: no alphabet has 2^24 characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tokbench::sentencepiece {

class Codes {
 public:
  void reserve(std::size_t count) { bytes_.reserve(count * kBytes); }

  void push_back(std::uint32_t code) {
    for (unsigned i = 0; i < kBytes; ++i) bytes_.push_back(static_cast<std::uint8_t>(code >> (8 * i)));
  }

  std::size_t size() const { return bytes_.size() / kBytes; }

  std::uint32_t operator[](std::size_t i) const {
    const std::uint8_t* const p = bytes_.data() + i * kBytes;
    return p[0] | static_cast<std::uint32_t>(p[1]) << 8 | static_cast<std::uint32_t>(p[2]) << 16;
  }

 private:
  static constexpr std::size_t kBytes = 3;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace tokbench::sentencepiece
