// Memory for large arrays that are read all over the place, in huge pages where the system has some.
#pragma once

#include <cstddef>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tokbench {

// An allocator that leaves numbers as they are found, where a vector would set them to zero.
template <class T>
class BigPages {
 public:
  using value_type = T;

  BigPages() = default;
  template <class U>
  BigPages(const BigPages<U>&) {}

  T* allocate(std::size_t count) {
    const std::size_t size = count * sizeof(T);
    if (size < kHugePage * 2) return static_cast<T*>(::operator new(size));
    void* const memory = ::operator new(size, std::align_val_t(kHugePage));
#if defined(__linux__)
    ::madvise(memory, size, MADV_HUGEPAGE);  // a wish: where it is not granted, nothing is lost
#endif
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kHugePage * 2) {
      ::operator delete(memory);
    } else {
      ::operator delete(memory, std::align_val_t(kHugePage));
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

 private:
  static constexpr std::size_t kHugePage = 2 << 20;
};

}  // namespace tokbench
