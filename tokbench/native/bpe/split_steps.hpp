// Splitting in several steps, each applied to the parts of the one before: a Sequence of pre-tokenizers in `tokenizers`.
#pragma once

#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "split_matcher.hpp"
#include "splitting.hpp"
#include "step_cuts.hpp"

namespace tokbench {

// How the matches of a program and the text between them become parts; the behaviors of `tokenizers`.
enum class SplitBehavior : std::uint8_t {
  Isolated,            // each match is a part
  Removed,             // matches are removed
  MergedWithPrevious,  // a match joins the text before it
  MergedWithNext,      // a match joins the text after it
  Contiguous           // adjacent matches are one part
};

// Calls sink(start, stop) for the parts of a text; `for_each` yields its matches and the text between them.
template <class ForEach, class Sink>
void behave(SplitBehavior behavior, const ForEach& for_each, const Sink& sink) {
  switch (behavior) {
    case SplitBehavior::Isolated:
      for_each([&](const Byte* start, const Byte* stop, bool) { sink(start, stop); });
      return;
    case SplitBehavior::Removed:
      for_each([&](const Byte* start, const Byte* stop, bool is_match) {
        if (!is_match) sink(start, stop);
      });
      return;
    default:
      break;
  }
  // A pending part, which the next one may join.
  const Byte* first = nullptr;
  const Byte* last = nullptr;
  bool was_match = false;
  for_each([&](const Byte* start, const Byte* stop, bool is_match) {
    const bool joins = first != nullptr && (behavior == SplitBehavior::Contiguous           ? is_match == was_match
                                            : behavior == SplitBehavior::MergedWithPrevious ? is_match && !was_match
                                                                                            : was_match && !is_match);
    if (first != nullptr && !joins) sink(first, last);
    if (!joins) first = start;
    last = stop;
    was_match = is_match;
  });
  if (first != nullptr) sink(first, last);
}

struct ProgramStep {
  SplitMatcher matcher;
  SplitBehavior behavior;
  bool is_inverted;  // the text between the matches of the program counts as matches, and vice versa
};

// Splits by a named pattern, optionally after adding a space to each part that does not start with one.
struct PatternStep {
  Pattern pattern;
  bool prefix_space;
};

// Metaspace of `tokenizers`: replaces spaces by a mark, and puts the mark in front of each part that does not start with it.
struct MarkStep {
  std::string mark;
  bool is_put_in_front;
  bool begins_parts;  // whether parts are split before each mark
};

using SplitStep = std::variant<ProgramStep, PatternStep, MarkStep>;

class SplitSteps {
 public:
  SplitSteps(std::optional<CharacterSets> sets, std::vector<SplitStep> steps) : sets_(std::move(sets)), steps_(std::move(steps)) {
    for (const SplitStep& step : steps_) {
      if (const auto* const mark = std::get_if<MarkStep>(&step)) {
        if (mark->mark.empty()) throw std::invalid_argument("a mark is empty");
        copies(mark->mark.size());
      }
      const auto* const named = std::get_if<PatternStep>(&step);
      if (named == nullptr) continue;
      splits_.push_back(split_of(named->pattern));
      if (named->prefix_space) copies(1);
    }
    cuts_at_spaces_ = copied_per_byte_ == 0 && finds_cuts();
  }

  // Where steps write copies of parts, with added spaces or marks.
  struct Copies {
    Byte* next = nullptr;
    const Byte** sources = nullptr;  // if given: for each byte of a copy, a byte of the character of the text that it is for

    // Adds bytes that are all for the character at `source`.
    void put(Bytes bytes, const Byte* source) {
      next = std::copy(bytes.begin(), bytes.end(), next);
      if (sources != nullptr) sources = std::fill_n(sources, bytes.size(), source);
    }

    // Adds a part of the text.
    void copy(const Byte* start, const Byte* stop) {
      next = std::copy(start, stop, next);
      for (; sources != nullptr && start != stop; ++start) *sources++ = start;
    }

    // Adds a part of the text up to the first of two bytes, or all of it; returns where it ends.
    const Byte* copy_until(const Byte* start, const Byte* stop, Byte one, Byte other) {
      constexpr std::uint64_t kOnes = 0x0101010101010101u, kTopBits = kOnes << 7;
      const auto zeros = [](std::uint64_t word) { return (word - kOnes) & ~word & kTopBits; };  // the lowest one is right
      while (sources == nullptr && stop - start >= 8) {  // there is room for as many bytes as are left of the text
        std::uint64_t word;
        std::memcpy(&word, start, 8);
        std::memcpy(next, &word, 8);
        const std::uint64_t found = zeros(word ^ kOnes * one) | zeros(word ^ kOnes * other);
        const std::ptrdiff_t size = found == 0 ? 8 : std::countr_zero(found) / 8;
        start += size;
        next += size;
        if (found != 0) return start;
      }
      const Byte* const before = start;
      while (start != stop && *start != one && *start != other) ++start;
      copy(before, start);
      return start;
    }
  };

  // 0 if pre-tokens are parts of the text itself. Otherwise they are parts of a copy with added spaces or marks, and this is
  // the upper bound on its bytes per byte of text.
  std::size_t copied_per_byte() const { return copied_per_byte_; }

  // Whether each space between two ASCII letters starts a pre-token or is removed, and both sides are split independently.
  bool cuts_at_spaces() const { return cuts_at_spaces_; }

  // Calls sink(bytes) for each non-empty pre-token of a text, in order. `copies` must have room for the whole copy.
  template <class Sink>
  void for_each_pretoken(Bytes text, Copies copies, const Sink& sink) const {
    if (!text.empty()) part(0, 0, text.data(), text.data() + text.size(), copies, sink);
  }

 private:
  // Notes a step that copies each part: a byte becomes at most `bytes` bytes, and as many are put in front.
  void copies(std::size_t bytes) {
    if (copied_per_byte_ != 0) throw std::invalid_argument("two steps add spaces");
    copied_per_byte_ = bytes + 1;
  }

  template <class Sink>
  void part(std::size_t number, std::size_t named_number, const Byte* start, const Byte* stop, Copies& copies, const Sink& sink) const {
    if (number == steps_.size()) return sink(Bytes(start, stop));
    if (const auto* const program = std::get_if<ProgramStep>(&steps_[number])) {
      const auto for_each = [&](const auto& use) {
        program->matcher.for_each_part(*sets_, start, stop, [&](const Byte* from, const Byte* to, bool is_match) {
          use(from, to, is_match != program->is_inverted);
        });
      };
      return behave(program->behavior, for_each, [&](const Byte* from, const Byte* to) {
        part(number + 1, named_number, from, to, copies, sink);
      });
    }
    if (const auto* const step = std::get_if<MarkStep>(&steps_[number])) {
      const Bytes mark(reinterpret_cast<const Byte*>(step->mark.data()), step->mark.size());
      const auto is_mark = [&](const Byte* p) {
        return *p == ' ' || (*p == mark.front() && Bytes(p, stop).size() >= mark.size() && std::equal(mark.begin(), mark.end(), p));
      };
      const Byte* first = copies.next;
      if (step->is_put_in_front && !is_mark(start)) copies.put(mark, start);
      while ((start = copies.copy_until(start, stop, ' ', mark.front())) != stop) {
        if (!is_mark(start)) {
          copies.copy(start, start + 1);
          ++start;
          continue;
        }
        if (step->begins_parts && copies.next != first) {
          const Byte* const last = copies.next;
          part(number + 1, named_number, std::exchange(first, last), last, copies, sink);
        }
        copies.put(mark, start);
        start += *start == ' ' ? 1 : mark.size();
      }
      return part(number + 1, named_number, first, copies.next, copies, sink);
    }
    const auto& named = std::get<PatternStep>(steps_[number]);
    if (named.prefix_space) {
      static constexpr Byte kSpace = ' ';
      const Byte* const copy = copies.next;
      if (*start != kSpace) copies.put({&kSpace, 1}, start);
      copies.copy(start, stop);
      start = copy;
      stop = copies.next;
    }
    for_each_split(splits_[named_number], Bytes(start, stop), [&](const Byte* from, std::span<const Byte* const> ends) {
      for (const Byte* const to : ends) {
        part(number + 1, named_number + 1, from, to, copies, sink);
        from = to;
      }
    });
  }

  // Whether the first step that depends on such a space certainly splits there; later steps then see each side by itself.
  bool finds_cuts() const {
    for (const SplitStep& step : steps_) {
      if (const auto* const named = std::get_if<PatternStep>(&step)) return has_safe_cuts(named->pattern);
      const auto& program = std::get<ProgramStep>(step);
      const ProgramCuts cuts(program.matcher.program(), *sets_);
      if (!cuts.is_local()) return false;
      if (program.behavior == SplitBehavior::Isolated && cuts.begins_there()) return true;
      // The space is removed from both sides.
      const bool loses_space = program.is_inverted ? cuts.leaves_out_space() : cuts.begins_there();
      if (program.behavior == SplitBehavior::Removed && loses_space) return true;
      if (!cuts.begins_elsewhere()) return false;
    }
    return false;
  }

  std::optional<CharacterSets> sets_;
  std::vector<SplitStep> steps_;
  std::vector<Split> splits_;  // the splitting function of each PatternStep
  std::size_t copied_per_byte_ = 0;
  bool cuts_at_spaces_ = false;
};

}  // namespace tokbench
