// An entry of the word store: the key of a short word, and its ids.
#pragma once

#include <atomic>
#include <cstring>
#include <span>

#include "common/word_key.hpp"
#include "id.hpp"

namespace tokbench {

// Threads may read an entry while another one writes it. They compare its first two 64-bit words, of which the second is written
// last, and read the ids only if these match.
class WordEntry {
 public:
  static constexpr std::size_t kMaxIds = 4;       // number of ids that fit into an entry
  static constexpr std::size_t kElsewhere = 15;   // count of an entry that holds a pointer to its ids instead
  static constexpr unsigned kCountShift = 60;
  static constexpr std::uint64_t kKeyMask = (std::uint64_t{1} << kCountShift) - 1;

  // The top byte of `high` holds the number of ids (upper 4 bits) and the length of the word (lower 4 bits); 0: the entry is free.
  std::uint64_t low() const { return low_.load(std::memory_order_relaxed); }
  std::uint64_t high() const { return high_.load(std::memory_order_acquire); }
  std::uint64_t relaxed_high() const { return high_.load(std::memory_order_relaxed); }

  // The ids of an entry that is known to be complete.
  std::size_t count() const { return relaxed_high() >> kCountShift; }
  const Id* few() const { return ids_; }
  std::span<const Id> many() const {
    const Id* first;
    std::uint64_t count;
    std::memcpy(&first, ids_, sizeof first);
    std::memcpy(&count, ids_ + 2, sizeof count);
    return {first, static_cast<std::size_t>(count)};
  }

  std::span<const Id> all() const { return count() == kElsewhere ? many() : std::span(ids_, count()); }

  // Whether an entry with this second word is complete, rather than free or claimed.
  static bool is_written(std::uint64_t high) { return high > kClaimed; }

  // Claims a free entry; returns false if it is taken, perhaps by another thread just now.
  bool claim() {
    if (relaxed_high() != 0) return false;  // cheaper than a failed compare-and-swap
    std::uint64_t free = 0;
    return high_.compare_exchange_strong(free, kClaimed, std::memory_order_relaxed);
  }

  // Writes a claimed entry. If there are more than kMaxIds ids, they are not copied and must stay valid.
  void write(const WordKey& key, std::span<const Id> ids) {
    if (ids.size() > kMaxIds) return write_many(key, ids);
    std::memcpy(ids_, ids.data(), ids.size_bytes());
    publish(key, ids.size());
  }

  // Writes a pointer to the ids, whatever their number.
  void write_many(const WordKey& key, std::span<const Id> ids) {
    const Id* const first = ids.data();
    const std::uint64_t count = ids.size();
    static_assert(sizeof first <= 2 * sizeof(Id) && sizeof count == 2 * sizeof(Id));
    std::memcpy(ids_, &first, sizeof first);
    std::memcpy(ids_ + 2, &count, sizeof count);
    publish(key, kElsewhere);
  }

 private:
  static constexpr std::uint64_t kClaimed = 1;  // differs from every key, because no key has length 0

  void publish(const WordKey& key, std::uint64_t count) {
    low_.store(key.low, std::memory_order_relaxed);
    high_.store(key.high | count << kCountShift, std::memory_order_release);
  }

  std::atomic<std::uint64_t> low_;
  std::atomic<std::uint64_t> high_;
  Id ids_[kMaxIds];
};

}  // namespace tokbench
