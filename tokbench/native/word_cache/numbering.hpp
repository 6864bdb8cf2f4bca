// Numbers for different words, in the order in which they come.
#pragma once

#include <cstring>
#include <stdexcept>
#include <vector>

#include "common/hashing.hpp"
#include "common/utf8.hpp"

namespace tokbench::word_cache {

class Numbering {
 public:
  explicit Numbering(std::uint64_t seed) : seed_(seed), slots_(kFirstSlots) {}

  std::size_t size() const { return starts_.size() - 1; }
  Bytes operator[](std::size_t number) const {
    return {bytes_.data() + starts_[number], starts_[number + 1] - starts_[number]};
  }

  // The number of a word; the next one where it is new.
  std::uint32_t number_of(Bytes word) {
    const std::uint64_t hash = hash_bytes(word, seed_);
    const auto mark = static_cast<std::uint32_t>(hash >> 32);
    for (std::size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[i];
      if (slot.number_behind == 0) return add(word, i, mark);
      if (slot.mark == mark && equal((*this)[slot.number_behind - 1], word)) return slot.number_behind - 1;
    }
  }

  void clear() {
    slots_.assign(kFirstSlots, Slot{});
    starts_ = {0};
    bytes_ = {};
  }

 private:
  static constexpr std::size_t kFirstSlots = 1 << 10;
  static constexpr std::size_t kMost = 0xFFFFFFFE;

  struct Slot {
    std::uint32_t number_behind = 0;  // the number plus one; 0 where the slot is free
    std::uint32_t mark = 0;           // the upper half of the hash
  };

  static bool equal(Bytes one, Bytes other) {
    return one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size()) == 0;
  }

  std::uint32_t add(Bytes word, std::size_t slot, std::uint32_t mark) {
    if (size() == kMost) throw std::length_error("there are too many different words");
    const auto number = static_cast<std::uint32_t>(size());
    bytes_.insert(bytes_.end(), word.begin(), word.end());
    starts_.push_back(bytes_.size());
    slots_[slot] = {number + 1, mark};
    if (size() * 2 > slots_.size()) grow();
    return number;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    std::swap(old, slots_);
    for (std::size_t number = 0; number < size(); ++number) {
      const std::uint64_t hash = hash_bytes((*this)[number], seed_);
      std::size_t i = hash & (slots_.size() - 1);
      while (slots_[i].number_behind != 0) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = {static_cast<std::uint32_t>(number + 1), static_cast<std::uint32_t>(hash >> 32)};
    }
  }

  std::uint64_t seed_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> starts_{0};  // of each word in `bytes_`, and behind the last
  std::vector<Byte> bytes_;
};

}  // namespace tokbench::word_cache
