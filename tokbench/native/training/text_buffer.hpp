// A buffer for incoming text: uninitialized capacity, with some readable bytes after the end.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "common/word_key.hpp"

namespace tokbench {

class TextBuffer {
 public:
  TextBuffer() = default;
  TextBuffer(TextBuffer&& other) noexcept { swap(other); }
  TextBuffer& operator=(TextBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  Bytes text() const { return {bytes_.get(), size_}; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t capacity() const { return capacity_; }

  // Room for `size` bytes after the end, which become part of the text by commit().
  std::span<Byte> prepare(std::size_t size) {
    reserve(size_ + size);
    return {bytes_.get() + size_, size};
  }
  void commit(std::size_t size) { size_ += size; }

  void append(Bytes bytes) {
    const std::span<Byte> room = prepare(bytes.size());
    std::copy(bytes.begin(), bytes.end(), room.begin());
    commit(bytes.size());
  }

  void cut(std::size_t size) { size_ = size; }

 private:
  void reserve(std::size_t size) {
    if (size + kKeyPadding <= capacity_) return;
    const std::size_t capacity = std::max(size + kKeyPadding, capacity_ * 2);
    auto bytes = std::make_unique_for_overwrite<Byte[]>(capacity);
    std::copy_n(bytes_.get(), size_, bytes.get());
    bytes_ = std::move(bytes);
    capacity_ = capacity;
  }

  void swap(TextBuffer& other) {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  std::unique_ptr<Byte[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace tokbench
