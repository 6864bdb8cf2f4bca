// The pre-token counts of all threads, partitioned by the upper bits of the hash; each partition has a lock.
#pragma once

#include <memory>
#include <mutex>

#include "pretoken_table.hpp"

namespace tokbench {

// Each thread counts into a small table of its own, which keeps frequent pre-tokens in its cache, and empties it into this one
// when it is full. So each distinct pre-token is stored about once, nothing needs joining at the end, and threads contend only
// when they empty into the same partition.
class PretokenCounts {
 public:
  explicit PretokenCounts(std::uint64_t seed) {
    for (auto& partition : partitions_) partition = std::make_unique<Partition>(seed);
  }

  // Adds the counts of a table with the same seed, and empties it.
  void take(PretokenTable& table) {
    std::unique_lock<std::mutex> lock;
    const Partition* locked = nullptr;
    table.for_each_entry(
        [&](const PretokenTable::Entry& entry) {
          Partition& partition = partition_of(entry.hash);
          if (&partition != locked) {
            lock = {};  // release before taking the next: no thread waits for a lock while holding one
            lock = std::unique_lock(partition.mutex);
            locked = &partition;
          }
          partition.table.add(entry);
        },
        [&](std::uint64_t hash) {
          if (const Partition& partition = partition_of(hash); &partition == locked) partition.table.prefetch(hash);
        });
    if (lock) lock.unlock();
    table.clear();
  }

  // Adds a pre-token that was counted elsewhere, if its part is in [first, last). It goes straight into its partition, whose
  // slots depend on other bits of the hash, so that pre-tokens of a single part do not cluster.
  void add(Bytes pretoken, std::int64_t count, std::size_t first = 0, std::size_t last = kParts) {
    const PretokenTable::Entry entry = partitions_[0]->table.entry_of(pretoken, count);
    const std::size_t part = part_of(entry.hash);
    if (part < first || part >= last) return;
    const std::lock_guard lock(partitions_[part]->mutex);
    partitions_[part]->table.add(entry);
  }

  // Prefetches the memory that add() with these arguments reads. Not to be called while other threads fill the tables.
  void prefetch(Bytes pretoken, std::size_t first, std::size_t last) const {
    const std::uint64_t hash = partitions_[0]->table.entry_of(pretoken, 0).hash;
    const std::size_t part = part_of(hash);
    if (part < first || part >= last) return;
    const std::unique_lock lock(partitions_[part]->mutex, std::try_to_lock);
    if (lock) partitions_[part]->table.prefetch(hash);
  }

  // Clears all counts and frees their memory.
  void clear() {
    for (auto& partition : partitions_) {
      const std::lock_guard lock(partition->mutex);
      partition->table.release();
    }
  }

  // The number of bytes that the tables take; approximate while threads count.
  std::size_t memory() const {
    std::size_t total = 0;
    for (const auto& partition : partitions_) {
      const std::lock_guard lock(partition->mutex);
      total += partition->table.memory();
    }
    return total;
  }

  // The functions below must not be called while threads still count.

  template <class Sink>
  void for_each(Sink sink) const {
    for (const auto& partition : partitions_) partition->table.for_each(sink);
  }

  // The same, but frees each partition after it was read.
  template <class Sink>
  void take_each(Sink sink) {
    for (const auto& partition : partitions_) {
      partition->table.for_each(sink);
      partition->table.release();
    }
  }

  // The same by parts, which different threads may process.
  static constexpr unsigned kPartitionBits = 6;
  static constexpr std::size_t kParts = std::size_t{1} << kPartitionBits;
  template <class Sink>
  void for_each_in(std::size_t part, Sink sink) const {
    partitions_[part]->table.for_each(sink);
  }

  std::size_t size() const { return size_of(0, kParts); }

  // The number of pre-tokens in parts [first, last).
  std::size_t size_of(std::size_t first, std::size_t last) const {
    std::size_t total = 0;
    for (std::size_t part = first; part < last; ++part) total += partitions_[part]->table.size();
    return total;
  }

 private:
  struct alignas(64) Partition {
    explicit Partition(std::uint64_t seed) : table(seed, kPartitionBits) {}
    mutable std::mutex mutex;
    PretokenTable table;
  };

  static std::size_t part_of(std::uint64_t hash) { return hash >> (64 - kPartitionBits); }
  Partition& partition_of(std::uint64_t hash) { return *partitions_[part_of(hash)]; }

  std::unique_ptr<Partition> partitions_[kParts];
};

}  // namespace tokbench
