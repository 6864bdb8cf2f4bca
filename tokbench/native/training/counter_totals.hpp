// What a counter reports and checks besides counts: the amount read, the first invalid UTF-8, and overflow of sums.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "common/utf8.hpp"

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

// The offset of the first invalid byte of a source; sources are numbered in the order in which they started.
struct InvalidByte {
  std::size_t source;
  std::uint64_t offset;
  friend auto operator<=>(const InvalidByte&, const InvalidByte&) = default;
};

// The total size of pre-tokens that were counted elsewhere. No count exceeds the number of bytes of all text.
class CountedBytes {
 public:
  void add(Bytes pretoken, std::int64_t count) {
    const auto size = static_cast<std::int64_t>(std::max<std::size_t>(pretoken.size(), 1));
    if (count > (kMost - total_) / size) throw std::invalid_argument("the counts are too large together");
    total_ += count * size;
  }

 private:
  static constexpr std::int64_t kMost = std::int64_t{1} << 62;

  std::int64_t total_ = 0;
};

}  // namespace tokbench
