// Pair boundaries on blocks of 64 bytes: where pre-tokens end as bit masks, in the tiers whose registers hold tables.
//
// A block starts at the start of a pre-token, as in block_scanner.hpp. All bytes of a character have its class; all but the first
// one are also in `inside`.
#pragma once

#include "common/byte_classes.hpp"
#include "pair_boundaries.hpp"

namespace tokbench {

// Where pre-tokens of a block end: a bit for each byte before which one does. What pairs of characters leave open, the character
// before may still decide: whether it starts a pre-token.
struct BlockEnds {
  std::size_t size;           // the bytes of the block about which something is known
  Mask ends = 0;              // certainly, for pre-tokens without rare characters
  Mask open = 0;              // perhaps
  Mask open_by_pairs = 0;     // perhaps, if it is not known whether the character before starts a pre-token; if it does:
  Mask ends_after_start = 0;  // certainly
  Mask open_after_start = 0;  // perhaps
  Mask inside = 0;            // all bytes of characters but the first ones
  alignas(kBlock) PairBoundaries::Class classes[kBlock];

  // Where the character after the one at `start` is.
  std::size_t next(std::size_t start) const { return start + 1 + static_cast<std::size_t>(std::countr_one(inside >> start >> 1)); }
};

class PairBlocks {
 public:
  PairBlocks(PairBoundaries boundaries, const CharacterSets& sets) : boundaries_(std::move(boundaries)), sets_(&sets) {
    std::ranges::copy(boundaries_.classes_of_ascii(), ascii_);
    std::ranges::copy(boundaries_.outcomes(), outcomes_);
    for (std::size_t after = 0; after < kClasses; ++after) alone_[after / 8][after] = static_cast<Byte>(1U << after % 8);
    for (std::size_t before = 0; before < kClasses; ++before) {
      for (std::size_t after = 0; after < kClasses; ++after) {
        for (std::size_t kind = 0; kind < kKinds; ++kind) {
          const unsigned bit = outcomes_[before * kClasses + after] >> kind & 1U;
          rows_[kind][after / 8][before] |= static_cast<Byte>(bit << after % 8);
        }
      }
    }
  }

  // Where the pre-token from `start` on ends that may end at `open`: 0 if that is not known, kBlock if the next block may tell. That
  // one starts at `start`, and looks at all after it again, which would take long for a few characters each time.
  // `same` are the bytes of the class of the one at `open`.
  std::size_t run_end(const BlockEnds& block, std::size_t start, std::size_t open, Mask same) const {
    const auto size = static_cast<std::size_t>(std::countr_one(same >> open));
    const std::size_t after = open + size;
    if (after >= block.size) return start < kPoor ? 0 : kBlock;
    if (((block.inside << 1 | block.inside) >> open & first_bits(size)) != 0) return 0;  // these characters have several bytes
    switch (boundaries_.run_end(start + 1 == open, block.classes[open - 1], block.classes[open], size > 1, block.classes[after])) {
      case RunEnd::BeforeRun:
        return open;
      case RunEnd::BeforeLast:
        return after - 1;
      case RunEnd::AfterRun:
        return after;
      default:
        return 0;
    }
  }

#if TOKBENCH_HAS_AVX
  // The ends in a block of `size` bytes at `p`, which are also in `known`, followed by others.
  TOKBENCH_FOR_AVX2 BlockEnds by_registers(const Byte* known, const Byte* p, std::size_t size, const Byte* end) const {
    __m256i first = classes_of(load(known)), second = classes_of(load(known + 32));
    BlockEnds found;
    found.size = size;
    _mm256_store_si256(reinterpret_cast<__m256i*>(found.classes), first);
    _mm256_store_si256(reinterpret_cast<__m256i*>(found.classes + 32), second);
    if (const Mask high = avx2_bits(load(known), load(known + 32)) & first_bits(size)) {
      add_characters(high, p, end, found);
      first = load(found.classes);
      second = load(found.classes + 32);
    }
    const __m256i before_first = _mm256_alignr_epi8(first, _mm256_permute2x128_si256(first, first, 0x08), 15);
    const __m256i before_second = _mm256_alignr_epi8(second, _mm256_permute2x128_si256(first, second, 0x21), 15);
    Mask outcomes[kKinds];
    for (unsigned kind = 0; kind < kKinds; ++kind) {
      outcomes[kind] = avx2_bits(outcome_of(kind, before_first, first), outcome_of(kind, before_second, second));
    }
    complete(outcomes, found);
    return found;
  }

  TOKBENCH_FOR_AVX512 BlockEnds by_wide_registers(const Byte* known, const Byte* p, std::size_t size, const Byte* end) const {
    const __m512i bytes = _mm512_loadu_si512(known);
    __m512i after = _mm512_permutex2var_epi8(_mm512_load_si512(ascii_), bytes, _mm512_load_si512(ascii_ + 64));
    BlockEnds found;
    found.size = size;
    _mm512_store_si512(found.classes, after);
    if (const Mask high = _mm512_movepi8_mask(bytes) & first_bits(size)) {
      add_characters(high, p, end, found);
      after = _mm512_load_si512(found.classes);
    }
    const __m512i before = _mm512_permutex2var_epi8(after, _mm512_load_si512(kOneBefore.data()), after);
    // A class has four bits. The instruction with a mask does the same; without one, some compilers warn of it.
    const __m512i pairs = _mm512_or_si512(_mm512_maskz_slli_epi16(~__mmask32{0}, before, 4), after);
    const __m512i low = _mm512_permutex2var_epi8(_mm512_load_si512(outcomes_), pairs, _mm512_load_si512(outcomes_ + 64));
    const __m512i high = _mm512_permutex2var_epi8(_mm512_load_si512(outcomes_ + 128), pairs, _mm512_load_si512(outcomes_ + 192));
    const __m512i of_pairs = _mm512_mask_blend_epi8(_mm512_movepi8_mask(pairs), low, high);
    Mask outcomes[kKinds];
    for (unsigned kind = 0; kind < kKinds; ++kind) {
      outcomes[kind] = _mm512_test_epi8_mask(of_pairs, _mm512_set1_epi8(static_cast<char>(1U << kind)));
    }
    complete(outcomes, found);
    return found;
  }

  // The bytes of a block that have a class.
  TOKBENCH_FOR_AVX2 static Mask of_class_by_registers(const BlockEnds& block, Byte wanted) {
    return avx2_bits_of(load(block.classes), load(block.classes + 32), static_cast<char>(wanted));
  }

  TOKBENCH_FOR_AVX512 static Mask of_class_by_wide_registers(const BlockEnds& block, Byte wanted) {
    return avx512_equal(_mm512_load_si512(block.classes), static_cast<char>(wanted));
  }
#endif

 private:
  static constexpr std::size_t kClasses = PairBoundaries::kMostClasses;
  static constexpr std::size_t kKinds = 6;  // bits of an outcome
  static constexpr std::size_t kPoor = 16;  // bytes: a block that yields fewer is not worth another one

  alignas(kBlock) static constexpr std::array<Byte, kBlock> kOneBefore = [] {
    std::array<Byte, kBlock> numbers{};
    std::iota(numbers.begin() + 1, numbers.end(), Byte{0});
    return numbers;
  }();

  // Sets the classes of non-ASCII characters; reduces the size to the first one that is incomplete.
  void add_characters(Mask high, const Byte* p, const Byte* end, BlockEnds& found) const {
    while (high != 0) {
      const auto start = static_cast<std::size_t>(std::countr_zero(high));
      std::size_t length;
      const PairBoundaries::Class own = boundaries_.class_of(sets_->class_of_character(p + start, end, length));
      if (start + length > found.size) {
        found.size = start;
        return;
      }
      // All of its one to four bytes, without a loop or a call, whose branches cost more.
      PairBoundaries::Class* const classes = found.classes + start;
      classes[0] = classes[length / 4] = classes[length / 2] = classes[length - 1] = own;
      const Mask bits = first_bits(length) << start;
      found.inside |= bits & (bits << 1);
      high &= ~bits;
    }
  }

  // Decides what pairs leave open by what is known of the characters before. Bit i of the outcomes is of bytes i - 1 and i.
  static void complete(const Mask (&outcomes)[kKinds], BlockEnds& found) {
    const Mask known = first_bits(found.size) & ~found.inside & ~Mask{1};
    const Mask ends = outcomes[0] & known, open = outcomes[1] & known;
    const auto next = [&](Mask characters) { return ((characters << 1) + found.inside) & ~found.inside; };
    const Mask after_start = next(ends | Mask{1}) & open;
    const Mask after_others = next(known & ~ends & ~open) & open;
    found.open_by_pairs = open;
    found.ends_after_start = outcomes[kAfterStart] & open;
    found.open_after_start = outcomes[kAfterStart + 1] & open;
    found.ends = ends | (after_start & outcomes[kAfterStart]) | (after_others & outcomes[kAfterOthers]);
    found.open = (open & ~after_start & ~after_others) | (after_start & outcomes[kAfterStart + 1]) | (after_others & outcomes[kAfterOthers + 1]);
  }

#if TOKBENCH_HAS_AVX
  TOKBENCH_FOR_AVX2 static __m256i load(const Byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }

  // For each byte below 16, that of a table; 0 for 128 and above.
  TOKBENCH_FOR_AVX2 static __m256i looked_up(const Byte* table, __m256i indices) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table))), indices);
  }

  // Of ASCII characters; 0 for other bytes.
  TOKBENCH_FOR_AVX2 __m256i classes_of(__m256i bytes) const {
    const __m256i low = _mm256_and_si256(bytes, _mm256_set1_epi8(0x0F));
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0F));
    __m256i classes = _mm256_setzero_si256();
    for (unsigned row = 0; row < 8; ++row) {
      const __m256i is_row = _mm256_cmpeq_epi8(high, _mm256_set1_epi8(static_cast<char>(row)));
      classes = _mm256_or_si256(classes, _mm256_and_si256(is_row, looked_up(ascii_ + 16 * row, low)));
    }
    return classes;
  }

  TOKBENCH_FOR_AVX2 __m256i outcome_of(std::size_t kind, __m256i before, __m256i after) const {
    const __m256i low = _mm256_and_si256(looked_up(rows_[kind][0], before), looked_up(alone_[0], after));
    const __m256i high = _mm256_and_si256(looked_up(rows_[kind][1], before), looked_up(alone_[1], after));
    const __m256i is_absent = _mm256_cmpeq_epi8(_mm256_or_si256(low, high), _mm256_setzero_si256());
    return _mm256_xor_si256(is_absent, _mm256_set1_epi8(-1));
  }
#endif

  PairBoundaries boundaries_;
  const CharacterSets* sets_;
  alignas(kBlock) PairBoundaries::Class ascii_[128];
  alignas(kBlock) PairOutcome outcomes_[kClasses * kClasses];
  // For AVX2, whose tables have sixteen bytes. Each class has one of eight bits in one of two tables; for each kind of outcome and
  // class before, the bits of the classes after it that have this outcome.
  alignas(kClasses) Byte alone_[2][kClasses] = {};
  alignas(kClasses) Byte rows_[kKinds][2][kClasses] = {};
};

}  // namespace tokbench
