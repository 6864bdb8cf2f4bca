// Splits text into groups of words to be looked up, each with its key, and prefetches their table entries.
//
// Keys are computed and cache lines prefetched in the loop that splits, which thereby overlaps computation with memory latency.
// Doing it afterwards, from a list of words, made encoding known words 8 % slower.
#pragma once

#include "common/byte_classes.hpp"
#include "common/compiler.hpp"
#include "whole_tokens.hpp"
#include "word_store.hpp"

namespace tokbench {

// Calls sink(start, stop) for each word from `p` on, until the sink has no room for another block or the text ends; returns where
// to continue. Requires p < end; reads nothing from `end` on. Refers to its state, if it has one.
template <class Sink>
class SplitInto {
 public:
  using Function = const Byte* (*)(const Byte* p, const Byte* end, Sink& sink);
  using FunctionOfState = const Byte* (*)(const void* state, const Byte* p, const Byte* end, Sink& sink);

  SplitInto(Function function) : function_(function) {}  // NOLINT: implicit on purpose
  SplitInto(FunctionOfState function, const void* state) : of_state_(function), state_(state) {}

  TOKBENCH_ALWAYS_INLINE const Byte* operator()(const Byte* p, const Byte* end, Sink& sink) const {
    if (of_state_ == nullptr) [[likely]] return function_(p, end, sink);
    return of_state_(state_, p, end, sink);
  }

 private:
  Function function_ = nullptr;
  FunctionOfState of_state_ = nullptr;
  const void* state_ = nullptr;
};

inline constexpr std::size_t kEnoughPretokens = 64;
inline constexpr std::size_t kMostPretokens = kEnoughPretokens + kBlock;

// A word to be looked up. A short word is represented by its key, and has the set that may hold it. A long word has length 0 in
// its key, which matches no entry; the key then holds its real length and its hash.
struct TextWord {
  WordKey key;
  const WordStore::Set* set;
  const Byte* start;

  std::size_t short_length() const { return key.high >> 56; }
  bool is_short() const { return short_length() != 0; }
  Bytes bytes() const { return {start, is_short() ? short_length() : key.high}; }
  std::uint64_t hash() const { return is_short() ? hash_of(key) : key.low; }
};

// The sink that stores words as TextWord, and prefetches the sets and buckets that may hold them.
struct TextWords {
  TextWord* next;
  const TextWord* enough;
  const Byte* end;  // end of the text
  WordStore::TableView tables;
  const TextWord** next_long;  // where the next long word is recorded

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
  // Texts have no padding, so near their end the key is read from a padded copy.
  WordKey key_of(const Byte* start, std::size_t length) const {
    if (static_cast<std::size_t>(end - start) >= kKeyPadding) [[likely]] return short_key(start, length);
    Byte padded[kKeyPadding] = {};
    std::copy(start, start + length, padded);
    return short_key(padded, length);
  }
};

using SplitWords = SplitInto<TextWords>;

}  // namespace tokbench
