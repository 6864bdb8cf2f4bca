// Concatenates the ids of chunks that several threads encode, in the order of the chunks.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "ids.hpp"

namespace tokbench {

// Copies the ids of each chunk to their final position while they are still in the cache. If the array has room, threads copy in
// parallel: the first write to a page makes the kernel clear it, and doing that under the lock cost the second thread a tenth
// of its time.
class Joining {
 public:
  explicit Joining(Ids& all) : all_(all) {}

  void add(std::size_t chunk, Ids ids) {
    std::unique_lock lock(mutex_);
    if (waiting_.size() <= chunk) waiting_.resize(chunk + 1);
    waiting_[chunk] = std::move(ids);
    while (next_ < waiting_.size() && waiting_[next_]) {
      const std::size_t size = waiting_[next_]->size();
      if (!all_.has_room(size) && copying_ != 0) {  // growing may move the array: wait until no thread writes to it
        none_copies_.wait(lock);
        continue;
      }
      Id* const place = all_.prepare(size);
      all_.commit(place + size);
      const std::span<Id> untouched = all_.next_untouched();
      Ids part = std::move(*waiting_[next_++]);
      ++copying_;
      lock.unlock();
      std::ranges::copy(part.view(), place);
      touch_pages(untouched.data(), untouched.size_bytes());
      part.clear();
      lock.lock();
      if (--copying_ == 0) none_copies_.notify_all();
      spare_.push_back(std::move(part));
    }
  }

  Ids spare() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return {};
    Ids ids = std::move(spare_.back());
    spare_.pop_back();
    return ids;
  }

 private:
  Ids& all_;
  std::mutex mutex_;
  std::condition_variable none_copies_;
  std::size_t copying_ = 0;  // number of threads that write to `all_`
  std::size_t next_ = 0;
  std::vector<std::optional<Ids>> waiting_;
  std::vector<Ids> spare_;
};

}  // namespace tokbench
