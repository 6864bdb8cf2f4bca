// The pre-tokens that become one entry of the vocabulary, found by their bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <optional>

#include "common/compiler.hpp"
#include "common/hashing.hpp"
#include "common/word_key.hpp"
#include "common/zeroed_table.hpp"
#include "id.hpp"

namespace tokbench {

// The hash of a pre-token of any length; that of a short one is the hash of its key.
inline std::uint64_t hash_of(const WordKey& key) { return hash_words(key.low, key.high, 0); }

inline std::uint64_t hash_of_long(Bytes bytes) { return hash_bytes(bytes, 1); }

inline std::uint64_t hash_of(Bytes bytes) {
  if (bytes.size() > kShortWord) return hash_of_long(bytes);
  Byte padded[kKeyPadding] = {};
  std::copy(bytes.begin(), bytes.end(), padded);
  return hash_of(short_key(padded, bytes.size()));
}

// The same of bytes after which kKeyPadding more are readable.
inline std::uint64_t hash_of_padded(Bytes bytes) {
  return bytes.size() > kShortWord ? hash_of_long(bytes) : hash_of(short_key(bytes.data(), bytes.size()));
}

// `TextOf` gives the bytes of an id: the table holds those of short tokens alone. To look them up where they are, by their
// starts, took three waits for memory one after the other, a fifth of a first pass over English.
class WholeTokens {
 public:
  WholeTokens() = default;
  explicit WholeTokens(std::size_t expected) : slots_(std::bit_ceil(std::max<std::size_t>(expected * 2, 2))) {}

  // At most as many as expected. Of two entries with the same bytes the first one stays; returns whether it is this one.
  template <class TextOf>
  bool insert(Bytes text, std::uint64_t hash, Id id, TextOf text_of) {
    const Slot entry = slot_for(text, hash, id);
    std::size_t i = first_slot(hash);
    for (; slots_[i].next_id != 0; i = (i + 1) & (slots_.size() - 1)) {
      if (is_same(slots_[i], entry, text, text_of)) return false;
    }
    slots_[i] = entry;
    return true;
  }

  template <class TextOf>
  std::optional<Id> find(Bytes text, std::uint64_t hash, TextOf text_of) const {
    if (slots_.size() == 0) return std::nullopt;
    const Slot wanted = slot_for(text, hash, 0);
    for (std::size_t i = first_slot(hash); slots_[i].next_id != 0; i = (i + 1) & (slots_.size() - 1)) {
      if (is_same(slots_[i], wanted, text, text_of)) return slots_[i].next_id - 1;
    }
    return std::nullopt;
  }

  // Has what find() reads fetched.
  void fetch(std::uint64_t hash) const {
    if (slots_.size() != 0) prefetch(&slots_[first_slot(hash)]);
  }

 private:
  struct alignas(32) Slot {
    WordKey key;  // of a short token; of a long one its hash, and no length
    Id next_id;   // the id and one; 0 where the slot is free
  };

  static Slot slot_for(Bytes text, std::uint64_t hash, Id id) {
    if (text.size() > kShortWord) return {{hash, 0}, id + 1};
    Byte padded[kKeyPadding] = {};
    std::copy(text.begin(), text.end(), padded);
    return {short_key(padded, text.size()), id + 1};
  }

  template <class TextOf>
  static bool is_same(const Slot& slot, const Slot& wanted, Bytes text, TextOf text_of) {
    return slot.key == wanted.key && (wanted.key.high != 0 || std::ranges::equal(text_of(slot.next_id - 1), text));
  }

  std::size_t first_slot(std::uint64_t hash) const { return static_cast<std::size_t>(hash) & (slots_.size() - 1); }

  ZeroedTable<Slot> slots_;
};

}  // namespace tokbench
