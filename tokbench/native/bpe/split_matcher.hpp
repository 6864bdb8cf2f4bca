// Finds the matches of a program in a text: by its automaton, or with backtracking if it has none.
#pragma once

#include "split_automaton.hpp"

namespace tokbench {

class SplitMatcher {
 public:
  SplitMatcher(SplitProgram program, const CharacterSets& sets) : program_(std::move(program)), automaton_(SplitAutomaton::of(program_, sets)) {}

  const SplitProgram& program() const { return program_; }

  const SplitAutomaton* automaton() const { return automaton_ ? &*automaton_ : nullptr; }

  // Calls sink(start, stop, whether it is a match) for the matches in a text and the parts between them.
  template <class Sink>
  void for_each_part(const CharacterSets& sets, const Byte* begin, const Byte* end, const Sink& sink) const {
    program_.unit() == SplitUnit::OneByte ? parts_of<SplitUnit::OneByte>(sets, begin, end, sink) : parts_of<SplitUnit::Character>(sets, begin, end, sink);
  }

 private:
  template <SplitUnit Unit, class Sink>
  void parts_of(const CharacterSets& sets, const Byte* begin, const Byte* end, const Sink& sink) const {
    automaton_ ? parts_by<Unit>(*automaton_, sets, begin, end, sink) : parts_by<Unit>(program_, sets, begin, end, sink);
  }

  template <SplitUnit Unit, class Matching, class Sink>
  void parts_by(const Matching& matching, const CharacterSets& sets, const Byte* begin, const Byte* end, const Sink& sink) const {
    const Byte* unmatched = begin;
    for (const Byte* p = begin; p < end;) {
      std::size_t length;
      const Byte* stop = nullptr;
      if (sets_at<Unit>(sets, p, end, length) & program_.first()) stop = matching.template match<Unit>(sets, p, end);
      if (stop == nullptr || stop == p) {
        p += length;
        continue;
      }
      if (unmatched < p) sink(unmatched, p, false);
      sink(p, stop, true);
      p = unmatched = stop;
    }
    if (unmatched < end) sink(unmatched, end, false);
  }

  SplitProgram program_;
  std::optional<SplitAutomaton> automaton_;
};

}  // namespace tokbench
