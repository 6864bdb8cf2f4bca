// The stores of words that an encoder's threads share: the one that is filled, and the one before it, if it is full,
// from which words in use are taken over. What was not used while a store was filled is forgotten with the next.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "word_store.hpp"

namespace tokbench {

class SharedWords {
 public:
  // What a thread works with; the stores live at least as long as one of these.
  struct Lease {
    std::shared_ptr<WordStore> current;
    std::shared_ptr<WordStore> previous;  // may be none
    std::uint64_t generation = 0;
  };

  // With room for the words of texts of so many units that are about to be encoded.
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

  // Makes room in the place of a crowded store, unless another thread has done so. What threads enter into the
  // old one meanwhile may be lost.
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

  mutable std::mutex mutex_;
  Lease lease_{std::make_shared<WordStore>(), nullptr, 0};
  std::atomic<std::uint64_t> generation_{0};  // the lease's, to be read without the lock
};

}  // namespace tokbench
