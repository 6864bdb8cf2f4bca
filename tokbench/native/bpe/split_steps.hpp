// Splitting in several steps, each in the parts that the one before left: what `tokenizers` calls a sequence of pre-tokenizers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "splitting.hpp"
#include "step_cuts.hpp"

namespace tokbench {

// What becomes of the matches of a program, and of what stands between them.
enum class SplitBehavior : std::uint8_t {
  Isolated,            // each is a part
  Removed,             // the matches are left out
  MergedWithPrevious,  // a match and what stands before it are a part
  MergedWithNext,      // a match and what stands after it are a part
  Contiguous           // matches side by side are a part
};

// Calls sink(start, stop) for the parts of a text; `for_each` gives its matches and what stands between them.
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
  // A part that the next one may be joined to.
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
  SplitProgram program;
  SplitBehavior behavior;
  bool is_inverted;  // the matches are what stands between those of the program
};

// A pattern that has a scanner, and a space before each part that has none.
struct PatternStep {
  Pattern pattern;
  bool prefix_space;
};

// What `tokenizers` calls Metaspace: spaces written as a mark, which is put in front of each part that begins with none.
struct MarkStep {
  std::string mark;
  bool is_put_in_front;
  bool begins_parts;  // whether parts are cut in front of each mark
};

using SplitStep = std::variant<ProgramStep, PatternStep, MarkStep>;

class SplitSteps {
 public:
  SplitSteps(std::optional<CharacterSets> sets, std::vector<SplitStep> steps) : sets_(std::move(sets)), steps_(std::move(steps)) {
    for (const SplitStep& step : steps_) {
      if (std::holds_alternative<ProgramStep>(step) && !sets_) throw std::invalid_argument("a program needs sets");
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

  // Pre-tokens are parts of a copy of the text, with spaces or marks that the text does not have, of at most this many bytes a
  // byte; of the text itself, where it is 0.
  std::size_t copied_per_byte() const { return copied_per_byte_; }

  // Whether each space between two ASCII letters begins a pre-token, or is in none, and both sides are split as they would be
  // alone.
  bool cuts_at_spaces() const { return cuts_at_spaces_; }

  // Calls sink(bytes) for each pre-token of a text that is not empty, in order. `spaced` has room for what is copied.
  template <class Sink>
  void for_each_pretoken(Bytes text, Byte* spaced, const Sink& sink) const {
    if (!text.empty()) part(0, 0, text.data(), text.data() + text.size(), spaced, sink);
  }

 private:
  // A step writes each part anew: a byte becomes at most this many, and as many are put in front.
  void copies(std::size_t bytes) {
    if (copied_per_byte_ != 0) throw std::invalid_argument("two steps add spaces");
    copied_per_byte_ = bytes + 1;
  }

  template <class Sink>
  void part(std::size_t number, std::size_t named_number, const Byte* start, const Byte* stop, Byte*& spaced, const Sink& sink) const {
    if (number == steps_.size()) return sink(Bytes(start, stop));
    if (const auto* const program = std::get_if<ProgramStep>(&steps_[number])) {
      const auto for_each = [&](const auto& use) {
        program->program.for_each_part(*sets_, start, stop, [&](const Byte* from, const Byte* to, bool is_match) {
          use(from, to, is_match != program->is_inverted);
        });
      };
      return behave(program->behavior, for_each, [&](const Byte* from, const Byte* to) {
        part(number + 1, named_number, from, to, spaced, sink);
      });
    }
    if (const auto* const step = std::get_if<MarkStep>(&steps_[number])) {
      const Bytes mark(reinterpret_cast<const Byte*>(step->mark.data()), step->mark.size());
      const Byte* const copy = spaced;
      const auto begins_with_mark = [&](const Byte* p) { return Bytes(p, stop).size() >= mark.size() && std::equal(mark.begin(), mark.end(), p); };
      const auto put_mark = [&] { spaced = std::copy(mark.begin(), mark.end(), spaced); };
      if (step->is_put_in_front && *start != ' ' && !begins_with_mark(start)) put_mark();
      const Byte* first = copy;
      while (start != stop) {
        if (*start != ' ' && !begins_with_mark(start)) {
          *spaced++ = *start++;
          continue;
        }
        if (step->begins_parts && spaced != first) {
          part(number + 1, named_number, std::exchange(first, spaced), spaced, spaced, sink);
        }
        start += *start == ' ' ? 1 : mark.size();
        put_mark();
      }
      return part(number + 1, named_number, first, spaced, spaced, sink);
    }
    const auto& named = std::get<PatternStep>(steps_[number]);
    if (named.prefix_space) {
      Byte* const copy = spaced;
      if (*start != ' ') *spaced++ = ' ';
      stop = spaced = std::copy(start, stop, spaced);
      start = copy;
    }
    for_each_split(splits_[named_number], Bytes(start, stop), [&](const Byte* from, std::span<const Byte* const> ends) {
      for (const Byte* const to : ends) {
        part(number + 1, named_number + 1, from, to, spaced, sink);
        from = to;
      }
    });
  }

  // Up to the step that certainly splits there, none may do otherwise; what comes after it is given the sides.
  bool finds_cuts() const {
    for (const SplitStep& step : steps_) {
      if (const auto* const named = std::get_if<PatternStep>(&step)) return has_safe_cuts(named->pattern);
      const auto& program = std::get<ProgramStep>(step);
      const ProgramCuts cuts(program.program, *sets_);
      if (!cuts.is_local()) return false;
      if (program.behavior == SplitBehavior::Isolated && cuts.begins_there()) return true;
      // The space is left out: neither side has it.
      const bool loses_space = program.is_inverted ? cuts.leaves_out_space() : cuts.begins_there();
      if (program.behavior == SplitBehavior::Removed && loses_space) return true;
      if (!cuts.begins_elsewhere()) return false;
    }
    return false;
  }

  std::optional<CharacterSets> sets_;
  std::vector<SplitStep> steps_;
  std::vector<Split> splits_;  // of the steps by pattern
  std::size_t copied_per_byte_ = 0;
  bool cuts_at_spaces_ = false;
};

}  // namespace tokbench
