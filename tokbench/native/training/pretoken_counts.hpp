// The counts of all threads together: partitions by the upper bits of the hash, each with a lock.
#pragma once

#include <memory>
#include <mutex>

#include "pretoken_table.hpp"

namespace tokbench {

// A thread counts into a small table of its own, where the frequent pre-tokens stay in its cache, and
// empties it in here when it is full. So each distinct pre-token is in memory once, nothing is left to
// be joined at the end, and two threads meet only where they empty into the same partition.
class PretokenCounts {
 public:
  explicit PretokenCounts(std::uint64_t seed) {
    for (auto& partition : partitions_) partition = std::make_unique<Partition>(seed);
  }

  // Adds what is in a table of the same seed, and empties it.
  void take(PretokenTable& table) {
    std::unique_lock<std::mutex> lock;
    const Partition* locked = nullptr;
    table.for_each_entry(
        [&](const PretokenTable::Entry& entry) {
          Partition& partition = partition_of(entry.hash);
          if (&partition != locked) {
            lock = {};  // before the next one is taken: nobody ever waits while holding one
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

  // Adds what was counted elsewhere, if it is in one of the parts from `first` to before `last`. It goes straight into its
  // partition, whose slots follow other bits of the hash: pre-tokens that have come from one part crowd no table.
  void add(Bytes pretoken, std::int64_t count, std::size_t first = 0, std::size_t last = kParts) {
    const PretokenTable::Entry entry = partitions_[0]->table.entry_of(pretoken, count);
    const std::size_t part = part_of(entry.hash);
    if (part < first || part >= last) return;
    const std::lock_guard lock(partitions_[part]->mutex);
    partitions_[part]->table.add(entry);
  }

  // Fetches what add() with the same arguments is going to look at, unless a table is being filled by others.
  void prefetch(Bytes pretoken, std::size_t first, std::size_t last) const {
    const std::uint64_t hash = partitions_[0]->table.entry_of(pretoken, 0).hash;
    const std::size_t part = part_of(hash);
    if (part < first || part >= last) return;
    const std::unique_lock lock(partitions_[part]->mutex, std::try_to_lock);
    if (lock) partitions_[part]->table.prefetch(hash);
  }

  // Forgets everything, and gives the memory back.
  void clear() {
    for (auto& partition : partitions_) {
      const std::lock_guard lock(partition->mutex);
      partition->table.release();
    }
  }

  // Bytes of memory that the tables take; while threads still count, about.
  std::size_t memory() const {
    std::size_t total = 0;
    for (const auto& partition : partitions_) {
      const std::lock_guard lock(partition->mutex);
      total += partition->table.memory();
    }
    return total;
  }

  // No thread takes any more when these are called.

  template <class Sink>
  void for_each(Sink sink) const {
    for (const auto& partition : partitions_) partition->table.for_each(sink);
  }

  // The same, but gives the memory of what was read back: nothing is left.
  template <class Sink>
  void take_each(Sink sink) {
    for (const auto& partition : partitions_) {
      partition->table.for_each(sink);
      partition->table.release();
    }
  }

  // The same in parts, each of which a thread of its own may take.
  static constexpr unsigned kPartitionBits = 6;
  static constexpr std::size_t kParts = std::size_t{1} << kPartitionBits;
  template <class Sink>
  void for_each_in(std::size_t part, Sink sink) const {
    partitions_[part]->table.for_each(sink);
  }

  std::size_t size() const { return size_of(0, kParts); }

  // Of the parts from `first` to before `last`.
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
