// Encodes several pre-tokens side by side, so that their memory accesses overlap instead of waiting for each rank in turn.
#pragma once

#include "merger.hpp"

namespace tokbench {

class GroupMerger {
 public:
  explicit GroupMerger(const Vocabulary& vocabulary) : vocabulary_(vocabulary), alone_(vocabulary) {}

  // A non-empty pre-token, the output for its ids, with room for one per byte, and the number of ids written.
  struct Task {
    Bytes pretoken;
    Id* out;
    std::size_t count;
  };

  void merge(std::span<Task> tasks) {
    for (std::size_t i = 0; i < tasks.size(); i += kSideBySide) merge_some(tasks.subspan(i, std::min(kSideBySide, tasks.size() - i)));
  }

 private:
  static constexpr std::size_t kSideBySide = 32;  // 16 is a little slower

  void merge_some(std::span<Task> tasks) {
    std::size_t active[kSideBySide], num_active = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      Task& task = tasks[i];
      if (task.pretoken.size() <= ShortMerge::kMostBytes) {
        const std::size_t size = alone_.begin(task.pretoken, merges_[i].symbols());
        if (size <= ShortMerge::kMost) {
          merges_[i].begin(vocabulary_, size);
          active[num_active++] = i;
          continue;
        }
      }
      task.count = alone_.merge(task.pretoken, task.out);
    }
    std::size_t num_left = 0;
    const auto keep = [&](std::size_t i, bool has_more) {
      active[num_left] = i;
      num_left += has_more;
      if (!has_more) tasks[i].count = merges_[i].write(tasks[i].out);
    };
    for (std::size_t k = 0; k < num_active; ++k) keep(active[k], merges_[active[k]].take_first(vocabulary_));
    while (num_left != 0) {
      num_active = std::exchange(num_left, 0);
      for (std::size_t k = 0; k < num_active; ++k) merges_[active[k]].merge(vocabulary_);
      for (std::size_t k = 0; k < num_active; ++k) keep(active[k], merges_[active[k]].take(vocabulary_));
    }
  }

  const Vocabulary& vocabulary_;
  Merger alone_;
  ShortMerge merges_[kSideBySide];
};

}  // namespace tokbench
