// What a counter tells beside its counts: how much it has read, and where a source is not UTF-8.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace tokbench {

struct CounterTotals {
  std::uint64_t documents = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pretokens = 0;
  void add(const CounterTotals& other) {
    documents += other.documents;
    bytes += other.bytes;
    pretokens += other.pretokens;
  }
};

// Where a source (numbered in the order in which they began) stops being UTF-8.
struct InvalidByte {
  std::size_t source;
  std::uint64_t offset;
  friend auto operator<=>(const InvalidByte&, const InvalidByte&) = default;
};

}  // namespace tokbench
