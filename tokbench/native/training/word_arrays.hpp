// Counted words in bulk: the bytes of all, where each begins and ends, and how often each occurs.
#pragma once

#include <bit>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/utf8.hpp"
#include "pretoken_counts.hpp"

namespace tokbench {

// Word number i is data(offsets[i], offsets[i + 1]).
struct WordArrays {
  std::vector<Byte> data;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> counts;
};

namespace word_order {

struct Place {
  std::uint64_t head;  // the first eight bytes, the first of them uppermost; zeros behind the end
  std::size_t start;
  std::size_t size;
  std::int64_t count;
};

inline std::uint64_t head_of(Bytes word) {
  std::uint64_t head = 0;
  for (std::size_t i = 0; i < 8; ++i) head = head << 8 | (i < word.size() ? word[i] : 0);
  return head;
}

}  // namespace word_order

// What is in the parts of counts from `first` to before `last`, sorted by bytes.
inline WordArrays sorted_arrays(const PretokenCounts& words, std::size_t first, std::size_t last) {
  using word_order::Place;
  std::vector<Byte> bytes;
  std::vector<Place> places;
  for (std::size_t part = first; part < last; ++part) {
    words.for_each_in(part, [&](Bytes word, std::int64_t count) {
      places.push_back({word_order::head_of(word), bytes.size(), word.size(), count});
      bytes.insert(bytes.end(), word.begin(), word.end());
    });
  }
  const auto text_of = [&](const Place& place) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data()) + place.start, place.size);
  };
  std::sort(places.begin(), places.end(), [&](const Place& a, const Place& b) {
    return a.head != b.head ? a.head < b.head : text_of(a) < text_of(b);
  });
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

// Arrays that came from elsewhere. Raises for a word that is empty, that is not UTF-8 or that occurs less than once.
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
    const auto start = static_cast<std::size_t>(offsets[i]);
    if (first_invalid(data.subspan(start, static_cast<std::size_t>(offsets[i + 1]) - start))) refuse(i, "is not UTF-8");
  }
}

// Calls sink(bytes, count) for each word of arrays that were checked.
template <class Sink>
void for_each_word(Bytes data, std::span<const std::int64_t> offsets, std::span<const std::int64_t> counts, Sink sink) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto start = static_cast<std::size_t>(offsets[i]);
    sink(data.subspan(start, static_cast<std::size_t>(offsets[i + 1]) - start), counts[i]);
  }
}

}  // namespace tokbench
