// A zero-initialized table. Untouched pages cost nothing, and a large table uses large pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "big_pages.hpp"

namespace tokbench {

template <class T>
class ZeroedTable {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  ZeroedTable() : first_(nullptr) {}
  explicit ZeroedTable(std::size_t size) : size_(size), block_(std::calloc(size * sizeof(T) + alignment_of(size), 1)) {
    if (block_ == nullptr) throw std::bad_alloc();
    const std::size_t alignment = alignment_of(size);
    const auto address = reinterpret_cast<std::uintptr_t>(block_.get());
    first_ = reinterpret_cast<T*>((address + alignment - 1) / alignment * alignment);
    prefer_large_pages(first_, size * sizeof(T));
  }
  ZeroedTable(const ZeroedTable& other)
    requires std::is_trivially_copyable_v<T>
      : ZeroedTable(other.size_) {
    if (size_ != 0) std::memcpy(first_, other.first_, size_ * sizeof(T));
  }
  ZeroedTable(ZeroedTable&&) noexcept = default;
  ZeroedTable& operator=(ZeroedTable&&) noexcept = default;

  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return first_[i]; }
  const T& operator[](std::size_t i) const { return first_[i]; }

 private:
  static constexpr std::size_t kCacheLine = 64;

  struct Free {
    void operator()(void* p) const { std::free(p); }
  };

  static std::size_t alignment_of(std::size_t size) { return size * sizeof(T) >= kLargePage ? kLargePage : kCacheLine; }

  std::size_t size_ = 0;
  std::unique_ptr<void, Free> block_;
  T* first_;
};

}  // namespace tokbench
