// Keeps the memory of the last freed large array for the next one, whose pages are then already mapped and cleared.
//
// Two threads that touch a new large page at the same time both clear it, which took a seventh of the time of encoding a batch of
// known words. At most 32 MB are kept, as much as glibc keeps of smaller allocations.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>

#include "common/big_pages.hpp"

namespace tokbench {

// Memory of std::malloc() or std::realloc(). The pages of its first `num_touched` bytes are mapped.
struct SpareMemory {
  void* data = nullptr;
  std::size_t size = 0;
  std::size_t num_touched = 0;
};

// Whether memory of this size is kept. Untouched pages cost address space only, which is bounded as well.
inline bool is_spare_memory(std::size_t size, std::size_t num_touched) {
  constexpr std::size_t kMost = std::size_t{1} << 28, kMostTouched = std::size_t{1} << 25;
  return size <= kMost && num_touched <= kMostTouched;
}

inline constinit std::atomic<SpareMemory*> last_spare_memory = nullptr;

// The kept memory if it has at least this size; otherwise nullptr.
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
