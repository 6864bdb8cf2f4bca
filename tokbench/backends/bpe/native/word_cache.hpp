// The ids of short pre-tokens seen before, where they are few: entries of 32 bytes, two a cache line. The table
// grows while words come that it has no room for; the memory beyond what the processor's own caches hold is slow,
// but slower still is merging.
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
    std::size_t count() const { return high >> kCountShift; }  // kElsewhere: look into the store
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
  static constexpr std::size_t kMostSets = 1 << 18;   // 16 MiB
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

}  // namespace tokbench
