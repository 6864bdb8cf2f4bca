// An open-addressing hash table from a pair of ids to a number. Never shrinks.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "common/hashing.hpp"
#include "encoding/id.hpp"

namespace tokbench {

class PairMap {
 public:
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFFu;

  explicit PairMap(std::size_t expected = 1024, std::uint64_t seed = 0) : seed_(seed) {
    std::size_t size = 1024;
    while (size < expected * 2) size *= 2;
    slots_.resize(size);
  }

  std::uint32_t find(Id left, Id right) const {
    const std::uint64_t key = pack(left, right);
    for (std::size_t i = first_slot(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].value == kAbsent || slots_[i].key == key) return slots_[i].value;
    }
  }

  // Inserts a pair unless it is present; returns whether it was inserted. `value` must not be kAbsent.
  bool insert(Id left, Id right, std::uint32_t value) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    const std::uint64_t key = pack(left, right);
    std::size_t i = first_slot(key);
    while (slots_[i].value != kAbsent) {
      if (slots_[i].key == key) return false;
      i = (i + 1) & (slots_.size() - 1);
    }
    slots_[i] = {key, value};
    ++size_;
    return true;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = kAbsent;
  };

  static std::uint64_t pack(Id left, Id right) { return static_cast<std::uint64_t>(left) << 32 | right; }
  std::size_t first_slot(std::uint64_t key) const {
    return static_cast<std::size_t>(hash_words(key, 0, seed_)) & (slots_.size() - 1);
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    std::swap(old, slots_);
    for (const Slot& slot : old) {
      if (slot.value == kAbsent) continue;
      std::size_t i = first_slot(slot.key);
      while (slots_[i].value != kAbsent) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
  std::uint64_t seed_;
};

}  // namespace tokbench
