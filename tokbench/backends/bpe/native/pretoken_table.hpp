// How often each pre-token occurs: an open-addressing table that holds each distinct one once.
#pragma once

#include <utility>
#include <vector>

#include "hashing.hpp"
#include "word_key.hpp"

namespace tokbench {

class PretokenTable {
 public:
  explicit PretokenTable(std::uint64_t seed) : slots_(kInitialSlots), seed_(seed) {}

  // Adds `count` > 0 occurrences. The 16 bytes from `p` on must be readable.
  void add(const Byte* p, std::size_t length, std::int64_t count) {
    if (length <= kShortWord) {
      const WordKey key = short_key(p, length);
      add_short(key, count);
    } else {
      add_long(p, length, count);
    }
  }

  // Adds every entry of another table of the same seed.
  void add_all(const PretokenTable& other) {
    for (const Slot& slot : other.slots_) {
      if (slot.count == 0) continue;
      if (is_long(slot.key)) {
        const Bytes text = other.long_text(slot.key);
        add_long(text.data(), text.size(), slot.count);
      } else {
        add_short(slot.key, slot.count);
      }
    }
  }

  // Calls sink(bytes, count) for each entry, in no order; the bytes live until the call returns.
  template <class Sink>
  void for_each(Sink sink) const {
    for (const Slot& slot : slots_) {
      if (slot.count == 0) continue;
      if (is_long(slot.key)) {
        sink(long_text(slot.key), slot.count);
      } else {
        Byte bytes[16];
        std::memcpy(bytes, &slot.key.low, 8);
        std::memcpy(bytes + 8, &slot.key.high, 8);
        sink(Bytes(bytes, slot.key.high >> 56), slot.count);
      }
    }
  }

  std::size_t size() const { return size_; }

 private:
  // A short pre-token is its key. Of a long one, the key holds its hash, and where its bytes are in
  // `long_bytes_` (8 bytes of length, then the text) behind a top byte that no length has.
  struct Slot {
    WordKey key;
    std::int64_t count = 0;  // 0 where the slot is free
  };

  static constexpr std::size_t kInitialSlots = 1 << 12;
  static constexpr std::uint64_t kLongMark = 0xFFull << 56;

  static bool is_long(const WordKey& key) { return (key.high & kLongMark) == kLongMark; }

  Bytes long_text(const WordKey& key) const {
    const Byte* const entry = long_bytes_.data() + (key.high & ~kLongMark);
    std::uint64_t length;
    std::memcpy(&length, entry, 8);
    return {entry + 8, length};
  }

  void add_short(const WordKey& key, std::int64_t count) {
    std::size_t i = hash_words(key.low, key.high, seed_) & (slots_.size() - 1);
    while (slots_[i].count != 0) {
      if (slots_[i].key == key) {
        slots_[i].count += count;
        return;
      }
      i = (i + 1) & (slots_.size() - 1);
    }
    occupy(i, key, count);
  }

  void add_long(const Byte* p, std::size_t length, std::int64_t count) {
    const std::uint64_t hash = hash_long(p, length);
    std::size_t i = hash & (slots_.size() - 1);
    while (slots_[i].count != 0) {
      const WordKey& key = slots_[i].key;
      if (key.low == hash && is_long(key)) {
        const Bytes text = long_text(key);
        if (text.size() == length && std::memcmp(text.data(), p, length) == 0) {
          slots_[i].count += count;
          return;
        }
      }
      i = (i + 1) & (slots_.size() - 1);
    }
    const WordKey key{hash, kLongMark | long_bytes_.size()};
    Byte header[8];
    const std::uint64_t stored_length = length;
    std::memcpy(header, &stored_length, 8);
    long_bytes_.insert(long_bytes_.end(), header, header + 8);
    long_bytes_.insert(long_bytes_.end(), p, p + length);
    occupy(i, key, count);
  }

  std::uint64_t hash_long(const Byte* p, std::size_t length) const {
    std::uint64_t hash = hash_words(length, 0, seed_);
    for (; length >= 8; p += 8, length -= 8) {
      std::uint64_t word;
      std::memcpy(&word, p, 8);
      hash = hash_words(word, hash, seed_);
    }
    std::uint64_t tail = 0;
    std::memcpy(&tail, p, length);
    return hash_words(tail, hash, seed_);
  }

  void occupy(std::size_t i, const WordKey& key, std::int64_t count) {
    slots_[i] = {key, count};
    if (++size_ * 2 > slots_.size()) grow();
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    std::swap(old, slots_);
    for (const Slot& slot : old) {
      if (slot.count == 0) continue;
      const std::uint64_t hash = is_long(slot.key) ? slot.key.low : hash_words(slot.key.low, slot.key.high, seed_);
      std::size_t i = hash & (slots_.size() - 1);
      while (slots_[i].count != 0) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::vector<Byte> long_bytes_;
  std::size_t size_ = 0;
  std::uint64_t seed_;
};

}  // namespace tokbench
