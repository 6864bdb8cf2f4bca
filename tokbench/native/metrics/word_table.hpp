// An open-addressing hash table of the distinct words of a group, with their occurrences and numbers of tokens.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <ranges>
#include <vector>

#include "common/hashing.hpp"
#include "common/word_key.hpp"
#include "common/zeroed_table.hpp"

namespace tokbench::metrics {

struct WordType {
  WordKey key;
  std::int64_t occurrences;
  std::uint32_t fewest;  // lowest number of tokens of an occurrence
  std::uint32_t most;
};

// Short words are stored in the slots themselves, so that one access finds them. The table exceeds the caches of the processor,
// so words wait in a queue while their slots are prefetched.
class WordTable {
  struct Waiting {
    WordKey key;
    std::uint64_t hash;
    const Byte* start;  // start of a long word
    std::uint32_t tokens;
  };

  static constexpr std::size_t kInitialSlots = 64;
  static constexpr std::uint64_t kLongMark = 0xFFull << 56;

  // The key of a short word contains its bytes and is never zero; a slot with key zero is free. The key of a long word contains
  // its hash and, below a top byte that is no valid length, the position of its bytes in `arena_` (8 bytes of length, then the
  // word), or the length while the word waits.
  static bool is_long(const WordKey& key) { return (key.high & kLongMark) == kLongMark; }
  static bool is_free(const WordType& type) { return type.key.high == 0; }

  auto types() const {
    return std::span(&slots_[0], slots_.size()) | std::views::filter([](const WordType& type) { return !is_free(type); });
  }

 public:
  explicit WordTable(std::uint64_t seed) : seed_(seed) {}

  // Adds an occurrence of a word that overlaps `tokens` tokens; `readable` is the end of the readable bytes after it. The word
  // must stay valid until settle(), which enters it into the table.
  void add(Bytes word, const Byte* readable, std::uint32_t tokens) {
    if (word.size() > kShortWord) {
      const std::uint64_t hash = hash_bytes(word, seed_);
      wait({{hash, kLongMark | word.size()}, hash, word.data(), tokens});
    } else if (static_cast<std::size_t>(readable - word.data()) >= kKeyPadding) {
      add_short(short_key(word.data(), word.size()), tokens);
    } else {
      Byte padded[kKeyPadding] = {};
      std::copy(word.begin(), word.end(), padded);
      add_short(short_key(padded, word.size()), tokens);
    }
  }

  // Enters the waiting words into the table.
  void settle() {
    for (std::size_t i = 0; i < num_waiting_; ++i) {
      const Waiting& word = waiting_[i];
      const Bytes bytes{word.start, static_cast<std::size_t>(word.key.high & ~kLongMark)};
      note(word.hash, bytes, {word.key, 1, word.tokens, word.tokens});
    }
    num_waiting_ = 0;
  }

  // Adds the counts of a word, or of all words of another table, which must have none waiting.
  void join(Bytes word, std::int64_t occurrences, std::uint32_t fewest, std::uint32_t most) {
    if (word.size() > kShortWord) {
      const std::uint64_t hash = hash_bytes(word, seed_);
      return note(hash, word, {{hash, kLongMark}, occurrences, fewest, most});
    }
    Byte padded[kKeyPadding] = {};
    std::copy(word.begin(), word.end(), padded);
    const WordKey key = short_key(padded, word.size());
    note(hash_of(key), word, {key, occurrences, fewest, most});
  }
  void join(const WordTable& other) {
    for (const WordType& type : other.types()) join(other.bytes_of(type.key), type.occurrences, type.fewest, type.most);
  }

  std::size_t size() const { return size_; }

  std::size_t num_always_whole() const {
    const auto is_whole = [](const WordType& each) { return each.fewest == 1 && each.most == 1; };
    return static_cast<std::size_t>(std::ranges::count_if(types(), is_whole));
  }

  // The `n` words with the most tokens; at equal numbers the more frequent, then the smaller ones.
  std::vector<WordType> worst(std::size_t n) const {
    std::vector<WordType> found(std::min(n, size_));
    std::ranges::partial_sort_copy(types(), found, [this](const WordType& a, const WordType& b) {
      if (a.most != b.most) return a.most > b.most;
      if (a.occurrences != b.occurrences) return a.occurrences > b.occurrences;
      return std::ranges::lexicographical_compare(bytes_of(a.key), bytes_of(b.key));
    });
    return found;
  }

  // All words, sorted by their bytes.
  std::vector<WordType> sorted() const {
    std::vector<WordType> found;
    found.reserve(size_);
    std::ranges::copy(types(), std::back_inserter(found));
    std::ranges::sort(found, [this](const WordType& a, const WordType& b) {
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
  std::uint64_t hash_of(const WordKey& key) const { return is_long(key) ? key.low : hash_words(key.low, key.high, seed_); }

  void add_short(const WordKey& key, std::uint32_t tokens) { wait({key, hash_of(key), nullptr, tokens}); }

  void wait(const Waiting& word) {
    prefetch(&slots_[word.hash & last_slot_]);
    waiting_[num_waiting_++] = word;
    if (num_waiting_ == waiting_.size()) settle();
  }

  // Adds the counts of a word to the table. `word` are the bytes of a long word, whose key only contains its hash so far.
  void note(std::uint64_t hash, Bytes word, const WordType& seen) {
    if (is_long(seen.key)) return note_long(word, seen);
    WordType& type = slot_of(hash, [&](const WordKey& key) { return key == seen.key; });
    if (!is_free(type)) [[likely]] return add_up(type, seen);
    enter(type, seen);
  }

  void note_long(Bytes word, WordType seen) {
    WordType& type = slot_of(seen.key.low, [&](const WordKey& key) {
      return is_long(key) && key.low == seen.key.low && std::ranges::equal(bytes_of(key), word);
    });
    if (!is_free(type)) return add_up(type, seen);
    seen.key.high = kLongMark | arena_.size();
    Byte header[8];
    const std::uint64_t length = word.size();
    std::memcpy(header, &length, 8);
    arena_.insert(arena_.end(), header, header + 8);
    arena_.insert(arena_.end(), word.begin(), word.end());
    enter(type, seen);
  }

  // The slot of a word, or the free slot where it belongs.
  template <class IsWord>
  WordType& slot_of(std::uint64_t hash, IsWord is_word) {
    std::size_t i = hash & last_slot_;
    while (!is_free(slots_[i]) && !is_word(slots_[i].key)) i = (i + 1) & last_slot_;
    return slots_[i];
  }

  static void add_up(WordType& type, const WordType& seen) {
    type.occurrences += seen.occurrences;
    type.fewest = std::min(type.fewest, seen.fewest);
    type.most = std::max(type.most, seen.most);
  }

  void enter(WordType& slot, const WordType& type) {
    slot = type;
    if (++size_ * 3 > slots_.size() * 2) grow();
  }

  void grow() {
    ZeroedTable<WordType> old(slots_.size() * 2);
    std::swap(old, slots_);
    last_slot_ = slots_.size() - 1;
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (!is_free(old[i])) slot_of(hash_of(old[i].key), [](const WordKey&) { return false; }) = old[i];
    }
  }

  static void prefetch([[maybe_unused]] const void* place) {
#if defined(__GNUC__)
    __builtin_prefetch(place);
#endif
  }

  std::array<Waiting, 32> waiting_;
  std::size_t num_waiting_ = 0;
  std::size_t size_ = 0;
  std::size_t last_slot_ = kInitialSlots - 1;  // a power of two minus one
  ZeroedTable<WordType> slots_{kInitialSlots};
  std::vector<Byte> arena_;
  std::uint64_t seed_;
};

}  // namespace tokbench::metrics
