#include "word_splitting.hpp"

#include "word_cuts.hpp"

namespace tokbench {

namespace {

using FindSpaces = Mask (*)(const Byte*);  // reads kBlock bytes

// Splits byte by byte: the definition.
template <WordCut kCut, class Sink>
const Byte* split_by_scanner(const Byte* p, const Byte* end, Sink& sink) {
  while (p != end && sink.has_room()) {
    const CutWord word = next_word<kCut>(p, end);
    if (word.start != word.stop) sink(word.start, word.stop);
    p = word.stop;
  }
  return p;
}

// Splits block by block. `find_spaces` is inlined if the tier allows. Works on a copy of the sink, which the compiler keeps in
// registers.
template <WordCut kCut, FindSpaces find_spaces, class Sink>
TOKBENCH_ALWAYS_INLINE inline const Byte* split_by_blocks(const Byte* p, const Byte* end, Sink& shared_sink) {
  Sink sink = shared_sink;
  Byte padded[kBlock];
  const Byte* open = kCut == WordCut::BeforeSpaces ? p : nullptr;  // start of the word that has not ended yet
  Mask was_space = 1;
  while (p != end) {
    if (!sink.has_room()) [[unlikely]] break;
    const Byte* block = p;
    const auto size = std::min(static_cast<std::size_t>(end - p), kBlock);
    if (size < kBlock) [[unlikely]] {
      std::fill(std::copy(p, end, padded), padded + kBlock, Byte{0});
      block = padded;
    }
    const Mask spaces = find_spaces(block), after_space = spaces << 1 | was_space;
    Mask stops = spaces & ~after_space & first_bits(size);
    if constexpr (kCut == WordCut::BeforeSpaces) {
      for (; stops != 0; stops &= stops - 1) {
        const Byte* const stop = p + std::countr_zero(stops);
        sink(open, stop);
        open = stop;
      }
    } else {
      Mask starts = ~spaces & after_space & first_bits(size);
      if (open != nullptr && stops != 0) {
        sink(open, p + std::countr_zero(stops));
        stops &= stops - 1;
        open = nullptr;
      }
      for (; stops != 0; stops &= stops - 1, starts &= starts - 1) sink(p + std::countr_zero(starts), p + std::countr_zero(stops));
      if (starts != 0) open = p + std::countr_zero(starts);
    }
    was_space = spaces >> (kBlock - 1);
    p += size;
  }
  if (p == end) {
    if (open != nullptr && open != end) sink(open, end);
    open = nullptr;
  }
  shared_sink = sink;
  return open != nullptr ? open : p;
}

template <WordCut kCut, class Sink>
const Byte* split_by_words(const Byte* p, const Byte* end, Sink& sink) {
  return split_by_blocks<kCut, spaces_by_words<kCut>>(p, end, sink);
}

#if TOKBENCH_HAS_AVX
template <WordCut kCut, class Sink>
TOKBENCH_FOR_AVX2 [[gnu::flatten]] const Byte* split_by_registers(const Byte* p, const Byte* end, Sink& sink) {
  return split_by_blocks<kCut, spaces_by_registers<kCut>>(p, end, sink);
}

template <WordCut kCut, class Sink>
TOKBENCH_FOR_AVX512 [[gnu::flatten]] const Byte* split_by_wide_registers(const Byte* p, const Byte* end, Sink& sink) {
  return split_by_blocks<kCut, spaces_by_wide_registers<kCut>>(p, end, sink);
}
#endif

template <WordCut kCut, class Sink>
SplitInto<Sink> split_in(SimdTier tier) {
#if TOKBENCH_HAS_AVX
  if (tier == SimdTier::Avx512) return &split_by_wide_registers<kCut, Sink>;
  if (tier == SimdTier::Avx2) return &split_by_registers<kCut, Sink>;
#endif
  return tier == SimdTier::Swar ? &split_by_words<kCut, Sink> : &split_by_scanner<kCut, Sink>;
}

template <class Sink>
const Byte* whole_text(const Byte* p, const Byte* end, Sink& sink) {
  sink(p, end);
  return end;
}

template <class Sink>
SplitInto<Sink> split_into(WordCut cut, SimdTier tier) {
  if (cut == WordCut::AtSpaces) return split_in<WordCut::AtSpaces, Sink>(tier);
  if (cut == WordCut::AtWhiteSpace) return split_in<WordCut::AtWhiteSpace, Sink>(tier);
  if (cut == WordCut::BeforeSpaces) return split_in<WordCut::BeforeSpaces, Sink>(tier);
  return &whole_text<Sink>;
}

}  // namespace

SplitWords words_of(WordCut cut, SimdTier tier) { return split_into<TextWords>(cut, tier); }

SplitInto<CutPlaces> word_places_of(WordCut cut, SimdTier tier) { return split_into<CutPlaces>(cut, tier); }

}  // namespace tokbench
