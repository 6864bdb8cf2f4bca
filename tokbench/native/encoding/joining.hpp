// The ids of chunks that are encoded on several threads, in the order of the chunks.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "ids.hpp"

namespace tokbench {

// Puts the ids of chunks behind one another while they are still in the processor's cache.
class Joining {
 public:
  explicit Joining(Ids& all) : all_(all) {}

  void add(std::size_t chunk, Ids ids) {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() <= chunk) waiting_.resize(chunk + 1);
    waiting_[chunk] = std::move(ids);
    for (; next_ < waiting_.size() && waiting_[next_]; ++next_) {
      all_.append(waiting_[next_]->view());
      waiting_[next_]->clear();
      spare_.push_back(std::move(*waiting_[next_]));
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
  std::size_t next_ = 0;
  std::vector<std::optional<Ids>> waiting_;
  std::vector<Ids> spare_;
};

}  // namespace tokbench
