// Text → words to be looked up, some at a time: each with its key, and on the way to it what the memory has.
//
// Keys are made and cache lines are prefetched in the loop that splits: it computes while memory answers. Made from a list of
// words afterwards, those that had all been seen took 8 % longer to encode.
#pragma once

#include "common/byte_classes.hpp"
#include "common/compiler.hpp"
#include "whole_tokens.hpp"
#include "word_store.hpp"

namespace tokbench {

// Gives the words from `p` on to the sink, until it has no room for those of another block or the text ends; returns where
// to go on. The sink is called with where a word begins and where it ends. p < end, and nothing from `end` on is read.
template <class Sink>
using SplitInto = const Byte* (*)(const Byte* p, const Byte* end, Sink& sink);

inline constexpr std::size_t kEnoughPretokens = 64;
inline constexpr std::size_t kMostPretokens = kEnoughPretokens + kBlock;

// A short one is its key, and has a set where it may be remembered. A longer one has length 0 in its key, as
// no entry has, and its own length and hash there.
struct TextWord {
  WordKey key;
  const WordStore::Set* set;
  const Byte* start;

  std::size_t short_length() const { return key.high >> 56; }
  bool is_short() const { return short_length() != 0; }
  Bytes bytes() const { return {start, is_short() ? short_length() : key.high}; }
  std::uint64_t hash() const { return is_short() ? hash_of(key) : key.low; }
};

// The sink that makes words of words, and prefetches the sets and buckets that may hold them.
struct TextWords {
  TextWord* next;
  const TextWord* enough;
  const Byte* end;  // of the text
  WordStore::TableView tables;
  const TextWord** next_long;  // where the next long one is noted

  TOKBENCH_ALWAYS_INLINE void operator()(const Byte* start, const Byte* stop) {
    const auto length = static_cast<std::size_t>(stop - start);
    next->start = start;
    if (length <= kShortWord) [[likely]] {
      next->key = key_of(start, length);
      next->set = tables.set_of(hash_of(next->key));
      prefetch(next->set);
    } else {
      next->key = {hash_of_long({start, length}), length};
      next->set = tables.first_set;
      prefetch(tables.bucket_of(next->key.low));
      *next_long++ = next;
    }
    ++next;
  }
  bool has_room() const { return next < enough; }

 private:
  // Texts come from outside without padding: near their end the key is read from a copy.
  WordKey key_of(const Byte* start, std::size_t length) const {
    if (static_cast<std::size_t>(end - start) >= kKeyPadding) [[likely]] return short_key(start, length);
    Byte padded[kKeyPadding] = {};
    std::copy(start, start + length, padded);
    return short_key(padded, length);
  }
};

using SplitWords = SplitInto<TextWords>;

}  // namespace tokbench
