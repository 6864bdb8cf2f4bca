// An open-addressing hash table of pre-token counts.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "common/hashing.hpp"
#include "common/word_key.hpp"

namespace tokbench {

// The positions of at most kMostAtOnce pre-tokens: pre-token i extends from places[i * kStep] to places[i * kStep + 1]. With
// kStep 1 they are adjacent; with kStep 2 there may be gaps between them.
template <std::size_t kStep>
struct PretokenPlaces {
  const Byte* const* places;
  std::size_t count;

  std::size_t size() const { return count; }
  const Byte* start(std::size_t i) const { return places[i * kStep]; }
  std::size_t length(std::size_t i) const { return static_cast<std::size_t>(places[i * kStep + 1] - places[i * kStep]); }
};

// Slots are chosen by the upper bits of the hash: reading one table in slot order fills another one, or the partitions of many,
// in ascending order.
class PretokenTable {
 public:
  // All hashes of a table agree in their `partition_bits` uppermost bits.
  explicit PretokenTable(std::uint64_t seed, unsigned partition_bits = 0)
      : slots_(kInitialSlots), seed_(seed), partition_bits_(partition_bits) {}

  // Adds `count` > 0 occurrences. The 16 bytes from `p` on must be readable.
  void add(const Byte* p, std::size_t length, std::int64_t count) {
    if (length <= kShortWord) {
      const WordKey key = short_key(p, length);
      add_short(key, hash_short(key), count);
    } else {
      add_long(p, length, hash_bytes({p, length}, seed_), count);
    }
  }

  // Adds one occurrence of each of at most kMostAtOnce pre-tokens. Slots are prefetched while other pre-tokens are hashed,
  // because a thread's table exceeds the first-level cache. Bytes must be readable as above.
  static constexpr std::size_t kMostAtOnce = 128;

  template <std::size_t kStep>
  void add_each(const PretokenPlaces<kStep>& pretokens) {
    std::uint64_t hashes[kMostAtOnce];
    WordKey keys[kMostAtOnce];
    for (std::size_t i = 0; i < pretokens.size(); ++i) {
      const std::size_t length = pretokens.length(i);
      if (length <= kShortWord) {
        keys[i] = short_key(pretokens.start(i), length);
        hashes[i] = hash_short(keys[i]);
      } else {
        hashes[i] = hash_bytes({pretokens.start(i), length}, seed_);
      }
      prefetch(hashes[i]);
    }
    for (std::size_t i = 0; i < pretokens.size(); ++i) {
      const std::size_t length = pretokens.length(i);
      if (length <= kShortWord) {
        add_short(keys[i], hashes[i], 1);
      } else {
        add_long(pretokens.start(i), length, hashes[i], 1);
      }
    }
  }

  // An entry in transit between tables.
  struct Entry {
    WordKey key;
    std::uint64_t hash;
    Bytes long_text;  // empty for a short pre-token, whose bytes are in the key
    std::int64_t count;
  };

  // Adds an entry of another table with the same seed.
  void add(const Entry& entry) {
    if (entry.long_text.empty()) {
      add_short(entry.key, entry.hash, entry.count);
    } else {
      add_long(entry.long_text.data(), entry.long_text.size(), entry.hash, entry.count);
    }
  }

  // Calls sink(entry) for each entry, approximately in the order of hashes, and ahead(hash) some entries earlier, for
  // prefetching.
  template <class Sink, class Ahead>
  void for_each_entry(Sink sink, Ahead ahead) const {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (i + kAhead < slots_.size() && slots_[i + kAhead].count != 0) ahead(hash_of(slots_[i + kAhead].key));
      const Slot& slot = slots_[i];
      if (slot.count == 0) continue;
      sink(Entry{slot.key, hash_of(slot.key), is_long(slot.key) ? long_text(slot.key) : Bytes(), slot.count});
    }
  }

  // Calls sink(bytes, count) for each entry, in no particular order. The bytes are valid during the call only.
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

  void prefetch(std::uint64_t hash) const {
#if defined(__GNUC__)
    __builtin_prefetch(&slots_[first_slot(hash)]);
#else
    static_cast<void>(hash);
#endif
  }

  // Removes all entries, and keeps their memory up to a limit.
  void clear() {
    std::fill(slots_.begin(), slots_.end(), Slot{});
    if (long_bytes_.capacity() > kMostKeptBytes) long_bytes_ = std::vector<Byte>();  // assigning {} would keep the capacity
    long_bytes_.clear();
    size_ = 0;
  }

  // Removes all entries and frees their memory.
  void release() { *this = PretokenTable(seed_, partition_bits_); }

  std::size_t size() const { return size_; }

  // The number of bytes that the table takes.
  std::size_t memory() const { return slots_.capacity() * sizeof(Slot) + long_bytes_.capacity(); }

  // The entry of a pre-token; it refers to the given bytes.
  Entry entry_of(Bytes pretoken, std::int64_t count) const {
    if (pretoken.size() > kShortWord) return {{}, hash_bytes(pretoken, seed_), pretoken, count};
    Byte padded[kKeyPadding] = {};
    std::copy(pretoken.begin(), pretoken.end(), padded);
    const WordKey key = short_key(padded, pretoken.size());
    return {key, hash_short(key), {}, count};
  }

 private:
  // The key of a short pre-token contains its bytes. That of a long one contains its hash and, below a top byte that is no
  // valid length, the position of its bytes in `long_bytes_` (8 bytes of length, then the text).
  struct Slot {
    WordKey key;
    std::int64_t count = 0;  // 0 if the slot is free
  };

  static constexpr std::size_t kInitialSlots = 1 << 6;
  static constexpr std::size_t kAhead = 32;  // prefetch distance in slots, about half of which are taken
  static constexpr std::size_t kMostKeptBytes = 4 << 20;
  static constexpr std::uint64_t kLongMark = 0xFFull << 56;

  static bool is_long(const WordKey& key) { return (key.high & kLongMark) == kLongMark; }

  Bytes long_text(const WordKey& key) const {
    const Byte* const entry = long_bytes_.data() + (key.high & ~kLongMark);
    std::uint64_t length;
    std::memcpy(&length, entry, 8);
    return {entry + 8, length};
  }

  void add_short(const WordKey& key, std::uint64_t hash, std::int64_t count) {
    std::size_t i = first_slot(hash);
    while (slots_[i].count != 0) {
      if (slots_[i].key == key) {
        slots_[i].count += count;
        return;
      }
      i = (i + 1) & (slots_.size() - 1);
    }
    occupy(i, key, count);
  }

  void add_long(const Byte* p, std::size_t length, std::uint64_t hash, std::int64_t count) {
    std::size_t i = first_slot(hash);
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

  std::uint64_t hash_short(const WordKey& key) const { return hash_words(key.low, key.high, seed_); }

  std::uint64_t hash_of(const WordKey& key) const { return is_long(key) ? key.low : hash_short(key); }

  std::size_t first_slot(std::uint64_t hash) const {
    return static_cast<std::size_t>(hash << partition_bits_ >> slot_shift_);
  }

  void occupy(std::size_t i, const WordKey& key, std::int64_t count) {
    slots_[i] = {key, count};
    if (++size_ * 3 > slots_.size() * 2) grow();
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    std::swap(old, slots_);
    slot_shift_ -= 1;
    for (const Slot& slot : old) {
      if (slot.count == 0) continue;
      std::size_t i = first_slot(hash_of(slot.key));
      while (slots_[i].count != 0) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::vector<Byte> long_bytes_;
  std::size_t size_ = 0;
  std::uint64_t seed_;
  unsigned partition_bits_;
  unsigned slot_shift_ = 64 - std::countr_zero(kInitialSlots);
};

}  // namespace tokbench
