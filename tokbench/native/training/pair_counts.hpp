// The pairs that a trainer may still merge, with their counts and postings.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/big_pages.hpp"
#include "common/compiler.hpp"
#include "common/hashing.hpp"
#include "encoding/id.hpp"

namespace tokbench {

using Posting = std::uint32_t;

// An arena for lists of postings of fixed size. All lists are freed together; single ones can be freed for reuse.
class PostingArena {
 public:
  std::span<Posting> allocate(std::size_t size) {
    if (size <= spare_.size()) {
      const std::span<Posting> list = spare_.first(size);
      spare_ = spare_.subspan(size);
      return list;
    }
    if (size > kBlockPostings / 8) return blocks_.emplace_back(size);
    if (size > left_) {
      next_ = blocks_.emplace_back(kBlockPostings).data();
      left_ = kBlockPostings;
    }
    left_ -= size;
    return {std::exchange(next_, next_ + size), size};
  }

  // Frees a list for reuse. Only the largest freed list is kept, because the others are small.
  void reuse(std::span<Posting> list) {
    if (list.size() > spare_.size()) spare_ = list;
  }

  void clear() {
    blocks_.clear();
    spare_ = {};
    left_ = 0;
  }

 private:
  static constexpr std::size_t kBlockPostings = 1 << 20;

  std::vector<std::vector<Posting, BigPages<Posting>>> blocks_;
  std::span<Posting> spare_;
  Posting* next_ = nullptr;
  std::size_t left_ = 0;
};

// An open-addressing index over a stable array of entries. A slot holds 32 bits of the hash, so that looking up an absent pair,
// the usual case, reads a single slot.
class PairCounts {
 public:
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFFu;

  struct Entry {
    Id left;
    Id right;
    std::int64_t count;
    std::span<Posting> postings;
  };

  explicit PairCounts(std::uint64_t seed) : slots_(kInitialSlots), seed_(seed) {}

  std::uint32_t find(Id left, Id right) const {
    const std::uint64_t hash = hash_of(left, right);
    for (std::size_t i = first_slot(hash); slots_[i].entry != kAbsent; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].tag != tag(hash)) continue;
      const Entry& entry = entries_[slots_[i].entry];
      if (entry.left == left && entry.right == right) return slots_[i].entry;
    }
    return kAbsent;
  }

  // Prefetches the slot that find() reads first.
  void prefetch(Id left, Id right) const { tokbench::prefetch(&slots_[first_slot(hash_of(left, right))]); }

  // Inserts a pair, which must be absent.
  std::uint32_t insert(const Entry& entry) {
    if ((entries_.size() + 1) * 2 > slots_.size()) grow();
    entries_.push_back(entry);
    link(static_cast<std::uint32_t>(entries_.size() - 1));
    return static_cast<std::uint32_t>(entries_.size() - 1);
  }

  Entry& operator[](std::uint32_t entry) { return entries_[entry]; }
  const Entry& operator[](std::uint32_t entry) const { return entries_[entry]; }

  void clear() {
    entries_.clear();
    slots_.assign(kInitialSlots, {});
  }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t entry = kAbsent;
  };

  static constexpr std::size_t kInitialSlots = 1 << 12;

  std::uint64_t hash_of(Id left, Id right) const {
    return hash_words(static_cast<std::uint64_t>(left) << 32 | right, 0, seed_);
  }
  std::size_t first_slot(std::uint64_t hash) const { return static_cast<std::size_t>(hash) & (slots_.size() - 1); }
  static std::uint32_t tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

  void link(std::uint32_t number) {
    const std::uint64_t hash = hash_of(entries_[number].left, entries_[number].right);
    std::size_t i = first_slot(hash);
    while (slots_[i].entry != kAbsent) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {tag(hash), number};
  }

  void grow() {
    slots_.assign(slots_.size() * 2, {});
    for (std::uint32_t number = 0; number < entries_.size(); ++number) link(number);
  }

  std::vector<Slot> slots_;
  std::vector<Entry> entries_;
  std::uint64_t seed_;
};

}  // namespace tokbench
