// What merging made of pre-tokens of any length, behind the cache of the short ones: their bytes and ids
// stand one behind another, and a table says where. When there is no more room, all is forgotten.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "big_pages.hpp"
#include "pair_map.hpp"
#include "zeroed_table.hpp"

namespace tokbench {

class WordStore {
 public:
  void prefetch([[maybe_unused]] std::uint64_t hash) const {
#if defined(__GNUC__)
    __builtin_prefetch(&buckets_[bucket_of(hash)]);
#endif
  }

  // Writes the ids of a word to `out`, which has room for one a byte; their number, 0 for an unknown word.
  std::size_t find(Bytes word, std::uint64_t hash, Id* out) const {
    for (const Slot& slot : buckets_[bucket_of(hash)].slots) {
      if (slot.place == 0 || slot.tag != tag_of(hash)) continue;
      const Byte* const entry = entries_.data() + (slot.place - 1) * kUnit;
      const Header header = header_at(entry);
      if (header.length != word.size() || std::memcmp(entry + sizeof header, word.data(), word.size()) != 0) continue;
      std::memcpy(out, entry + sizeof header + word.size(), header.count * sizeof(Id));
      return header.count;
    }
    return 0;
  }

  // Remembers a word that is not known, unless it is too long.
  void remember(Bytes word, std::uint64_t hash, std::span<const Id> ids) {
    if (word.size() > kLongestStored) return;
    const Header header{hash, static_cast<std::uint32_t>(word.size()), static_cast<std::uint32_t>(ids.size())};
    const std::size_t size = size_of(header), start = entries_.size();
    if (!make_room(start + size)) return forget();
    entries_.resize(start + size);
    Byte* const entry = entries_.data() + start;
    std::memcpy(entry, &header, sizeof header);
    std::memcpy(entry + sizeof header, word.data(), word.size());
    std::memcpy(entry + sizeof header + word.size(), ids.data(), ids.size_bytes());
    if (++num_words_ > buckets_.size() * kSlots / 2 && buckets_.size() < kMostBuckets) {
      spread();
    } else {
      enter(hash, start);
    }
  }

 private:
  static constexpr std::size_t kLongestStored = 1024;       // bytes of a word
  static constexpr std::size_t kMostStored = 20 << 20;      // bytes of all entries
  static constexpr std::size_t kFirstBuckets = 1 << 11;     // 128 KiB
  static constexpr std::size_t kMostBuckets = 1 << 17;      // 8 MiB
  static constexpr std::size_t kSlots = 8;
  static constexpr std::size_t kUnit = 8;  // entries begin at its multiples

  struct Header {
    std::uint64_t hash;
    std::uint32_t length;
    std::uint32_t count;
  };
  struct Slot {
    std::uint32_t tag;
    std::uint32_t place;  // in units, from 1 on; 0 where the slot is free
  };
  struct alignas(64) Bucket {
    Slot slots[kSlots];
  };

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
  std::size_t bucket_of(std::uint64_t hash) const { return (hash >> 16) & (buckets_.size() - 1); }

  static Header header_at(const Byte* entry) {
    Header header;
    std::memcpy(&header, entry, sizeof header);
    return header;
  }

  static std::size_t size_of(const Header& header) {
    const std::size_t size = sizeof header + header.length + header.count * sizeof(Id);
    return (size + kUnit - 1) / kUnit * kUnit;
  }

  bool make_room(std::size_t size) {
    if (size <= entries_.capacity()) return true;
    if (size > kMostStored) return false;
    entries_.reserve(std::min(std::max(size * 2, kMostStored / 16), kMostStored));
    return true;
  }

  // Of a full bucket one goes: which one, the hash says.
  void enter(std::uint64_t hash, std::size_t start) {
    Bucket& bucket = buckets_[bucket_of(hash)];
    std::size_t free = 0;
    while (free < kSlots && bucket.slots[free].place != 0) ++free;
    Slot& slot = bucket.slots[free < kSlots ? free : hash % kSlots];
    slot = {tag_of(hash), static_cast<std::uint32_t>(start / kUnit + 1)};
  }

  // Twice the buckets, for all that is remembered.
  void spread() {
    buckets_ = ZeroedTable<Bucket>(buckets_.size() * 2);
    for (std::size_t start = 0; start < entries_.size(); start += size_of(header_at(entries_.data() + start))) {
      enter(header_at(entries_.data() + start).hash, start);
    }
  }

  void forget() {
    buckets_ = ZeroedTable<Bucket>(buckets_.size());
    entries_.clear();
    num_words_ = 0;
  }

  ZeroedTable<Bucket> buckets_{kFirstBuckets};
  std::vector<Byte, BigPages<Byte>> entries_;
  std::size_t num_words_ = 0;
};

}  // namespace tokbench
