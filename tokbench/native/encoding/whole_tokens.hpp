// A hash table from the bytes of a pre-token to its id, for pre-tokens that become a single token.
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

// The hash of a pre-token; for a short one, the hash of its key.
inline std::uint64_t hash_of(const WordKey& key) { return hash_words(key.low, key.high, 0); }

inline std::uint64_t hash_of_long(Bytes bytes) { return hash_bytes(bytes, 1); }

inline std::uint64_t hash_of(Bytes bytes) {
  if (bytes.size() > kShortWord) return hash_of_long(bytes);
  Byte padded[kKeyPadding] = {};
  std::copy(bytes.begin(), bytes.end(), padded);
  return hash_of(short_key(padded, bytes.size()));
}

// The same, for bytes that are followed by kKeyPadding readable bytes.
inline std::uint64_t hash_of_padded(Bytes bytes) {
  return bytes.size() > kShortWord ? hash_of_long(bytes) : hash_of(short_key(bytes.data(), bytes.size()));
}

// The table stores the bytes of short tokens only; `TextOf` returns those of an id. Looking all of them up in the vocabulary's
// text took three dependent memory accesses, a fifth of a first pass over English.
class WholeTokens {
 public:
  WholeTokens() = default;
  explicit WholeTokens(std::size_t expected) : slots_(std::bit_ceil(std::max<std::size_t>(expected * 2, 2))) {}

  // Inserts a token unless one with the same bytes exists; returns whether it was inserted. The table does not grow beyond the
  // expected number of tokens.
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

  // Prefetches the memory that find() reads.
  void fetch(std::uint64_t hash) const {
    if (slots_.size() != 0) prefetch(&slots_[first_slot(hash)]);
  }

 private:
  struct alignas(32) Slot {
    WordKey key;  // key of a short token; for a long one its hash, with length 0
    Id next_id;   // id + 1; 0 if the slot is free
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
