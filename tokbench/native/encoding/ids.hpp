// A growing array of ids that can be written into without being filled first, and given away.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "common/zeroed_table.hpp"
#include "id.hpp"

namespace tokbench {

class Ids {
 public:
  // Takes memory for so many ids beforehand, where memory that is not used costs nothing: what grows while it is
  // filled is moved about, and ends up in small pages.
  void expect([[maybe_unused]] std::size_t count) {
#if defined(__linux__)
    if (data_ != nullptr || count < kLargePage || count > kMostExpected) return;
    const std::size_t size = (count * sizeof(Id) + kLargePage - 1) / kLargePage * kLargePage;
    data_.reset(static_cast<Id*>(std::aligned_alloc(kLargePage, size)));
    if (data_ == nullptr) return;  // then it grows as it is needed
    prefer_large_pages(data_.get(), size);
    capacity_ = size / sizeof(Id);
#endif
  }

  bool has_room(std::size_t more) const { return capacity_ - size_ >= more; }

  // Room for `more` ids behind the last one; valid until the next call. commit() says how far it was used.
  Id* prepare(std::size_t more) {
    if (!has_room(more)) grow(size_ + more);
    return data_.get() + size_;
  }
  void commit(const Id* end) { size_ = static_cast<std::size_t>(end - data_.get()); }

  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }
  std::span<const Id> view() const { return {data_.get(), size_}; }
  const Id& operator[](std::size_t i) const { return data_.get()[i]; }

  // Gives the array away, without what it has too much; free() ends it. Never null.
  Id* release() {
    if (data_ == nullptr || capacity_ != size_) resize(std::max<std::size_t>(size_, 1));
    size_ = capacity_ = 0;
    return data_.release();
  }

 private:
  static constexpr std::size_t kMostExpected = std::size_t{1} << 30;

  struct Free {
    void operator()(Id* p) const { std::free(p); }
  };

  void grow(std::size_t needed) { resize(std::max(needed, capacity_ + capacity_ / 2 + 64)); }

  // Where it is large, the system moves its pages instead of copying them.
  void resize(std::size_t capacity) {
    if (capacity > SIZE_MAX / sizeof(Id)) throw std::bad_alloc();
    void* const moved = std::realloc(data_.get(), capacity * sizeof(Id));
    if (moved == nullptr) throw std::bad_alloc();
    (void)data_.release();
    data_.reset(static_cast<Id*>(moved));
    if (capacity > capacity_) prefer_large_pages(moved, capacity * sizeof(Id));
    capacity_ = capacity;
  }

  std::unique_ptr<Id, Free> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace tokbench
