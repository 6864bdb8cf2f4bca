// A split pattern that has no scanner: a program whose matches are pre-tokens, as is each character between them.
#pragma once

#include <algorithm>

#include "encoding/text_words.hpp"
#include "pair_blocks.hpp"
#include "split_matcher.hpp"
#include "step_cuts.hpp"

namespace tokbench {

class CompiledPattern {
 public:
  CompiledPattern(SplitProgram program, CharacterSets sets)
      : sets_(std::move(sets)), matcher_(std::move(program), sets_), cuts_at_spaces_(finds_cuts(ProgramCuts(matcher_.program(), sets_))) {}

  CompiledPattern(const CompiledPattern&) = delete;
  CompiledPattern& operator=(const CompiledPattern&) = delete;

  // Whether each space between two ASCII letters begins a pre-token, and both sides are split independently.
  bool cuts_at_spaces() const { return cuts_at_spaces_; }

  // Whether the matches certainly leave out nothing of any text.
  bool matches_everywhere() const { return matcher_.automaton() != nullptr && matcher_.automaton()->matches_everywhere(sets_); }

  // The splitting function, which refers to this pattern; all tiers give the same result.
  template <class Sink>
  SplitInto<Sink> split_into([[maybe_unused]] SimdTier tier = simd_tier()) const {
#if TOKBENCH_HAS_AVX
    if (blocks_ && tier == SimdTier::Avx512) return {&split_by_wide_registers<Sink>, this};
    if (blocks_ && tier == SimdTier::Avx2) return {&split_by_registers<Sink>, this};
#endif
    return {tier == SimdTier::Scalar ? &split_by_characters<Sink> : &split_by_matches<Sink>, this};
  }

 private:
  static bool finds_cuts(const ProgramCuts& cuts) { return cuts.is_local() && cuts.begins_there(); }

  static std::optional<PairBlocks> blocks_of(const SplitAutomaton* automaton, const CharacterSets& sets) {
    const auto outcomes = automaton == nullptr ? std::nullopt : PairOutcomes::of(*automaton, sets);
    if (!outcomes) return std::nullopt;
    return PairBlocks(PairBoundaries(*outcomes, sets), sets);
  }

  // Where the pre-token ends that begins at `p`.
  template <class Match>
  static const Byte* next(const Match& match, const Byte* p, const Byte* end) {
    const Byte* const stop = match(p);
    if (stop == nullptr || stop == p) [[unlikely]] return p + std::max(well_formed_length(p, end), 1u);
    return stop;
  }

  // Match by match, character by character, which is the definition.
  template <class Sink>
  static const Byte* split_by_characters(const void* state, const Byte* p, const Byte* end, Sink& sink) {
    const auto& pattern = *static_cast<const CompiledPattern*>(state);
    if (const SplitAutomaton* const automaton = pattern.matcher_.automaton()) return split_by(pattern.matches_of(*automaton, end), p, end, sink);
    return split_by(pattern.matches_of(pattern.matcher_.program(), end), p, end, sink);
  }

  // The same, skipping runs of letters.
  template <class Sink>
  static const Byte* split_by_matches(const void* state, const Byte* p, const Byte* end, Sink& sink) {
    const auto& pattern = *static_cast<const CompiledPattern*>(state);
    const SplitAutomaton* const automaton = pattern.matcher_.automaton();
    if (automaton == nullptr) return split_by_characters(state, p, end, sink);
    LetterRuns runs(pattern.classify_, end);
    return split_by([&](const Byte* from) { return automaton->match(pattern.sets_, from, end, runs); }, p, end, sink);
  }

  template <class Matching>
  auto matches_of(const Matching& matching, const Byte* end) const {
    return [&, end](const Byte* from) { return matching.template match<SplitUnit::Character>(sets_, from, end); };
  }

  // Works on a copy of the sink, as split_by_blocks() does.
  template <class Match, class Sink>
  static const Byte* split_by(const Match& match, const Byte* p, const Byte* end, Sink& shared_sink) {
    Sink sink = shared_sink;
    while (p != end && sink.has_room()) {
      const Byte* const stop = next(match, p, end);
      sink(p, stop);
      p = stop;
    }
    shared_sink = sink;
    return p;
  }

  // Block by block. The automaton is asked where a pre-token ends if its block does not tell.
  template <auto kEndsIn, auto kOfClass, class Sink>
  TOKBENCH_ALWAYS_INLINE static inline const Byte* split_by_blocks(const CompiledPattern& pattern, const Byte* p, const Byte* end, Sink& shared_sink) {
    const PairBlocks& blocks = *pattern.blocks_;
    Sink sink = shared_sink;
    const auto take = [&](const Byte* stop) {
      sink(p, stop);
      p = stop;
    };
    Byte padded[kBlock];
    while (p != end && sink.has_room()) {
      const Byte* const block = p;
      const Byte* known = p;
      const auto size = std::min(static_cast<std::size_t>(end - p), kBlock);
      if (size < kBlock) [[unlikely]] {
        std::fill(std::copy(p, end, padded), padded + kBlock, Byte{0});
        known = padded;
      }
      const BlockEnds found = (blocks.*kEndsIn)(known, p, size, end);
      Mask open = found.open;
      for (Mask left = found.ends | open; left != 0;) {
        const auto at = static_cast<std::size_t>(std::countr_zero(left));
        left &= left - 1;
        if (!(open >> at & 1)) [[likely]] {
          take(block + at);
          continue;
        }
        std::size_t stop = blocks.run_end(found, static_cast<std::size_t>(p - block), at, kOfClass(found, found.classes[at]));
        if (stop == kBlock) break;
        if (stop == 0) stop = static_cast<std::size_t>(pattern.next_by_automaton(p, end) - block);
        take(block + stop);
        if (stop >= kBlock) break;
        left &= ~first_bits(stop + 1);
        // Until now, it was not known that the character at `stop` starts a pre-token.
        if (const std::size_t second = found.next(stop); second < kBlock) {
          const Mask bit = found.open_by_pairs & Mask{1} << second;
          open = (open & ~bit) | (found.open_after_start & bit);
          left = (left & ~bit) | ((found.open_after_start | found.ends_after_start) & bit);
        }
      }
      if (p == block) [[unlikely]] take(pattern.next_by_automaton(p, end));
    }
    shared_sink = sink;
    return p;
  }

  TOKBENCH_NEVER_INLINE const Byte* next_by_automaton(const Byte* p, const Byte* end) const {
    return next(matches_of(*matcher_.automaton(), end), p, end);
  }

#if TOKBENCH_HAS_AVX
  template <class Sink>
  TOKBENCH_FOR_AVX2 [[gnu::flatten]] static const Byte* split_by_registers(const void* state, const Byte* p, const Byte* end, Sink& sink) {
    return split_by_blocks<&PairBlocks::by_registers, &PairBlocks::of_class_by_registers>(*static_cast<const CompiledPattern*>(state), p, end, sink);
  }

  template <class Sink>
  TOKBENCH_FOR_AVX512 [[gnu::flatten]] static const Byte* split_by_wide_registers(const void* state, const Byte* p, const Byte* end, Sink& sink) {
    return split_by_blocks<&PairBlocks::by_wide_registers, &PairBlocks::of_class_by_wide_registers>(*static_cast<const CompiledPattern*>(state), p, end, sink);
  }
#endif

  Classify classify_ = classify_of(std::max(simd_tier(), SimdTier::Swar));  // which any tier but "scalar" may ask for
  CharacterSets sets_;
  SplitMatcher matcher_;
  std::optional<PairBlocks> blocks_ = blocks_of(matcher_.automaton(), sets_);
  bool cuts_at_spaces_;
};

}  // namespace tokbench
