// The distinct words of a group, how often they occur and in how many tokens: an open-addressing table.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <vector>

#include "hashing.hpp"
#include "word_key.hpp"

namespace tokbench::metrics {

struct WordType {
  WordKey key;
  std::int64_t occurrences;
  std::uint32_t fewest;  // tokens of an occurrence
  std::uint32_t most;
};

// The words stand in the order in which they were first seen, so that the frequent ones, which come
// early, share few cache lines and pages; the slots say where. As both are too large for the caches,
// some words wait until what they need has been fetched.
class WordTable {
 public:
  explicit WordTable(std::uint64_t seed) : slots_(kInitialSlots), seed_(seed) {}

  // An occurrence of a word in so many tokens; `readable` is how far behind it bytes can be read.
  // It is in the table behind settle().
  void add(Bytes word, const Byte* readable, std::uint32_t tokens) {
    if (word.size() > kShortWord) {
      add_long(word, tokens);
    } else if (static_cast<std::size_t>(readable - word.data()) >= kKeyPadding) {
      add_short(short_key(word.data(), word.size()), tokens);
    } else {
      Byte padded[kKeyPadding] = {};
      std::copy(word.begin(), word.end(), padded);
      add_short(short_key(padded, word.size()), tokens);
    }
  }

  // Notes the words that wait.
  void settle() {
    for (std::size_t i = 0; i < num_waiting_; ++i) {
      const Slot& slot = slots_[waiting_[i].hash & last_slot_];
      if (slot.number != 0) prefetch(&types_[slot.number - 1]);
    }
    for (std::size_t i = 0; i < num_waiting_; ++i) note_short(waiting_[i]);
    num_waiting_ = 0;
  }

  std::size_t size() const { return types_.size(); }

  std::size_t num_always_whole() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(types_, [](const WordType& each) { return each.fewest == 1 && each.most == 1; }));
  }

  // The `n` words that fell into most tokens; of those, the most frequent; of those, the smallest.
  std::vector<WordType> worst(std::size_t n) const {
    std::vector<WordType> found(std::min(n, types_.size()));
    std::ranges::partial_sort_copy(types_, found, [this](const WordType& a, const WordType& b) {
      if (a.most != b.most) return a.most > b.most;
      if (a.occurrences != b.occurrences) return a.occurrences > b.occurrences;
      return std::ranges::lexicographical_compare(bytes_of(a.key), bytes_of(b.key));
    });
    return found;
  }

  // The bytes of a word of this table; the key must outlive them.
  Bytes bytes_of(const WordKey& key) const {
    if (!is_long(key)) return {reinterpret_cast<const Byte*>(&key), key.high >> 56};
    const Byte* const entry = arena_.data() + (key.high & ~kLongMark);
    std::uint64_t length;
    std::memcpy(&length, entry, 8);
    return {entry + 8, length};
  }

 private:
  struct Slot {
    std::uint32_t tag = 0;     // the upper half of the word's hash
    std::uint32_t number = 0;  // of the word, from 1 on; 0 where the slot is free
  };

  struct Waiting {
    WordKey key;
    std::uint64_t hash;
    std::uint32_t tokens;
  };

  static constexpr std::size_t kInitialSlots = 16;
  static constexpr std::uint64_t kLongMark = 0xFFull << 56;

  // A short word is its key. Of a long one, the key holds its hash, and where its bytes are in `arena_`
  // (8 bytes of length, then the word) behind a top byte that no length has.
  static bool is_long(const WordKey& key) { return (key.high & kLongMark) == kLongMark; }

  void add_short(const WordKey& key, std::uint32_t tokens) {
    const std::uint64_t hash = hash_words(key.low, key.high, seed_);
    prefetch(&slots_[hash & last_slot_]);
    waiting_[num_waiting_++] = {key, hash, tokens};
    if (num_waiting_ == waiting_.size()) settle();
  }

  void note_short(const Waiting& word) {
    const auto is_word = [&](const WordKey& seen) { return seen == word.key; };
    if (!note_again(word.hash, word.tokens, is_word)) insert(word.hash, word.key, word.tokens);
  }

  void add_long(Bytes word, std::uint32_t tokens) {
    const std::uint64_t hash = hash_long(word);
    const auto is_word = [&](const WordKey& seen) {
      return is_long(seen) && seen.low == hash && std::ranges::equal(bytes_of(seen), word);
    };
    if (note_again(hash, tokens, is_word)) return;
    const WordKey key{hash, kLongMark | arena_.size()};
    Byte header[8];
    const std::uint64_t length = word.size();
    std::memcpy(header, &length, 8);
    arena_.insert(arena_.end(), header, header + 8);
    arena_.insert(arena_.end(), word.begin(), word.end());
    insert(hash, key, tokens);
  }

  std::uint64_t hash_long(Bytes word) const {
    const Byte* p = word.data();
    std::size_t left = word.size();
    std::uint64_t hash = hash_words(left, 0, seed_);
    for (; left >= 8; p += 8, left -= 8) {
      std::uint64_t part;
      std::memcpy(&part, p, 8);
      hash = hash_words(part, hash, seed_);
    }
    std::uint64_t tail = 0;
    std::memcpy(&tail, p, left);
    return hash_words(tail, hash, seed_);
  }

  // Notes an occurrence of a word that was seen before; whether it was.
  template <class IsWord>
  bool note_again(std::uint64_t hash, std::uint32_t tokens, IsWord is_word) {
    for (std::size_t i = hash & last_slot_; slots_[i].number != 0; i = (i + 1) & last_slot_) {
      if (slots_[i].tag != hash >> 32) continue;
      WordType& type = types_[slots_[i].number - 1];
      if (!is_word(type.key)) continue;
      ++type.occurrences;
      type.fewest = std::min(type.fewest, tokens);
      type.most = std::max(type.most, tokens);
      return true;
    }
    return false;
  }

  void insert(std::uint64_t hash, const WordKey& key, std::uint32_t tokens) {
    if (types_.size() == std::numeric_limits<std::uint32_t>::max()) throw std::length_error("too many different words");
    types_.push_back({key, 1, tokens, tokens});
    if (types_.size() * 3 > slots_.size() * 2) grow();
    occupy(hash, static_cast<std::uint32_t>(types_.size()));
  }

  void occupy(std::uint64_t hash, std::uint32_t number) {
    std::size_t i = hash & last_slot_;
    while (slots_[i].number != 0) i = (i + 1) & last_slot_;
    slots_[i] = {static_cast<std::uint32_t>(hash >> 32), number};
  }

  // Twice the slots, for all words but the last, which is about to get one.
  void grow() {
    slots_.assign(slots_.size() * 2, {});
    last_slot_ = slots_.size() - 1;
    for (std::size_t i = 0; i + 1 < types_.size(); ++i) {
      const WordKey& key = types_[i].key;
      occupy(is_long(key) ? key.low : hash_words(key.low, key.high, seed_), static_cast<std::uint32_t>(i + 1));
    }
  }

  static void prefetch([[maybe_unused]] const void* place) {
#if defined(__GNUC__)
    __builtin_prefetch(place);
#endif
  }

  std::array<Waiting, 32> waiting_;
  std::size_t num_waiting_ = 0;
  std::size_t last_slot_ = kInitialSlots - 1;  // one less than a power of two
  std::vector<Slot> slots_;
  std::vector<WordType> types_;
  std::vector<Byte> arena_;
  std::uint64_t seed_;
};

}  // namespace tokbench::metrics
