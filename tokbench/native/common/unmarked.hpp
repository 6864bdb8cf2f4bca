// Which code points of texts have no mark in a table of them: what is left to ask about, after one look at everything.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "texts.hpp"
#include "threads.hpp"

namespace tokbench {

inline constexpr std::size_t kNumCodePoints = 0x110000;

// A number for every code point, 0 for none. Who made the table may set more of them meanwhile.
class Marks {
 public:
  explicit Marks(std::uint8_t* first) : first_(first) {
    for (std::size_t i = 0; i < 0x80; ++i) marks_ascii_ &= has(i);
  }

  bool has(std::size_t code_point) const { return of(code_point) != 0; }
  std::uint8_t of(std::size_t code_point) const { return std::atomic_ref(first_[code_point]).load(std::memory_order_relaxed); }
  bool has_all_of_ascii() const { return marks_ascii_; }

 private:
  std::uint8_t* first_;
  bool marks_ascii_ = true;
};

// A set of code points: a list of a few, and a bit for each code point once there are more. Most texts have none or one,
// and to clear and to read all the bits takes as long as it does to look at 20 KB of text.
class CodePoints {
 public:
  void add(std::size_t code_point) {
    const auto one = static_cast<std::uint32_t>(code_point);
    if (!words_.empty()) return set(one);
    if (std::ranges::find(few_, one) != few_.end()) return;
    if (few_.size() < kFew) return few_.push_back(one);
    words_.resize(kNumCodePoints / 64);
    for (const std::uint32_t each : few_) set(each);
    set(one);
  }
  void add(const CodePoints& others) {
    for (const std::uint32_t each : others.in_order()) add(each);
  }

  std::vector<std::uint32_t> in_order() const {
    std::vector<std::uint32_t> found;
    if (words_.empty()) {
      found = few_;
      std::ranges::sort(found);
    }
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t left = words_[i]; left != 0; left &= left - 1) {
        found.push_back(static_cast<std::uint32_t>(i * 64 + static_cast<std::size_t>(std::countr_zero(left))));
      }
    }
    return found;
  }

 private:
  static constexpr std::size_t kFew = 32;

  void set(std::uint32_t code_point) { words_[code_point / 64] |= std::uint64_t{1} << code_point % 64; }

  std::vector<std::uint32_t> few_;
  std::vector<std::uint64_t> words_;  // a bit for each code point, once there are more than a few
};

inline constexpr std::size_t kUnitsAtOnce = 64;  // between two looks at what was found

// The first step of this many units, from `from` on, that has a code point without a mark: where it begins, or `size`.
template <class Unit>
inline std::size_t first_unmarked_step(const Unit* units, std::size_t from, std::size_t size, const Marks& marks) {
  for (std::size_t behind; from < size; from = behind) {
    behind = std::min(from + kUnitsAtOnce, size);
    Unit together = 0;
    for (std::size_t k = from; k < behind; ++k) together = static_cast<Unit>(together | units[k]);
    if (together < 0x80 && marks.has_all_of_ascii()) continue;
    bool are_all_marked = true;
    for (std::size_t k = from; k < behind; ++k) are_all_marked &= marks.has(units[k]);
    if (!are_all_marked) return from;
  }
  return size;
}

// Calls use(units) with the units of a text as what they are, if any of them may be without a mark.
template <class Use>
inline void with_units(const Text& text, const Marks& marks, Use use) {
  if (text.units == Units::Utf8 && marks.has_all_of_ascii()) return;  // of Python's strings, those of ASCII are UTF-8
  if (text.units == Units::Ucs2) return use(static_cast<const std::uint16_t*>(text.data));
  if (text.units == Units::Ucs4) return use(static_cast<const std::uint32_t*>(text.data));
  use(static_cast<const std::uint8_t*>(text.data));
}

inline void add_unmarked(const Text& text, const Marks& marks, CodePoints& found) {
  with_units(text, marks, [&](const auto* units) {
    for (std::size_t i = 0; (i = first_unmarked_step(units, i, text.size, marks)) < text.size;) {
      for (const std::size_t behind = std::min(i + kUnitsAtOnce, text.size); i < behind; ++i) {
        if (!marks.has(units[i])) found.add(units[i]);
      }
    }
  });
}

// Whether all code points of a text, in units of one code point each, have a mark.
inline bool are_all_marked(const Text& text, const Marks& marks) {
  bool found = true;
  with_units(text, marks, [&](const auto* units) { found = first_unmarked_step(units, 0, text.size, marks) == text.size; });
  return found;
}

// The code points of texts, in units of one code point each, that have no mark: in order, each once.
inline std::vector<std::uint32_t> unmarked(std::span<const Text> texts, const Marks& marks, unsigned threads) {
  constexpr std::size_t kTexts = 8;  // that a thread takes at once
  CodePoints all;
  std::mutex mutex;  // guards them
  Turns turns((texts.size() + kTexts - 1) / kTexts);
  run_on(std::min(threads, static_cast<unsigned>(std::min<std::size_t>(turns.size(), 1024))), [&] {
    CodePoints found;
    for (std::size_t turn; turns.take(turn);) {
      for (const Text& text : texts.subspan(turn * kTexts, std::min(kTexts, texts.size() - turn * kTexts))) {
        add_unmarked(text, marks, found);
      }
    }
    const std::lock_guard lock(mutex);
    all.add(found);
  });
  return all.in_order();
}

// Whether, in each run of code points with marks of more than 1, these never fall: no mark of Unicode's would be reordered.
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
