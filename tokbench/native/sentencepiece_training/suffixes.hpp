// A suffix array over all segments, with the lengths of common prefixes.
#pragma once

#include <bit>

#include "common/threads.hpp"
#include "segments.hpp"
#include "stopping.hpp"

namespace tokbench::sentencepiece {

// Suffixes are compared by their first characters only, one more than a piece may have.
class Suffixes {
 public:
  Suffixes(const Segments& segments, std::size_t longest, unsigned threads, const StopSign& sign)
      : segments_(segments), limit_(longest + 1), sign_(sign) {
    partition();
    const unsigned bits = std::max(1u, static_cast<unsigned>(std::bit_width(segments.alphabet.size() - 1)));
    per_key_ = 64 / bits;
    bits_ = bits;
    common_.resize(order_.size());
    Turns turns(by_size_.size());
    run_on(threads, [&] {
      std::vector<Keyed> room;
      for (std::size_t i; turns.take(i);) {
        const std::size_t first = firsts_[by_size_[i]], end = firsts_[by_size_[i] + 1];
        sort(first, end, 1, room);
        for (std::size_t k = first + 1; k < end; ++k) common_[k] = common_prefix(order_[k - 1], order_[k]);
      }
    });
  }

  std::size_t size() const { return order_.size(); }

  // The position in the codes of the suffix with a given rank.
  std::uint32_t position(std::size_t rank) const { return order_[rank]; }
  void forget_order() { order_ = std::vector<std::uint32_t>(); }

  // The length of the common prefix of a suffix and the one before it.
  std::uint16_t common(std::size_t rank) const { return common_[rank]; }
  void forget_common() { common_ = std::vector<std::uint16_t>(); }

  // The ranks of the suffixes that start with a code are [first(code), first(code + 1)).
  std::size_t first(std::size_t code) const { return firsts_[code]; }

 private:
  struct Keyed {
    std::uint64_t key;
    std::uint32_t position;
  };

  static constexpr std::size_t kFew = 12;

  // Distributes suffixes into buckets by their first character, each in the order of positions.
  void partition() {
    const Codes& codes = segments_.codes;
    firsts_.assign(segments_.alphabet.size() + 1, 0);
    for (std::size_t i = 0; i < codes.size(); ++i) firsts_[codes[i] + 1] += codes[i] != 0;
    for (std::size_t i = 1; i < firsts_.size(); ++i) firsts_[i] += firsts_[i - 1];
    order_.resize(firsts_.back());
    std::vector<std::size_t> next(firsts_.begin(), firsts_.end() - 1);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      if (codes[i] != 0) order_[next[codes[i]]++] = static_cast<std::uint32_t>(i);
    }
    for (std::size_t code = 1; code + 1 < firsts_.size(); ++code) by_size_.push_back(code);
    std::sort(by_size_.begin(), by_size_.end(), [&](std::size_t a, std::size_t b) {
      return firsts_[a + 1] - firsts_[a] > firsts_[b + 1] - firsts_[b];
    });
  }

  // Packs some characters from `depth` on into one number, up to the end of the segment.
  std::uint64_t key_at(std::uint32_t position, std::size_t depth) const {
    std::size_t i = position + depth;
    std::uint64_t key = 0;
    for (unsigned left = per_key_; left > 0; --left) {
      const std::uint32_t code = segments_.codes[i];
      key = key << bits_ | code;
      if (code != 0) ++i;
    }
    return key;
  }

  // Sorts the suffixes [first, end), which agree in their first `depth` characters and do not end there.
  void sort(std::size_t first, std::size_t end, std::size_t depth, std::vector<Keyed>& room) {
    if (end - first < 2 || depth >= limit_) return;
    sign_.check();
    if (end - first <= kFew) {
      std::sort(order_.begin() + static_cast<std::ptrdiff_t>(first), order_.begin() + static_cast<std::ptrdiff_t>(end),
                [&](std::uint32_t a, std::uint32_t b) { return is_before(a, b, depth); });
      return;
    }
    room.resize(end - first);
    for (std::size_t i = first; i < end; ++i) room[i - first] = {key_at(order_[i], depth), order_[i]};
    std::sort(room.begin(), room.end(), [](const Keyed& a, const Keyed& b) { return a.key < b.key; });
    std::vector<std::pair<std::size_t, std::size_t>> equal;
    const std::uint64_t last_code = (std::uint64_t{1} << bits_) - 1;
    for (std::size_t i = 0; i < room.size();) {
      std::size_t stop = i + 1;
      order_[first + i] = room[i].position;
      for (; stop < room.size() && room[stop].key == room[i].key; ++stop) order_[first + stop] = room[stop].position;
      if (stop - i > 1 && (room[i].key & last_code) != 0) equal.emplace_back(first + i, first + stop);
      i = stop;
    }
    for (const auto& [from, to] : equal) sort(from, to, depth + per_key_, room);
  }

  bool is_before(std::uint32_t a, std::uint32_t b, std::size_t depth) const {
    const Codes& codes = segments_.codes;
    for (; depth < limit_; ++depth) {
      const std::uint32_t one = codes[a + depth], other = codes[b + depth];
      if (one != other) return one < other;
      if (one == 0) break;
    }
    return false;
  }

  std::uint16_t common_prefix(std::uint32_t a, std::uint32_t b) const {
    const Codes& codes = segments_.codes;
    std::size_t depth = 1;
    while (depth < limit_ && codes[a + depth] == codes[b + depth] && codes[a + depth] != 0) ++depth;
    return static_cast<std::uint16_t>(depth);
  }

  const Segments& segments_;
  std::size_t limit_;
  const StopSign& sign_;
  unsigned bits_ = 1, per_key_ = 64;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint16_t> common_;
  std::vector<std::size_t> firsts_;   // by code
  std::vector<std::size_t> by_size_;  // codes, most frequent first
};

}  // namespace tokbench::sentencepiece
