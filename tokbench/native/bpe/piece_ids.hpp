// The ids of a vocabulary's pieces by their UTF-8: an open-addressing table whose keys lie in one block of memory.
#pragma once

#include <bit>
#include <cstring>
#include <vector>

#include "common/hashing.hpp"
#include "common/random_seed.hpp"
#include "encoding/id.hpp"

namespace tokbench {

class PieceIds {
 public:
  static constexpr Id kNone = 0xFFFFFFFFu;

  explicit PieceIds(std::size_t most) : slots_(std::bit_ceil(most * 2 + 1)) {}

  // Adds a piece that was not added before; no more than `most` of them. The id is not kNone.
  void add(Bytes piece, Id id) {
    slot_of(piece) = {text_.size(), piece.size(), id};
    text_.insert(text_.end(), piece.begin(), piece.end());
  }

  // The id of a piece; kNone if it was not added.
  Id find(Bytes piece) const { return slot_of(piece).id; }

 private:
  struct Slot {
    std::size_t start = 0, size = 0;
    Id id = kNone;
  };

  std::size_t place_of(Bytes piece) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash_bytes(piece, seed_) & mask;
    while (slots_[at].id != kNone && !holds(slots_[at], piece)) at = (at + 1) & mask;
    return at;
  }
  Slot& slot_of(Bytes piece) { return slots_[place_of(piece)]; }
  const Slot& slot_of(Bytes piece) const { return slots_[place_of(piece)]; }

  bool holds(const Slot& slot, Bytes piece) const {
    return slot.size == piece.size() && std::memcmp(text_.data() + slot.start, piece.data(), piece.size()) == 0;
  }

  std::vector<Slot> slots_;
  std::vector<Byte> text_;
  std::uint64_t seed_ = random_seed();
};

}  // namespace tokbench
