// The memory of the last large array that ended, for the next one: its pages need not be found and cleared anew.
//
// Of two threads that clear pages, each clears the same large page when they come to it together: of a batch of texts whose
// words are known, that took a seventh of their time. 32 MB at most are kept, as glibc does with what is not that large.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>

#include "common/big_pages.hpp"

namespace tokbench {

// From std::malloc and its like; the pages of the first `num_touched` bytes are there.
struct SpareMemory {
  void* data = nullptr;
  std::size_t size = 0;
  std::size_t num_touched = 0;
};

// Whether memory is kept for another array. What was never touched costs addresses alone, which have their bounds, too.
inline bool is_spare_memory(std::size_t size, std::size_t num_touched) {
  constexpr std::size_t kMost = std::size_t{1} << 28, kMostTouched = std::size_t{1} << 25;
  return size <= kMost && num_touched <= kMostTouched;
}

inline constinit std::atomic<SpareMemory*> last_spare_memory = nullptr;

// What was given last if it is not smaller; no data otherwise.
inline SpareMemory take_spare_memory(std::size_t size) {
  SpareMemory* const last = last_spare_memory.exchange(nullptr);
  if (last == nullptr) return {};
  const SpareMemory memory = *last;
  delete last;
  if (memory.size >= size) return memory;
  std::free(memory.data);
  return {};
}

inline void give_spare_memory(const SpareMemory& memory) noexcept {
  SpareMemory* const kept = is_spare_memory(memory.size, memory.num_touched) ? new (std::nothrow) SpareMemory(memory) : nullptr;
  if (kept == nullptr) return std::free(memory.data);
  const SpareMemory* const before = last_spare_memory.exchange(kept);
  if (before == nullptr) return;
  std::free(before->data);
  delete before;
}

}  // namespace tokbench
