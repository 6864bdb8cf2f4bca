// What is remembered of a pre-token: its key where it is short, and its ids.
#pragma once

#include <atomic>
#include <cstring>
#include <span>

#include "common/word_key.hpp"
#include "id.hpp"

namespace tokbench {

// Threads may read an entry while another one writes it: what they go by are its first two words, of which the
// second is written last. The ids are read by those who know that it was.
class WordEntry {
 public:
  static constexpr std::size_t kMaxIds = 4;       // that an entry holds itself
  static constexpr std::size_t kElsewhere = 15;   // the count of one that says where its ids are
  static constexpr unsigned kCountShift = 60;
  static constexpr std::uint64_t kKeyMask = (std::uint64_t{1} << kCountShift) - 1;

  // The top byte of `high`: the length of the word, and above it the number of ids. 0 of an entry that is free.
  std::uint64_t low() const { return low_.load(std::memory_order_relaxed); }
  std::uint64_t high() const { return high_.load(std::memory_order_acquire); }
  std::uint64_t relaxed_high() const { return high_.load(std::memory_order_relaxed); }

  // Ids of an entry that is known to be written.
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

  // Whether the entry of this second word is more than claimed.
  static bool is_written(std::uint64_t high) { return high > kClaimed; }

  // Takes a free entry; another thread may have been faster.
  bool claim() {
    if (relaxed_high() != 0) return false;  // at the price of a glance
    std::uint64_t free = 0;
    return high_.compare_exchange_strong(free, kClaimed, std::memory_order_relaxed);
  }

  // Writes an entry that nobody else writes. Where there are many ids, they must stay where they are.
  void write(const WordKey& key, std::span<const Id> ids) {
    if (ids.size() > kMaxIds) return write_many(key, ids);
    std::memcpy(ids_, ids.data(), ids.size_bytes());
    publish(key, ids.size());
  }

  // Writes where the ids are, few or many.
  void write_many(const WordKey& key, std::span<const Id> ids) {
    const Id* const first = ids.data();
    const std::uint64_t count = ids.size();
    static_assert(sizeof first <= 2 * sizeof(Id) && sizeof count == 2 * sizeof(Id));
    std::memcpy(ids_, &first, sizeof first);
    std::memcpy(ids_ + 2, &count, sizeof count);
    publish(key, kElsewhere);
  }

 private:
  static constexpr std::uint64_t kClaimed = 1;  // the length of no key is 0

  void publish(const WordKey& key, std::uint64_t count) {
    low_.store(key.low, std::memory_order_relaxed);
    high_.store(key.high | count << kCountShift, std::memory_order_release);
  }

  std::atomic<std::uint64_t> low_;
  std::atomic<std::uint64_t> high_;
  Id ids_[kMaxIds];
};

}  // namespace tokbench
