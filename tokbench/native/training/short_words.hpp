// Distinct pre-tokens of up to 255 symbols while they are merged: count, length and symbols side by side.
//
// A record is its count (32 bits, or where to find a larger one), its room and its length, and then
// its symbols, which are merged in place. A posting is where a record begins: to merge a pair there,
// its few symbols are simply looked through, in the cache line that had to be fetched anyway.
//
// Postings have 32 bits. For words beyond that, records begin at every kStep-th unit alone, and a posting counts steps:
// that costs a word some units between records, where postings of 64 bits would cost four bytes for each of its pairs.
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

// The words come in two halves, as two threads look through them.
enum class Half : std::uint8_t { First, Second };

template <class Symbol, std::size_t kStep = 1>
class ShortWords {
 public:
  static constexpr std::size_t kMostSymbols = 255;
  static constexpr std::size_t kMostSteps = std::size_t{1} << 31;
  static constexpr Posting kPostingsEnd = kMostSteps;  // no record begins here or after

  // That a word of this many symbols takes.
  static constexpr std::size_t units_of(std::size_t size) { return (kHeaderUnits + size + kStep - 1) / kStep * kStep; }

  void reserve(std::size_t units) { units_.reserve(units + kSlack); }

  // A pre-token of 2 to kMostSymbols symbols, or of as many bytes, each a symbol.
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

  // Calls sink(symbols, count, posting) for each word of one half that is not one symbol yet.
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

  // Drops words that are one symbol and the room that others have gained; postings are void then.
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

  // Merges the pair wherever it stands in the words of these postings, left to right, and notes its
  // neighbours. Returns the sum of the counts of what was merged.
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
  static constexpr std::uint32_t kLargeCount = 0x80000000u;  // the rest is a place in large_counts_

  static std::size_t start_of(Posting posting) { return std::size_t{posting} * kStep; }

  std::int64_t merge_word(Symbol left, Symbol right, Symbol made, Posting posting, Neighbours<Symbol>& left_side,
                          Neighbours<Symbol>& right_side) {
    const std::size_t start = start_of(posting);
    Symbol* const symbols = &units_[start + kHeaderUnits];
    const std::size_t size = length(start);
    // Both symbols are compared at once: half the branches, and only one of them is hard to foresee.
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
      // Of two that are merged side by side, the right one notes the left one. What is read before the first symbol and
      // after the last is not noted.
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

  // Most records reach into a second cache line.
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
  std::size_t middle_ = 0;  // where the second half begins
};

}  // namespace tokbench
