// Memory for large arrays with random access, in large pages where the system supports them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tokbench {

inline constexpr std::size_t kLargePage = std::size_t{1} << 21;
inline constexpr std::size_t kSmallPage = std::size_t{1} << 12;

// Requests large pages for a block that can contain them: a page fault for each small page would cost more than filling it, and
// random access to many small pages misses the TLB. The request may be ignored.
inline void prefer_large_pages([[maybe_unused]] void* block, [[maybe_unused]] std::size_t size) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t first = (address + kLargePage - 1) / kLargePage * kLargePage;
  const std::uintptr_t after = (address + size) / kLargePage * kLargePage;
  if (first < after) madvise(reinterpret_cast<void*>(first), after - first, MADV_HUGEPAGE);
#endif
}

// Maps the pages of a block ahead of their use, where the system supports that.
inline void touch_pages([[maybe_unused]] void* block, [[maybe_unused]] std::size_t size) {
#if defined(__linux__) && defined(MADV_POPULATE_WRITE)
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t first = address / kSmallPage * kSmallPage;
  if (size != 0) madvise(reinterpret_cast<void*>(first), address + size - first, MADV_POPULATE_WRITE);
#endif
}

// An allocator that leaves elements uninitialized, where a vector would zero them.
template <class T>
class BigPages {
 public:
  using value_type = T;

  BigPages() = default;
  template <class U>
  BigPages(const BigPages<U>&) {}

  T* allocate(std::size_t count) {
    const std::size_t size = count * sizeof(T);
    if (size < kLargePage * 2) return static_cast<T*>(::operator new(size));
    void* const memory = ::operator new(size, std::align_val_t(kLargePage));
    prefer_large_pages(memory, size);
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kLargePage * 2) {
      ::operator delete(memory);
    } else {
      ::operator delete(memory, std::align_val_t(kLargePage));
    }
  }

  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
  template <class U, class... Values>
  void construct(U* place, Values&&... values) {
    ::new (static_cast<void*>(place)) U(static_cast<Values&&>(values)...);
  }

  friend bool operator==(const BigPages&, const BigPages&) { return true; }
};

}  // namespace tokbench
