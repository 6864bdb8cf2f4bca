#include "word_splitting.hpp"

#include "word_scanner.hpp"

namespace tokbench {

namespace {

using FindClasses = WordClasses (*)(const Byte*);  // reads kBlock bytes

// From character to character, which defines the words of a text, to the first one that ends at `stop` or after it; returns
// where it ends.
template <bool kIdeographs, class Sink>
TOKBENCH_NEVER_INLINE const Byte* scan_over(const Byte* p, const Byte* stop, const Byte* end, Sink& sink) {
  while (p < stop) {
    const WordFound word = next_word<kIdeographs>(p, end);
    if (word.start != word.stop) sink(word.start, word.stop);
    p = word.stop;
  }
  return p;
}

template <bool kIdeographs, class Sink>
const Byte* split_by_scanner(const Byte* p, const Byte* end, Sink& sink) {
  while (p != end && sink.has_room()) {
    p = scan_over<kIdeographs>(p, p + std::min(static_cast<std::size_t>(end - p), kBlock), end, sink);
  }
  return p;
}

// Block by block, and by the scanner where a block does not tell. `find_classes` is inlined where the tier allows. The sink
// is a copy, which the compiler keeps in registers.
template <bool kIdeographs, FindClasses find_classes, class Sink>
TOKBENCH_ALWAYS_INLINE inline const Byte* split_by_blocks(const Byte* p, const Byte* end, Sink& shared_sink) {
  constexpr std::size_t kPoor = 16;  // a block that tells less is followed by a block's worth of scanning
  Sink sink = shared_sink;
  Byte padded[kBlock];
  while (static_cast<std::size_t>(end - p) >= kPoor && sink.has_room()) {
    const Byte* known = p;
    const auto size = std::min(static_cast<std::size_t>(end - p), kBlock);
    if (size < kBlock) [[unlikely]] {
      std::fill(std::copy(p, end, padded), padded + kBlock, Byte{0});
      known = padded;
    }
    BlockWords words = block_words<kIdeographs>(find_classes(known), p, size, end);
    while (words.firsts != 0) {
      sink(p + std::countr_zero(words.firsts), p + std::countr_zero(words.lasts) + 1);
      words.firsts &= words.firsts - 1;
      words.lasts &= words.lasts - 1;
    }
    p += words.size;
    if (words.size < kPoor) [[unlikely]] p = scan_over<kIdeographs>(p, p + size - words.size, end, sink);
  }
  if (sink.has_room()) p = scan_over<kIdeographs>(p, end, end, sink);
  shared_sink = sink;
  return p;
}

template <bool kIdeographs, class Sink>
const Byte* split_by_words(const Byte* p, const Byte* end, Sink& sink) {
  return split_by_blocks<kIdeographs, word_classes_by_words>(p, end, sink);
}

#if TOKBENCH_HAS_AVX
// All of it with the processor's better instructions, and what it calls in one function with it.
template <bool kIdeographs, class Sink>
TOKBENCH_FOR_AVX2 [[gnu::flatten]] const Byte* split_by_registers(const Byte* p, const Byte* end, Sink& sink) {
  return split_by_blocks<kIdeographs, word_classes_by_registers>(p, end, sink);
}

template <bool kIdeographs, class Sink>
TOKBENCH_FOR_AVX512 [[gnu::flatten]] const Byte* split_by_wide_registers(const Byte* p, const Byte* end, Sink& sink) {
  return split_by_blocks<kIdeographs, word_classes_by_wide_registers>(p, end, sink);
}
#endif

template <bool kIdeographs, class Sink>
SplitInto<Sink> split_in(SimdTier tier) {
#if TOKBENCH_HAS_AVX
  if (tier == SimdTier::Avx512) return &split_by_wide_registers<kIdeographs, Sink>;
  if (tier == SimdTier::Avx2) return &split_by_registers<kIdeographs, Sink>;
#endif
  return tier == SimdTier::Swar ? &split_by_words<kIdeographs, Sink> : &split_by_scanner<kIdeographs, Sink>;
}

template <class Sink>
SplitInto<Sink> split_into(bool ideographs, SimdTier tier) {
  return ideographs ? split_in<true, Sink>(tier) : split_in<false, Sink>(tier);
}

}  // namespace

SplitWords bert_words_of(bool ideographs, SimdTier tier) { return split_into<TextWords>(ideographs, tier); }

SplitInto<WordPlaces> bert_word_places_of(bool ideographs, SimdTier tier) { return split_into<WordPlaces>(ideographs, tier); }

}  // namespace tokbench
