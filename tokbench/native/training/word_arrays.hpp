// Counted words in arrays: the concatenated bytes, offsets and counts.
#pragma once

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/utf8.hpp"
#include "pretoken_counts.hpp"

namespace tokbench {

// Word i is data[offsets[i]:offsets[i + 1]].
struct WordArrays {
  std::vector<Byte> data;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> counts;
};

namespace word_order {

struct Place {
  std::uint64_t head;  // the first eight bytes in big-endian order, padded with zeros
  std::size_t start;
  std::size_t size;
  std::int64_t count;
};

inline std::uint64_t head_of(Bytes word) {
  std::uint64_t head = 0;
  for (std::size_t i = 0; i < 8; ++i) head = head << 8 | (i < word.size() ? word[i] : 0);
  return head;
}

// Sorts by heads with a radix sort, least significant byte first. Counts all digits in one pass, since they do not depend on
// the order.
inline void sort_by_head(std::vector<Place>& places) {
  constexpr unsigned kDigits = 8;
  const auto digit = [](const Place& place, unsigned i) { return place.head >> 8 * i & 0xFF; };
  std::size_t counts[kDigits][256] = {};
  for (const Place& place : places) {
    for (unsigned i = 0; i < kDigits; ++i) ++counts[i][digit(place, i)];
  }
  std::vector<Place> sorted(places.size());
  for (unsigned i = 0; i < kDigits; ++i) {
    std::size_t before = 0;
    for (std::size_t& count : counts[i]) before += std::exchange(count, before);
    for (const Place& place : places) sorted[counts[i][digit(place, i)]++] = place;
    places.swap(sorted);
  }
}

// Sorts by all bytes of the words, which are in `bytes`.
inline void sort_by_bytes(std::vector<Place>& places, const std::vector<Byte>& bytes) {
  const auto text_of = [&](const Place& place) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()) + place.start, place.size);
  };
  sort_by_head(places);
  for (auto first = places.begin(); first != places.end();) {
    const auto last = std::find_if(first, places.end(), [&](const Place& place) { return place.head != first->head; });
    std::sort(first, last, [&](const Place& a, const Place& b) { return text_of(a) < text_of(b); });
    first = last;
  }
}

}  // namespace word_order

// The words of parts [first, last), sorted by their bytes.
inline WordArrays sorted_arrays(const PretokenCounts& words, std::size_t first, std::size_t last) {
  using word_order::Place;
  std::vector<Byte> bytes;
  std::vector<Place> places;
  places.reserve(words.size_of(first, last));
  for (std::size_t part = first; part < last; ++part) {
    words.for_each_in(part, [&](Bytes word, std::int64_t count) {
      places.push_back({word_order::head_of(word), bytes.size(), word.size(), count});
      bytes.insert(bytes.end(), word.begin(), word.end());
    });
  }
  word_order::sort_by_bytes(places, bytes);
  WordArrays sorted;
  sorted.data.reserve(bytes.size());
  sorted.offsets.reserve(places.size() + 1);
  sorted.counts.reserve(places.size());
  sorted.offsets.push_back(0);
  for (const Place& place : places) {
    const auto start = bytes.begin() + static_cast<std::ptrdiff_t>(place.start);
    sorted.data.insert(sorted.data.end(), start, start + static_cast<std::ptrdiff_t>(place.size));
    sorted.offsets.push_back(static_cast<std::int64_t>(sorted.data.size()));
    sorted.counts.push_back(place.count);
  }
  return sorted;
}

// Validates arrays from elsewhere. Throws std::invalid_argument for a word that is empty or not UTF-8, or a count below 1.
inline void check_arrays(Bytes data, std::span<const std::int64_t> offsets, std::span<const std::int64_t> counts) {
  if (offsets.size() != counts.size() + 1) throw std::invalid_argument("there must be one offset more than counts");
  const auto refuse = [](std::size_t i, const char* reason) {
    throw std::invalid_argument("word " + std::to_string(i) + " " + reason);
  };
  if (offsets[0] < 0) throw std::invalid_argument("an offset is negative");
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (offsets[i + 1] < offsets[i] || static_cast<std::size_t>(offsets[i + 1]) > data.size()) refuse(i, "ends where no word can");
    if (offsets[i + 1] == offsets[i]) refuse(i, "is empty");
    if (counts[i] < 1) refuse(i, "has a count below 1");
  }
  if (counts.empty()) return;
  // Validates the concatenation first, which is fast: if it is UTF-8 and no word starts within a character, every word is
  // UTF-8.
  const auto begin = static_cast<std::size_t>(offsets.front());
  const bool are_whole = std::all_of(offsets.begin(), offsets.end() - 1, [&](std::int64_t start) { return !is_continuation(data[static_cast<std::size_t>(start)]); });
  if (are_whole && !first_invalid(data.subspan(begin, static_cast<std::size_t>(offsets.back()) - begin))) return;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto start = static_cast<std::size_t>(offsets[i]);
    if (first_invalid(data.subspan(start, static_cast<std::size_t>(offsets[i + 1]) - start))) refuse(i, "is not UTF-8");
  }
}

// Calls sink(bytes, count) for each word of validated arrays, and ahead(bytes) some words earlier, for prefetching.
template <class Sink, class Ahead>
void for_each_word(Bytes data, std::span<const std::int64_t> offsets, std::span<const std::int64_t> counts, Sink sink, Ahead ahead) {
  constexpr std::size_t kAhead = 16;
  const auto word = [&](std::size_t i) {
    const auto start = static_cast<std::size_t>(offsets[i]);
    return data.subspan(start, static_cast<std::size_t>(offsets[i + 1]) - start);
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (i + kAhead < counts.size()) ahead(word(i + kAhead));
    sink(word(i), counts[i]);
  }
}

// The same without prefetching.
template <class Sink>
void for_each_word(Bytes data, std::span<const std::int64_t> offsets, std::span<const std::int64_t> counts, Sink sink) {
  for_each_word(data, offsets, counts, sink, [](Bytes) {});
}

}  // namespace tokbench
