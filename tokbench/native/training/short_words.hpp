// The distinct pre-tokens of up to 255 symbols during merging, as records of count, length and symbols.
//
// A record consists of its count (32 bits, or an index to a larger one), its capacity, its length and its symbols, which are
// merged in place. A posting is the position of a record: to merge a pair, the few symbols of the record are scanned, in the
// cache line that had to be fetched anyway.
//
// Postings have 32 bits. For more words than they can address, records start at multiples of kStep units, and a posting counts
// steps. That wastes some units per word; postings of 64 bits would cost four more bytes per pair.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "common/big_pages.hpp"
#include "common/compiler.hpp"
#include "neighbours.hpp"

namespace tokbench {

inline constexpr std::size_t kWideStep = 8;

// The words are divided into two halves, one for each of two threads.
enum class Half : std::uint8_t { First, Second };

template <class Symbol, std::size_t kStep = 1>
class ShortWords {
 public:
  static constexpr std::size_t kMostSymbols = 255;
  static constexpr std::size_t kMostSteps = std::size_t{1} << 31;
  static constexpr Posting kPostingsEnd = kMostSteps;  // greater than every posting

  // The number of units for a word of `size` symbols.
  static constexpr std::size_t units_of(std::size_t size) { return (kHeaderUnits + size + kStep - 1) / kStep * kStep; }

  void reserve(std::size_t units) { units_.reserve(units + kSlack); }

  // Adds a pre-token of 2 to kMostSymbols symbols, or of bytes that are symbols.
  template <class Unit>
  void add(std::span<const Unit> word, std::int64_t count) {
    const std::size_t start = units_.size();
    if ((start + units_of(word.size())) / kStep >= kPostingsEnd) throw std::length_error("too many distinct pre-tokens");
    units_.resize(start + units_of(word.size()));
    if (start < units_.capacity() / 2) middle_ = units_.size();
    set_count(start, count);
    set_sizes(start, word.size(), word.size());
    Symbol* const symbols = &units_[start + kHeaderUnits];
    for (std::size_t i = 0; i < word.size(); ++i) symbols[i] = static_cast<Symbol>(word[i]);
  }

  // Calls sink(symbols, count, posting) for each word of one half that still has several symbols.
  template <class Sink>
  void for_each(Half half, Sink sink) const {
    const std::size_t end = half == Half::First ? middle_ : units_.size();
    for (std::size_t start = half == Half::First ? 0 : middle_; start < end; start += units_of(room(start))) {
      const auto posting = static_cast<Posting>(start / kStep);
      if (length(start) > 1) sink(symbols_of(posting), count(start), posting);
    }
  }

  std::span<const Symbol> symbols_of(Posting posting) const {
    const std::size_t start = start_of(posting);
    return {&units_[start + kHeaderUnits], length(start)};
  }
  std::int64_t count_of(Posting posting) const { return count(start_of(posting)); }

  // Removes words that have become one symbol, and the unused capacity of others. Invalidates postings.
  void compact() {
    std::size_t end = 0;
    const std::size_t old_middle = middle_;
    for (std::size_t start = 0, next; start < units_.size(); start = next) {
      if (start == old_middle) middle_ = end;
      next = start + units_of(room(start));
      const std::size_t size = length(start);
      if (size < 2) continue;
      std::memmove(&units_[end], &units_[start], (kHeaderUnits + size) * sizeof(Symbol));
      set_sizes(end, size, size);
      end += units_of(size);
    }
    units_.resize(end);
    middle_ = std::min(middle_, end);
  }

  // Merges all occurrences of the pair in the words of these postings, left to right, and records their neighbours. Returns the
  // number of occurrences, weighted by the counts of words.
  std::int64_t merge(Symbol left, Symbol right, Symbol made, std::span<const Posting> postings,
                     Neighbours<Symbol>& left_side, Neighbours<Symbol>& right_side) {
    std::int64_t merged = 0;
    for (std::size_t i = 0; i < postings.size(); ++i) {
      if (i + kAhead < postings.size()) prefetch_word(postings[i + kAhead]);
      merged += merge_word(left, right, made, postings[i], left_side, right_side);
    }
    return merged;
  }

 private:
  static constexpr std::size_t kCountUnits = 4 / sizeof(Symbol);
  static constexpr std::size_t kHeaderUnits = kCountUnits + 1;
  static constexpr std::size_t kSlack = 16;
  static constexpr std::size_t kAhead = 16;
  static constexpr std::size_t kUnitsOfLine = 64 / sizeof(Symbol);
  static constexpr std::uint32_t kLargeCount = 0x80000000u;  // flag: the other bits are an index into large_counts_

  static std::size_t start_of(Posting posting) { return std::size_t{posting} * kStep; }

  std::int64_t merge_word(Symbol left, Symbol right, Symbol made, Posting posting, Neighbours<Symbol>& left_side,
                          Neighbours<Symbol>& right_side) {
    const std::size_t start = start_of(posting);
    Symbol* const symbols = &units_[start + kHeaderUnits];
    const std::size_t size = length(start);
    // Compares both symbols at once: half the branches, of which only one is hard to predict.
    const Two wanted = two_at(std::array{left, right}.data());
    const auto matches = [&](std::size_t i) { return i + 1 < size && two_at(symbols + i) == wanted; };
    std::size_t from = 0;
    while (from + 1 < size && two_at(symbols + from) != wanted) ++from;
    if (from + 1 >= size) return 0;
    const std::int64_t times = count(start);
    std::int64_t merged = 0;
    std::size_t to = from;
    while (from < size) {
      if (!matches(from)) {
        symbols[to++] = symbols[from++];
        continue;
      }
      left_side.note(symbols[to - 1], to > 0, times, posting);
      symbols[to++] = made;
      from += 2;
      // Of two adjacent occurrences, the right one records the left one. The units read before the first symbol and after the
      // last one are not recorded.
      right_side.note(symbols[from], from < size && !matches(from), times, posting);
      merged += times;
    }
    set_sizes(start, room(start), to);
    return merged;
  }

  using Two = std::conditional_t<sizeof(Symbol) == 2, std::uint32_t, std::uint64_t>;
  static Two two_at(const Symbol* symbols) {
    Two two;
    std::memcpy(&two, symbols, sizeof two);
    return two;
  }

  // Prefetches two cache lines, because most records extend into a second one.
  void prefetch_word(Posting posting) const {
    const Symbol* const record = &units_[start_of(posting)];
    prefetch(record);
    prefetch(record + kUnitsOfLine);
  }

  std::int64_t count(std::size_t start) const {
    std::uint32_t stored;
    std::memcpy(&stored, &units_[start], 4);
    return stored < kLargeCount ? stored : large_counts_[stored - kLargeCount];
  }
  void set_count(std::size_t start, std::int64_t count) {
    std::uint32_t stored = static_cast<std::uint32_t>(count);
    if (count >= std::int64_t{kLargeCount}) {
      stored = kLargeCount + static_cast<std::uint32_t>(large_counts_.size());
      large_counts_.push_back(count);
    }
    std::memcpy(&units_[start], &stored, 4);
  }

  std::size_t room(std::size_t start) const { return units_[start + kCountUnits] >> 8; }
  std::size_t length(std::size_t start) const { return units_[start + kCountUnits] & 0xFFu; }
  void set_sizes(std::size_t start, std::size_t room, std::size_t length) {
    units_[start + kCountUnits] = static_cast<Symbol>(room << 8 | length);
  }

  std::vector<Symbol, BigPages<Symbol>> units_;
  std::vector<std::int64_t> large_counts_;
  std::size_t middle_ = 0;  // the start of the second half
};

}  // namespace tokbench
