// The ids of chunks that are encoded on several threads, in the order of the chunks.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

#include "ids.hpp"

namespace tokbench {

// Puts the ids of chunks after one another while they are still in the processor's cache. Where there is room, the threads
// copy side by side, each to the place that its chunk has: new pages are cleared while they are written to, and under a lock
// that kept the second thread waiting for a tenth of its time.
class Joining {
 public:
  explicit Joining(Ids& all) : all_(all) {}

  void add(std::size_t chunk, Ids ids) {
    std::unique_lock lock(mutex_);
    if (waiting_.size() <= chunk) waiting_.resize(chunk + 1);
    waiting_[chunk] = std::move(ids);
    while (next_ < waiting_.size() && waiting_[next_]) {
      const std::size_t size = waiting_[next_]->size();
      if (!all_.has_room(size) && copying_ != 0) {  // more room may be elsewhere: nobody may write meanwhile
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
  std::size_t copying_ = 0;  // threads that write to `all_`
  std::size_t next_ = 0;
  std::vector<std::optional<Ids>> waiting_;
  std::vector<Ids> spare_;
};

}  // namespace tokbench
