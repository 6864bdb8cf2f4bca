// The ids of short pre-tokens seen before: a bounded table, 32 bytes an entry, two entries a cache line.
#pragma once

#include <memory>
#include <vector>

#include "hashing.hpp"
#include "pair_map.hpp"
#include "word_key.hpp"

namespace tokbench {

class WordCache {
 public:
  static constexpr std::size_t kMaxIds = 4;

  WordCache() : sets_(kNumSets) {}

  // Appends the ids of the word and returns true, or returns false where it is not known.
  bool append(const WordKey& key, std::vector<Id>& ids) {
    Set& set = sets_[place(key)];
    for (const Entry& entry : set.entries) {
      if (entry.key != key) continue;
      for (std::size_t i = 0; i < kMaxIds && entry.ids[i] != kNoId; ++i) ids.push_back(entry.ids[i]);
      return true;
    }
    return false;
  }

  // Remembers a word of at most kMaxIds ids; the older entry of its set makes room.
  void remember(const WordKey& key, std::span<const Id> ids) {
    Set& set = sets_[place(key)];
    set.entries[1] = set.entries[0];
    Entry& entry = set.entries[0];
    entry.key = key;
    for (std::size_t i = 0; i < kMaxIds; ++i) entry.ids[i] = i < ids.size() ? ids[i] : kNoId;
  }

 private:
  static constexpr std::size_t kNumSets = 1 << 15;  // 2 MiB
  static constexpr Id kNoId = 0xFFFFFFFFu;

  struct Entry {
    WordKey key;  // no word has the key of length 0
    Id ids[kMaxIds];
  };
  struct alignas(64) Set {
    Entry entries[2];
  };

  static std::size_t place(const WordKey& key) {
    return static_cast<std::size_t>(hash_words(key.low, key.high, 0)) & (kNumSets - 1);
  }

  std::vector<Set> sets_;
};

}  // namespace tokbench
