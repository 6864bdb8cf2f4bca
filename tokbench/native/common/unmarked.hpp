// Finds the code points of texts that are not marked in a table, which have to be examined further.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "compiler.hpp"
#include "shared_value.hpp"
#include "texts.hpp"
#include "threads.hpp"
#include "zeroed_table.hpp"

namespace tokbench {

inline constexpr std::size_t kNumCodePoints = 0x110000;

// A table with a mark for each code point, 0 if it is not marked. Its owner may set more marks concurrently.
class Marks {
 public:
  explicit Marks(std::uint8_t* first) : first_(first) {
    for (std::size_t i = 0; i < 0x80; ++i) marks_ascii_ &= has(i);
  }

  bool has(std::size_t code_point) const { return of(code_point) != 0; }
  std::uint8_t of(std::size_t code_point) const { return shared_value(first_[code_point]); }
  bool has_all_of_ascii() const { return marks_ascii_; }

 private:
  std::uint8_t* first_;
  bool marks_ascii_ = true;
};

inline constexpr std::size_t kUnitsAtOnce = 64;  // units in a step, whose marks are combined before they are tested
inline constexpr std::size_t kFewUnits = 16;     // units that are looked up together if one of them is not ASCII

template <class Unit>
inline bool are_ascii(const Unit* units, std::size_t size) {
  Unit together = 0;
  for (std::size_t k = 0; k < size; ++k) together = static_cast<Unit>(together | units[k]);
  return together < 0x80;
}

template <class Unit>
inline bool are_marked(const Unit* units, std::size_t size, const Marks& marks) {
  bool are_all = true;
  for (std::size_t k = 0; k < size; ++k) are_all &= marks.has(units[k]);
  return are_all;
}

// The start of the first step from `from` on that contains an unmarked code point, or `size`. Optimized for text that is ASCII
// apart from a few characters such as quotation marks.
template <class Unit>
inline std::size_t first_unmarked_step(const Unit* units, std::size_t from, std::size_t size, const Marks& marks) {
  const bool skips_ascii = marks.has_all_of_ascii();
  for (; from + kUnitsAtOnce <= size; from += kUnitsAtOnce) {
    const Unit* const step = units + from;
    if (skips_ascii && are_ascii(step, kUnitsAtOnce)) continue;
    bool are_all_marked = true;
    for (std::size_t few = 0; few < kUnitsAtOnce; few += kFewUnits) {
      if (skips_ascii && are_ascii(step + few, kFewUnits)) continue;
      are_all_marked &= are_marked(step + few, kFewUnits, marks);
    }
    if (!are_all_marked) return from;
  }
  return are_marked(units + from, size - from, marks) ? size : from;
}

// Calls use(units) with the units of a text in their type, unless all of them are certainly marked.
template <class Use>
inline void with_units(const Text& text, const Marks& marks, Use use) {
  if (text.units == Units::Utf8 && marks.has_all_of_ascii()) return;  // a Python string given as UTF-8 is ASCII
  if (text.units == Units::Ucs2) return use(static_cast<const std::uint16_t*>(text.data));
  if (text.units == Units::Ucs4) return use(static_cast<const std::uint32_t*>(text.data));
  use(static_cast<const std::uint8_t*>(text.data));
}

// Collects the distinct unmarked code points of texts on several threads. Most texts have none.
class UnmarkedCodePoints {
 public:
  explicit UnmarkedCodePoints(const Marks& marks) : marks_(marks) {}

  // Adds those of a text with one code point per unit.
  void add_of(const Text& text) {
    with_units(text, marks_, [&](const auto* units) {
      for (std::size_t i = 0; (i = first_unmarked_step(units, i, text.size, marks_)) < text.size;) {
        if (!seen_.load(std::memory_order_acquire)) make_room();
        for (const std::size_t end = std::min(i + kUnitsAtOnce, text.size); i < end; ++i) {
          if (!marks_.has(units[i]) && !is_seen(units[i])) add(units[i]);
        }
      }
    });
  }

  // The collected code points in order. To be called after all texts were added.
  std::vector<std::uint32_t> in_order() {
    std::ranges::sort(found_);
    return std::move(found_);
  }

 private:
  static std::uint64_t bit(std::uint32_t code_point) { return std::uint64_t{1} << code_point % 64; }
  std::uint64_t& word_of(std::uint32_t code_point) const { return seen_.load(std::memory_order_relaxed)[code_point / 64]; }
  bool is_seen(std::uint32_t code_point) const { return (shared_value(word_of(code_point)) & bit(code_point)) != 0; }

  void make_room() {
    const std::lock_guard lock(mutex_);
    if (seen_.load(std::memory_order_relaxed)) return;
    bits_ = ZeroedTable<std::uint64_t>(kNumCodePoints / 64);
    seen_.store(&bits_[0], std::memory_order_release);
  }

  TOKBENCH_NEVER_INLINE void add(std::uint32_t code_point) {
    if ((set_shared_bits(word_of(code_point), bit(code_point)) & bit(code_point)) != 0) return;
    const std::lock_guard lock(mutex_);
    found_.push_back(code_point);
  }

  const Marks& marks_;
  std::atomic<std::uint64_t*> seen_{nullptr};  // one bit per code point, allocated when the first one is added
  std::mutex mutex_;                           // guards the members below
  ZeroedTable<std::uint64_t> bits_;
  std::vector<std::uint32_t> found_;
};

// The distinct unmarked code points of texts with one code point per unit, in order.
inline std::vector<std::uint32_t> unmarked(std::span<const Text> texts, const Marks& marks, unsigned threads) {
  constexpr std::size_t kTexts = 8;  // texts that a thread takes at a time
  UnmarkedCodePoints found(marks);
  Turns turns((texts.size() + kTexts - 1) / kTexts);
  run_on(std::min(threads, static_cast<unsigned>(std::min<std::size_t>(turns.size(), 1024))), [&] {
    for (std::size_t turn; turns.take(turn);) {
      for (const Text& text : texts.subspan(turn * kTexts, std::min(kTexts, texts.size() - turn * kTexts))) found.add_of(text);
    }
  });
  return found.in_order();
}

// Whether marks above 1 never decrease within a run of such code points, so that canonical ordering would change nothing.
inline bool marks_ascend(const Text& text, const Marks& marks) {
  const auto among = [&](const auto* units) {
    std::uint8_t before = 0;
    bool is_falling = false;
    for (std::size_t i = 0; i < text.size; ++i) {
      const std::uint8_t mark = marks.of(units[i]);
      is_falling |= (mark > 1) & (mark < before);
      before = mark;
    }
    return !is_falling;
  };
  if (text.units == Units::Ucs2) return among(static_cast<const std::uint16_t*>(text.data));
  if (text.units == Units::Ucs4) return among(static_cast<const std::uint32_t*>(text.data));
  return among(static_cast<const std::uint8_t*>(text.data));
}

}  // namespace tokbench
