// The ids of pre-tokens seen before: short ones of few ids in entries of 32 bytes, two a cache line, the others
// in entries of a line and a half, two side by side. Both tables grow while words come that they have no room
// for, up to 44 MiB together; the memory beyond what the processor's own caches hold is slow, but slower still is merging.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "pair_map.hpp"
#include "whole_tokens.hpp"
#include "word_key.hpp"
#include "zeroed_table.hpp"

namespace tokbench {

class WordCache {
 public:
  static constexpr std::size_t kMaxIds = 4;
  static constexpr std::size_t kElsewhere = 15;

  struct Entry {
    std::uint64_t low;
    std::uint64_t high;  // its top byte: the length, and above it the number of ids
    Id ids[kMaxIds];
    std::size_t count() const { return high >> kCountShift; }  // kElsewhere: look into the other table
  };
  struct alignas(64) Set {
    Entry entries[2];
  };

  Set& set_of(std::uint64_t hash) { return sets_[(hash >> 16) & (sets_.size() - 1)]; }

  // The entry of a key in its set, or nullptr. No key is zero. Which of the two it is cannot be foretold, so
  // that a branch on it would cost more than all the rest: only whether it is one of them is branched on.
  static const Entry* find(const Set& set, const WordKey& key) {
    const std::uint64_t first = difference(set.entries[0], key), second = difference(set.entries[1], key);
    const std::uint64_t is_not_first = first | (0 - first), is_not_second = second | (0 - second);  // the top bit tells
    if (static_cast<std::int64_t>(is_not_first & is_not_second) < 0) [[unlikely]] return nullptr;
    return &set.entries[is_not_first >> 63];
  }

  // Remembers a word, or that it has more than kMaxIds ids; the older entry of its set makes room.
  void remember(Set& set, const WordKey& key, std::span<const Id> ids) {
    const bool fits = ids.size() <= kMaxIds;
    Entry entry{key.low, key.high | (fits ? ids.size() : kElsewhere) << kCountShift, {}};
    if (fits) std::copy(ids.begin(), ids.end(), entry.ids);
    enter(set, entry);
    ++num_new_;
  }

  // Takes more room, if it is needed and allowed. Sets move.
  void grow_if_crowded() {
    if (num_new_ < sets_.size() || sets_.size() >= kMostSets) [[likely]] return;
    ZeroedTable<Set> old(sets_.size() * 2);
    std::swap(old, sets_);
    for (std::size_t i = 0; i < old.size(); ++i) {
      for (const Entry& entry : {old[i].entries[1], old[i].entries[0]}) {
        if (entry.high != 0) enter(set_of(hash_of(WordKey{entry.low, entry.high & kKeyMask})), entry);
      }
    }
    num_new_ = 0;
  }

 private:
  static constexpr std::size_t kFirstSets = 1 << 15;  // 2 MiB
  static constexpr std::size_t kMostSets = 1 << 19;   // 32 MiB
  static constexpr unsigned kCountShift = 60;
  static constexpr std::uint64_t kKeyMask = (std::uint64_t{1} << kCountShift) - 1;

  static void enter(Set& set, const Entry& entry) {
    set.entries[1] = set.entries[0];
    set.entries[0] = entry;
  }

  static std::uint64_t difference(const Entry& entry, const WordKey& key) {
    return (entry.low ^ key.low) | ((entry.high ^ key.high) & kKeyMask);
  }

  ZeroedTable<Set> sets_{kFirstSets};
  std::size_t num_new_ = 0;  // words since it grew
};

class LongWordCache {
 public:
  struct alignas(32) Entry {
    std::uint16_t length;
    std::uint16_t count;
    Byte bytes_and_ids[92];  // the ids behind as many whole words as the bytes take

    std::size_t room_for_bytes() const { return (std::size_t{length} + 3) / 4 * 4; }
    bool holds(Bytes word) const { return length == word.size() && std::memcmp(bytes_and_ids, word.data(), length) == 0; }

    // Writes the ids to `out`; their number.
    std::size_t read(Id* out) const {
      std::memcpy(out, bytes_and_ids + room_for_bytes(), count * sizeof(Id));
      return count;
    }
  };
  struct alignas(64) Set {
    Entry entries[2];
  };

  Set& set_of(std::uint64_t hash) { return sets_[(hash >> 16) & (sets_.size() - 1)]; }

  static const Entry* find(const Set& set, Bytes word) {
    if (set.entries[0].holds(word)) return &set.entries[0];
    return set.entries[1].holds(word) ? &set.entries[1] : nullptr;
  }

  // Remembers a word, if an entry has room for it; the older entry of its set makes room.
  void remember(Set& set, Bytes word, std::span<const Id> ids) {
    if ((word.size() + 3) / 4 * 4 + ids.size_bytes() > sizeof Entry::bytes_and_ids) return;
    set.entries[1] = set.entries[0];
    Entry& entry = set.entries[0];
    entry.length = static_cast<std::uint16_t>(word.size());
    entry.count = static_cast<std::uint16_t>(ids.size());
    std::memcpy(entry.bytes_and_ids, word.data(), word.size());
    std::memcpy(entry.bytes_and_ids + entry.room_for_bytes(), ids.data(), ids.size_bytes());
    ++num_new_;
  }

  // Takes more room, if it is needed and allowed. Sets move.
  void grow_if_crowded() {
    if (num_new_ < sets_.size() || sets_.size() >= kMostLongSets) [[likely]] return;
    ZeroedTable<Set> old(sets_.size() * 2);
    std::swap(old, sets_);
    for (std::size_t i = 0; i < old.size(); ++i) {
      for (const Entry& entry : {old[i].entries[1], old[i].entries[0]}) {
        if (entry.length == 0) continue;
        Set& set = set_of(hash_of(Bytes(entry.bytes_and_ids, entry.length)));
        set.entries[1] = set.entries[0];
        set.entries[0] = entry;
      }
    }
    num_new_ = 0;
  }

 private:
  static constexpr std::size_t kFirstLongSets = 1 << 12;  // 0.75 MiB
  static constexpr std::size_t kMostLongSets = 1 << 16;   // 12 MiB

  ZeroedTable<Set> sets_{kFirstLongSets};
  std::size_t num_new_ = 0;  // words since it grew
};

}  // namespace tokbench
