// The word stores that the threads of an encoder share: the current one and, once that one replaced a full store, the previous
// one, from which words that are still in use are copied. Words that were not used while a store filled up are dropped with it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "common/fork_safe_mutex.hpp"
#include "word_store.hpp"

namespace tokbench {

class SharedWords {
 public:
  // The stores that a thread works with. They live at least as long as the lease.
  struct Lease {
    std::shared_ptr<WordStore> current;
    std::shared_ptr<WordStore> previous;  // may be null
    std::uint64_t generation = 0;
  };

  // A lease with room for the words of `num_units` units of text.
  Lease lease(std::size_t num_units) {
    const std::lock_guard lock(mutex_);
    if (std::shared_ptr<WordStore> grown = lease_.current->grown_for(num_units)) replace(std::move(grown));
    return lease_;
  }

  Lease lease() const {
    const std::lock_guard lock(mutex_);
    return lease_;
  }

  bool is_current(const Lease& lease) const { return lease.generation == generation_.load(std::memory_order_relaxed); }

  // Replaces a crowded store unless another thread has done so. Words that are entered into the old store meanwhile may be lost.
  void renew(const Lease& lease) {
    const std::lock_guard lock(mutex_);
    if (lease.generation != lease_.generation) return;
    if (lease_.current->is_full()) {
      lease_.previous = lease_.current;
      replace(std::make_shared<WordStore>());
    } else {
      replace(lease_.current->grown());
    }
  }

 private:
  void replace(std::shared_ptr<WordStore> store) {
    lease_.current = std::move(store);
    generation_.store(++lease_.generation, std::memory_order_relaxed);
  }

  mutable ForkSafeMutex mutex_;
  Lease lease_{std::make_shared<WordStore>(), nullptr, 0};
  std::atomic<std::uint64_t> generation_{0};  // lease_.generation, readable without the lock
};

}  // namespace tokbench
