// The distinct words of a group, how often they occur and in how many tokens: an open-addressing table.
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
  std::uint32_t fewest;  // tokens of an occurrence
  std::uint32_t most;
};

// The words themselves stand in the slots, so that one look finds them. As the table is too large for the
// caches of the processor, words wait until what they need has been fetched.
class WordTable {
  struct Waiting {
    WordKey key;
    std::uint64_t hash;
    const Byte* start;  // of a long one
    std::uint32_t tokens;
  };

  static constexpr std::size_t kInitialSlots = 64;
  static constexpr std::uint64_t kLongMark = 0xFFull << 56;

  // A short word is its key, which is never zero: a slot whose key is zero is free. The key of a long one
  // holds its hash, and after a top byte that no length has where its bytes are in `arena_` (8 bytes of
  // length, then the word). While it waits, the length stands there.
  static bool is_long(const WordKey& key) { return (key.high & kLongMark) == kLongMark; }
  static bool is_free(const WordType& type) { return type.key.high == 0; }

  auto types() const {
    return std::span(&slots_[0], slots_.size()) | std::views::filter([](const WordType& type) { return !is_free(type); });
  }

 public:
  explicit WordTable(std::uint64_t seed) : seed_(seed) {}

  // An occurrence of a word in this many tokens; `readable` is how far after it bytes can be read.
  // The word must stay where it is until settle(), after which it is in the table.
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

  // Notes the words that wait.
  void settle() {
    for (std::size_t i = 0; i < num_waiting_; ++i) {
      const Waiting& word = waiting_[i];
      const Bytes bytes{word.start, static_cast<std::size_t>(word.key.high & ~kLongMark)};
      note(word.hash, bytes, {word.key, 1, word.tokens, word.tokens});
    }
    num_waiting_ = 0;
  }

  // Adds what is known of a word, or of all that are in another table, which has none that wait.
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

  // The `n` words that fell into most tokens; of those, the most frequent; of those, the smallest.
  std::vector<WordType> worst(std::size_t n) const {
    std::vector<WordType> found(std::min(n, size_));
    std::ranges::partial_sort_copy(types(), found, [this](const WordType& a, const WordType& b) {
      if (a.most != b.most) return a.most > b.most;
      if (a.occurrences != b.occurrences) return a.occurrences > b.occurrences;
      return std::ranges::lexicographical_compare(bytes_of(a.key), bytes_of(b.key));
    });
    return found;
  }

  // All words, by their bytes.
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

  // `word` are the bytes of a long one, whose key holds its hash so far.
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

  // The slot of a word, or the free one that is to be its.
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
  std::size_t last_slot_ = kInitialSlots - 1;  // one less than a power of two
  ZeroedTable<WordType> slots_{kInitialSlots};
  std::vector<Byte> arena_;
  std::uint64_t seed_;
};

}  // namespace tokbench::metrics
