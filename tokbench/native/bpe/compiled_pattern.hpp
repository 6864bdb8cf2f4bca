// A split pattern that has no scanner: a program whose matches are pre-tokens, as is each character between them.
#pragma once

#include <algorithm>

#include "encoding/text_words.hpp"
#include "split_matcher.hpp"
#include "step_cuts.hpp"

namespace tokbench {

class CompiledPattern {
 public:
  CompiledPattern(SplitProgram program, CharacterSets sets)
      : sets_(std::move(sets)), matcher_(std::move(program), sets_), cuts_at_spaces_(finds_cuts(ProgramCuts(matcher_.program(), sets_))) {}

  // Whether each space between two ASCII letters begins a pre-token, and both sides are split independently.
  bool cuts_at_spaces() const { return cuts_at_spaces_; }

  // Whether the matches certainly leave out nothing of any text.
  bool matches_everywhere() const { return matcher_.automaton() != nullptr && matcher_.automaton()->matches_everywhere(sets_); }

  // The splitting function, which refers to this pattern.
  template <class Sink>
  SplitInto<Sink> split_into() const {
    return {&split_by_pattern<Sink>, this};
  }

 private:
  static bool finds_cuts(const ProgramCuts& cuts) { return cuts.is_local() && cuts.begins_there(); }

  template <class Sink>
  static const Byte* split_by_pattern(const void* state, const Byte* p, const Byte* end, Sink& sink) {
    const auto& pattern = *static_cast<const CompiledPattern*>(state);
    const CharacterSets& sets = pattern.sets_;
    if (const SplitAutomaton* const automaton = pattern.matcher_.automaton()) {
      LetterRuns runs(pattern.classify_, end);
      return split_by([&](const Byte* from) { return automaton->match(sets, from, end, runs); }, p, end, sink);
    }
    const SplitProgram& program = pattern.matcher_.program();
    return split_by([&](const Byte* from) { return program.match<SplitUnit::Character>(sets, from, end); }, p, end, sink);
  }

  // Works on a copy of the sink, as split_by_blocks() does.
  template <class Match, class Sink>
  static const Byte* split_by(const Match& match, const Byte* p, const Byte* end, Sink& shared_sink) {
    Sink sink = shared_sink;
    while (p != end && sink.has_room()) {
      const Byte* stop = match(p);
      if (stop == nullptr || stop == p) [[unlikely]] stop = p + std::max(well_formed_length(p, end), 1u);
      sink(p, stop);
      p = stop;
    }
    shared_sink = sink;
    return p;
  }

  Classify classify_ = classify_of(simd_tier());
  CharacterSets sets_;
  SplitMatcher matcher_;
  bool cuts_at_spaces_;
};

}  // namespace tokbench
