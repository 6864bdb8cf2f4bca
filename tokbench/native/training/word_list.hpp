// A list of distinct words that were counted elsewhere. It takes little more memory than their bytes, and is all that merging
// needs.
#pragma once

#include <vector>

#include "counter_totals.hpp"
#include "word_arrays.hpp"

namespace tokbench {

class WordList {
 public:
  // Adds `count` > 0 occurrences of a word that was not added before.
  void add(Bytes word, std::int64_t count) {
    counted_bytes_.add(word, count);
    Byte header[2 * kMostVarintBytes];
    std::size_t size = put(word.size(), header);
    size += put(static_cast<std::uint64_t>(count), header + size);
    std::vector<Byte>& block = block_with_room(size + word.size());
    block.insert(block.end(), header, header + size);
    block.insert(block.end(), word.begin(), word.end());
    size_ += 1;
  }

  void add_totals(const CounterTotals& totals) { totals_.add(totals); }
  const CounterTotals& totals() const { return totals_; }

  // Calls sink(bytes, count) for each word in the order of addition.
  template <class Sink>
  void for_each(Sink sink) const {
    for (const std::vector<Byte>& block : blocks_) {
      for (const Byte* p = block.data(); p != block.data() + block.size();) {
        const auto length = static_cast<std::size_t>(get(p));
        const auto count = static_cast<std::int64_t>(get(p));
        sink(Bytes(p, length), count);
        p += length;
      }
    }
  }

  std::size_t size() const { return size_; }

  // The number of bytes that the list takes.
  std::size_t memory() const {
    std::size_t total = 0;
    for (const std::vector<Byte>& block : blocks_) total += block.capacity();
    return total;
  }

 private:
  static constexpr std::size_t kBlockBytes = 1 << 20;
  static constexpr std::size_t kMostVarintBytes = 10;

  // Blocks never grow, so that nothing is copied.
  std::vector<Byte>& block_with_room(std::size_t size) {
    if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < size) {
      blocks_.emplace_back().reserve(std::max(size, kBlockBytes));
    }
    return blocks_.back();
  }

  // Writes a varint: seven bits per byte, lowest first; the top bit says that more bytes follow.
  static std::size_t put(std::uint64_t value, Byte* bytes) {
    std::size_t size = 0;
    for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<Byte>(value | 0x80);
    bytes[size++] = static_cast<Byte>(value);
    return size;
  }

  static std::uint64_t get(const Byte*& p) {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const Byte byte = *p++;
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
  }

  std::vector<std::vector<Byte>> blocks_;
  std::size_t size_ = 0;
  CountedBytes counted_bytes_;
  CounterTotals totals_;
};

}  // namespace tokbench
