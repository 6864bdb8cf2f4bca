// The ids of the words that were encoded before, shared by all threads. Entries never change once written, so that reads take no
// lock: a thread claims a free entry, writes it and publishes it. Tables do not grow in place: shared_words.hpp replaces a crowded
// store by a larger one, or starts again with an empty one.
//
// Memory layout. A word of up to 15 bytes is found in one cache line; a longer one in a bucket and its record.
//
//   sets_, short words: a set is one cache line, two entries (word_entry.hpp). A full set continues in the next one.
//
//     0        8       16   20   24   28   32                                     64 bytes
//     +--------+--------+----+----+----+----+--------+--------+----+----+----+----+
//     |  low   |  high  | id | id | id | id |  low   |  high  | id | id | id | id |
//     +--------+--------+----+----+----+----+--------+--------+----+----+----+----+
//          |        |     \____ up to 4 ids; for more (count 15): pointer into records_, number of ids
//          |        +-- bytes 8-14 of the word; top byte: number of ids (4 bits), length (4 bits); 0: free
//          +----------- bytes 0-7 of the word
//
//   buckets_, long words: a bucket is one cache line, eight slots of 8 bytes. A full bucket continues in the next one.
//
//     +-----------------+-----------------+-- ... --+
//     | unit+1  |  tag  | unit+1  |  tag  |         |     tag: upper half of the hash; unit: where the record begins
//     +----|------------+-----------------+-- ... --+     in records_, in units of 4 bytes; 0: free
//          |
//          v
//   records_: one append-only array that never moves and is shared with the stores that grow out of this one.
//
//     +-----------+-----------+----+----+-- ... --+----------------------+-- ...
//     | length:16 | count:16  | id | id |         | bytes of the word    | ids of a short word with more than 4
//     +-----------+-----------+----+----+-- ... --+----------------------+-- ...
//
// set = (hash >> 16) modulo the number of sets; likewise for buckets. At most kMostProbes of them are searched.
#pragma once

#include <algorithm>
#include <memory>

#include "common/compiler.hpp"
#include "common/utf8.hpp"
#include "common/zeroed_table.hpp"
#include "whole_tokens.hpp"
#include "word_entry.hpp"

namespace tokbench {

class WordStore {
 public:
  static constexpr std::size_t kCacheLine = 64;

  // The entries of short words: two per cache line.
  struct alignas(kCacheLine) Set {
    static constexpr std::size_t kSlots = 2;
    bool is_full() const { return entries[kSlots - 1].relaxed_high() != 0; }
    WordEntry entries[kSlots];
  };

  // The slots of long words: the upper half of the hash, and the index of the record's first unit plus 1; 0 if free.
  struct alignas(kCacheLine) Bucket {
    static constexpr std::size_t kSlots = 8;
    std::atomic<std::uint64_t> slots[kSlots];
  };

  WordStore()
      : sets_(std::make_shared<Table<Set>>(kFirstSets)),
        buckets_(std::make_shared<Table<Bucket>>(kFirstBuckets)),
        records_(std::make_shared<Records>(kMostStored / kUnit)) {}

  // A store with the same words and larger tables where these are crowded.
  std::shared_ptr<WordStore> grown() const {
    return resized(sets_->is_crowded() ? sets_->size() * 4 : 0, buckets_->is_crowded() ? buckets_->size() * 4 : 0);
  }

  // A store with the same words and room for the words of this many units of text; null if this one has enough, or is at its
  // largest.
  std::shared_ptr<WordStore> grown_for(std::size_t num_units) const {
    const std::size_t sets = std::bit_floor(std::clamp(num_units / kUnitsPerSet, std::size_t{1}, kMostSets));
    return sets > sets_->size() ? resized(sets, sets / kSetsPerBucket) : nullptr;
  }

  // The addresses and sizes of the tables, for a thread to keep in registers.
  struct TableView {
    const Set* first_set;
    const Bucket* first_bucket;
    std::size_t set_mask, bucket_mask;
    const Set* set_of(std::uint64_t hash) const { return first_set + (hash >> 16 & set_mask); }
    const Bucket* bucket_of(std::uint64_t hash) const { return first_bucket + (hash >> 16 & bucket_mask); }
  };
  TableView tables() const { return {&(*sets_)[0], &(*buckets_)[0], sets_->size() - 1, buckets_->size() - 1}; }

  // The entry of a short word in a set, or nullptr. No key is zero. Which of the two entries matches cannot be predicted, so the
  // only branch is on whether one of them does.
  static const WordEntry* find(const Set& set, const WordKey& key) {
    const std::uint64_t first = difference(set.entries[0], key), second = difference(set.entries[1], key);
    const std::uint64_t is_not_first = first | (0 - first), is_not_second = second | (0 - second);  // the top bit tells
    if (static_cast<std::int64_t>(is_not_first & is_not_second) < 0) [[unlikely]] return nullptr;
    return &set.entries[is_not_first >> 63];
  }

  // The same in all sets that may hold the word.
  const WordEntry* find(const WordKey& key, std::uint64_t hash) const {
    std::size_t at = set_number(hash);
    for (std::size_t i = 0; i < kMostProbes; ++i, at = (at + 1) & (sets_->size() - 1)) {
      if (const WordEntry* const entry = find((*sets_)[at], key)) return entry;
      if (!(*sets_)[at].is_full()) return nullptr;
    }
    return nullptr;
  }

  // The ids of a word that is too long for a key; empty if it is not stored.
  std::span<const Id> find_long(Bytes word, std::uint64_t hash) const {
    std::size_t at = bucket_number(hash);
    for (std::size_t i = 0; i < kMostProbes; ++i, at = (at + 1) & (buckets_->size() - 1)) {
      for (const std::atomic<std::uint64_t>& slot : (*buckets_)[at].slots) {
        const std::uint64_t value = slot.load(std::memory_order_acquire);
        if (value == 0) return {};
        if (tag_of(value) != tag_of(hash)) continue;
        const Bytes known = word_at(first_unit_of(value));
        if (known.size() == word.size() && std::memcmp(known.data(), word.data(), word.size()) == 0) return ids_at(first_unit_of(value));
      }
    }
    return {};
  }

  // Prefetches the record of a long word.
  void prefetch_record(std::uint64_t hash) const {
    for (const std::atomic<std::uint64_t>& slot : (*buckets_)[bucket_number(hash)].slots) {
      const std::uint64_t value = slot.load(std::memory_order_relaxed);
      if (value == 0) return;
      if (tag_of(value) != tag_of(hash)) continue;
      const Byte* const record = bytes_at(first_unit_of(value));
      prefetch(record);
      prefetch(record + kCacheLine);
      return;
    }
  }

  // Stores a short word if there is room.
  void remember(const WordKey& key, std::uint64_t hash, std::span<const Id> ids) {
    if (ids.size() > WordEntry::kMaxIds) {
      const std::size_t first_unit = allocate(ids.size_bytes());
      if (first_unit == kNoRoom) return;
      std::memcpy(bytes_at(first_unit), ids.data(), ids.size_bytes());
      ids = {reinterpret_cast<const Id*>(bytes_at(first_unit)), ids.size()};
    }
    enter(key, hash, ids);
  }

  // The same for a word that is too long for a key.
  void remember_long(Bytes word, std::uint64_t hash, std::span<const Id> ids) {
    if (word.size() > kLongestStored) return;
    const Header header{static_cast<std::uint16_t>(word.size()), static_cast<std::uint16_t>(ids.size())};
    const std::size_t first_unit = allocate(sizeof header + ids.size_bytes() + word.size());
    if (first_unit == kNoRoom) return;
    Byte* const record = bytes_at(first_unit);
    std::memcpy(record, &header, sizeof header);
    std::memcpy(record + sizeof header, ids.data(), ids.size_bytes());
    std::memcpy(record + sizeof header + ids.size_bytes(), word.data(), word.size());
    enter_long(hash, first_unit);
  }

  // Whether a table should grow, and whether it cannot.
  bool is_crowded() const { return sets_->is_crowded() || buckets_->is_crowded() || records_->is_full(); }
  bool is_full() const {
    return (sets_->is_crowded() && sets_->size() == kMostSets) || (buckets_->is_crowded() && buckets_->size() == kMostBuckets) ||
           records_->is_full();
  }

 private:
  using Unit = std::uint32_t;  // records are aligned to its size
  static constexpr std::size_t kUnit = sizeof(Unit);
  static constexpr std::size_t kLongestStored = 1024;    // longest word that is stored, in bytes
  static constexpr std::size_t kMostStored = 96 << 20;   // total bytes of records
  static constexpr std::size_t kFirstSets = 1 << 15;     // 2 MiB
  static constexpr std::size_t kMostSets = 1 << 20;      // 64 MiB
  static constexpr std::size_t kUnitsPerSet = 128;       // units of text for each set, when sized for a text
  static constexpr std::size_t kFirstBuckets = 1 << 11;  // 128 KiB
  static constexpr std::size_t kMostBuckets = 1 << 18;   // 16 MiB
  static constexpr std::size_t kSetsPerBucket = 16;      // sets for each bucket, when sized for a text
  static constexpr std::size_t kMostProbes = 16;         // sets or buckets that are searched
  static constexpr std::size_t kNoRoom = SIZE_MAX;

  // A record of a long word is this header, its ids and its bytes; that of a short word is the ids that do not fit into its entry.
  struct Header {
    std::uint16_t length;
    std::uint16_t count;
  };
  static_assert(kLongestStored <= UINT16_MAX);

  // A table of sets or buckets.
  template <class Group>
  struct Table {
    explicit Table(std::size_t size) : groups(size) {}
    std::size_t size() const { return groups.size(); }
    Group& operator[](std::size_t i) { return groups[i]; }
    bool is_crowded() const { return num_words.load(std::memory_order_relaxed) > size() * Group::kSlots * 5 / 8; }

    ZeroedTable<Group> groups;
    alignas(kCacheLine) std::atomic<std::size_t> num_words{0};  // not on a cache line with read-only data
  };

  struct Records {
    explicit Records(std::size_t size) : units(size) {}
    bool is_full() const { return used.load(std::memory_order_relaxed) > units.size(); }
    ZeroedTable<Unit> units;
    alignas(kCacheLine) std::atomic<std::size_t> used{0};
  };

  WordStore(std::shared_ptr<Table<Set>> sets, std::shared_ptr<Table<Bucket>> buckets, std::shared_ptr<Records> records)
      : sets_(std::move(sets)), buckets_(std::move(buckets)), records_(std::move(records)) {}

  // A store with tables of at least these sizes, within the limits. A table that does not grow is shared.
  std::shared_ptr<WordStore> resized(std::size_t sets, std::size_t buckets) const {
    const bool is_growing_short = std::min(sets, kMostSets) > sets_->size();
    const bool is_growing_long = std::min(buckets, kMostBuckets) > buckets_->size();
    const std::shared_ptr<WordStore> made(
        new WordStore(is_growing_short ? std::make_shared<Table<Set>>(std::min(sets, kMostSets)) : sets_,
                      is_growing_long ? std::make_shared<Table<Bucket>>(std::min(buckets, kMostBuckets)) : buckets_, records_));
    if (is_growing_short) enter_short_words_in(*made);
    if (is_growing_long) enter_long_words_in(*made);
    return made;
  }

  void enter_short_words_in(WordStore& store) const {
    if (sets_->num_words.load(std::memory_order_relaxed) == 0) return;  // leaves its pages untouched
    for (std::size_t i = 0; i < sets_->size(); ++i) {
      for (const WordEntry& entry : (*sets_)[i].entries) {
        const std::uint64_t high = entry.high();
        if (!WordEntry::is_written(high)) continue;
        const WordKey key{entry.low(), high & WordEntry::kKeyMask};
        store.enter(key, hash_of(key), entry.all());
      }
    }
  }

  void enter_long_words_in(WordStore& store) const {
    for (std::size_t i = 0; i < buckets_->size(); ++i) {
      for (const std::atomic<std::uint64_t>& slot : (*buckets_)[i].slots) {
        const std::uint64_t value = slot.load(std::memory_order_acquire);
        if (value != 0) store.enter_long(hash_of_long(word_at(first_unit_of(value))), first_unit_of(value));
      }
    }
  }

  static std::uint64_t difference(const WordEntry& entry, const WordKey& key) {
    return (entry.low() ^ key.low) | (entry.high() ^ key.high) << (64 - WordEntry::kCountShift);
  }

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
  static std::size_t first_unit_of(std::uint64_t value) { return static_cast<std::uint32_t>(value) - 1; }
  std::size_t set_number(std::uint64_t hash) const { return (hash >> 16) & (sets_->size() - 1); }
  std::size_t bucket_number(std::uint64_t hash) const { return (hash >> 16) & (buckets_->size() - 1); }

  Byte* bytes_at(std::size_t first_unit) const { return reinterpret_cast<Byte*>(&records_->units[first_unit]); }
  Header header_at(std::size_t first_unit) const {
    Header header;
    std::memcpy(&header, bytes_at(first_unit), sizeof header);
    return header;
  }
  std::span<const Id> ids_at(std::size_t first_unit) const {
    return {reinterpret_cast<const Id*>(bytes_at(first_unit) + sizeof(Header)), header_at(first_unit).count};
  }
  Bytes word_at(std::size_t first_unit) const {
    const Header header = header_at(first_unit);
    return {bytes_at(first_unit) + sizeof header + header.count * sizeof(Id), header.length};
  }

  std::size_t allocate(std::size_t bytes) {
    const std::size_t units = (bytes + kUnit - 1) / kUnit;
    const std::size_t first_unit = records_->used.fetch_add(units, std::memory_order_relaxed);
    return first_unit + units <= records_->units.size() ? first_unit : kNoRoom;
  }

  // Two threads may enter the same word; both entries are then correct.
  void enter(const WordKey& key, std::uint64_t hash, std::span<const Id> ids) {
    sets_->num_words.fetch_add(1, std::memory_order_relaxed);
    std::size_t at = set_number(hash);
    for (std::size_t i = 0; i < kMostProbes; ++i, at = (at + 1) & (sets_->size() - 1)) {
      for (WordEntry& entry : (*sets_)[at].entries) {
        if (entry.claim()) return entry.write(key, ids);
      }
    }
  }

  void enter_long(std::uint64_t hash, std::size_t first_unit) {
    buckets_->num_words.fetch_add(1, std::memory_order_relaxed);
    std::size_t at = bucket_number(hash);
    for (std::size_t i = 0; i < kMostProbes; ++i, at = (at + 1) & (buckets_->size() - 1)) {
      for (std::atomic<std::uint64_t>& slot : (*buckets_)[at].slots) {
        std::uint64_t free = 0;
        const std::uint64_t value = static_cast<std::uint64_t>(tag_of(hash)) << 32 | (first_unit + 1);
        if (slot.compare_exchange_strong(free, value, std::memory_order_release, std::memory_order_relaxed)) return;
      }
    }
  }

  // Shared with the store that this one grew out of, where they did not grow.
  std::shared_ptr<Table<Set>> sets_;
  std::shared_ptr<Table<Bucket>> buckets_;
  std::shared_ptr<Records> records_;
};

}  // namespace tokbench
