// Repeated substrings, and a selection of the best ones.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tokbench::sentencepiece {

// A substring that is followed by different characters. The suffixes of ranks [left, right) start with it.
class Substring {
 public:
  // `score` is occurrences × characters, below 2^48.
  Substring(std::uint64_t score, std::size_t length, std::size_t left, std::size_t right)
      : score_and_length_(score << 16 | length), left_(static_cast<std::uint32_t>(left)), right_(static_cast<std::uint32_t>(right)) {}

  std::uint64_t score() const { return score_and_length_ >> 16; }
  std::uint16_t length() const { return static_cast<std::uint16_t>(score_and_length_); }
  std::uint32_t left() const { return left_; }
  std::uint32_t right() const { return right_; }

  // Whether it has a higher score or, with equal scores, comes first alphabetically.
  bool is_better_than(const Substring& other) const {
    if (score() != other.score()) return score() > other.score();
    return left_ != other.left_ ? left_ < other.left_ : length() < other.length();
  }

 private:
  std::uint64_t score_and_length_;  // packed, because there are many substrings: 16 bytes each
  std::uint32_t left_, right_;
};

// Collects substrings from all threads and keeps the best ones, with memory for little more than the wanted number.
class BestSubstrings {
 public:
  // Keeps the best `most` > 0 of at most `possible` substrings.
  BestSubstrings(std::size_t most, std::size_t possible) : most_(most), room_(most + std::max(most / 4, kSpare)) {
    kept_.reserve(std::min(room_, possible));
  }

  // Whether a substring with this score may still be among the best.
  bool may_take(std::uint64_t score) const { return score >= least_.load(std::memory_order_relaxed); }

  // Adds substrings; empties `found`.
  void take(std::vector<Substring>& found) {
    const std::lock_guard lock(mutex_);
    for (const Substring& each : found) {
      if (kept_.size() == room_) drop();
      if (may_take(each.score())) kept_.push_back(each);
    }
    found.clear();
  }

  std::vector<Substring> finish() {
    drop();
    return std::move(kept_);
  }

 private:
  static constexpr std::size_t kSpare = 1 << 12;

  void drop() {
    if (kept_.size() <= most_) return;
    const auto worst = kept_.begin() + static_cast<std::ptrdiff_t>(most_ - 1);
    std::nth_element(kept_.begin(), worst, kept_.end(), [](const Substring& a, const Substring& b) { return a.is_better_than(b); });
    least_.store(worst->score(), std::memory_order_relaxed);
    kept_.erase(worst + 1, kept_.end());
  }

  std::size_t most_, room_;
  std::mutex mutex_;
  std::vector<Substring> kept_;
  std::atomic<std::uint64_t> least_{0};
};

}  // namespace tokbench::sentencepiece
