// A growable array of ids whose new elements are not initialized.
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
#include "spare_memory.hpp"

namespace tokbench {

class Ids {
 public:
  Ids() = default;
  Ids(Ids&& other) noexcept { swap(other); }
  Ids& operator=(Ids&& other) noexcept {
    swap(other);
    return *this;
  }
  Ids(const Ids&) = delete;
  Ids& operator=(const Ids&) = delete;
  ~Ids() {
    if (is_expected_) {
      give_spare_memory({memory_.release(), capacity_ * sizeof(Id), std::max(size_, num_touched_) * sizeof(Id)});
    }
  }

  // Reserves address space for this many ids, where untouched memory costs nothing: an array that grows while it is filled is
  // moved repeatedly and ends up in small pages.
  void expect([[maybe_unused]] std::size_t count) {
#if defined(__linux__)
    if (memory_ != nullptr || count < kLargePage || count > kMostExpected) return;
    const std::size_t size = (count * sizeof(Id) + kLargePage - 1) / kLargePage * kLargePage;
    SpareMemory memory = take_spare_memory(size);
    if (memory.data == nullptr) {
      memory = {std::aligned_alloc(kLargePage, size), size, 0};
      if (memory.data == nullptr) return;  // the array grows on demand instead
      prefer_large_pages(memory.data, size);
    }
    memory_.reset(static_cast<Id*>(memory.data));
    capacity_ = memory.size / sizeof(Id);
    num_touched_ = memory.num_touched / sizeof(Id);
    is_expected_ = true;
#endif
  }

  bool has_room(std::size_t more) const { return capacity_ - size_ >= more; }

  // Room for `more` ids after the last one, valid until the next call; commit() then says how many were written.
  Id* prepare(std::size_t more) {
    if (!has_room(more)) grow(size_ + more);
    return memory_.get() + size_;
  }
  void commit(const Id* end) { size_ = static_cast<std::size_t>(end - memory_.get()); }

  // The memory that will be written next for the first time, for touch_pages(); empty in most calls.
  std::span<Id> next_untouched() {
    if (!is_expected_ || size_ + kTouchedAhead <= num_touched_ || num_touched_ == capacity_) return {};
    const std::size_t from = std::max(num_touched_, size_);
    num_touched_ = std::min(from + kLargePage / sizeof(Id), capacity_);
    return {memory_.get() + from, num_touched_ - from};
  }

  void clear() { size_ = 0; }
  std::size_t size() const { return size_; }
  Id* begin() { return memory_.get(); }
  std::span<const Id> view() const { return {memory_.get(), size_}; }
  const Id& operator[](std::size_t i) const { return memory_[i]; }

  // Frees excess memory unless it is untouched address space. The result is never null.
  Id* fit() {
    if (memory_ == nullptr || (capacity_ != size_ && !(is_expected_ && is_spare_memory(capacity_ * sizeof(Id), size_ * sizeof(Id))))) {
      resize(std::max<std::size_t>(size_, 1));
    }
    return memory_.get();
  }

 private:
  static constexpr std::size_t kMostExpected = std::size_t{1} << 30;
  static constexpr std::size_t kTouchedAhead = kLargePage / sizeof(Id) / 2;

  struct Free {
    void operator()(Id* p) const { std::free(p); }
  };

  void swap(Ids& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(num_touched_, other.num_touched_);
    std::swap(is_expected_, other.is_expected_);
  }

  void grow(std::size_t needed) { resize(std::max(needed, capacity_ + capacity_ / 2 + 64)); }

  // For large arrays, realloc() remaps pages instead of copying them.
  void resize(std::size_t capacity) {
    if (capacity > SIZE_MAX / sizeof(Id)) throw std::bad_alloc();
    void* const moved = std::realloc(memory_.get(), capacity * sizeof(Id));
    if (moved == nullptr) throw std::bad_alloc();
    (void)memory_.release();
    memory_.reset(static_cast<Id*>(moved));
    if (capacity > capacity_) prefer_large_pages(moved, capacity * sizeof(Id));
    capacity_ = capacity;
    num_touched_ = std::min(num_touched_, capacity);
    is_expected_ = false;
  }

  std::unique_ptr<Id[], Free> memory_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t num_touched_ = 0;  // ids whose pages are known to be mapped
  bool is_expected_ = false;     // whether the memory may be reused for the next array
};

}  // namespace tokbench
