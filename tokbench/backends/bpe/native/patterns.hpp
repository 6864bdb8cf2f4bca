// The named patterns: their rules, and one place where a name becomes a scanner.
#pragma once

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "block_scanner.hpp"
#include "scanner.hpp"

namespace tokbench {

enum class Pattern : std::uint8_t { Gpt2, Gpt4, Gpt4o, Llama3, Qwen2, Nanochat, RustBpe, Code, None };

inline constexpr std::array<std::string_view, 9> kPatternNames = {
    "gpt2", "gpt4", "gpt4o", "llama3", "qwen2", "nanochat", "rustbpe", "code", "none"};

inline Pattern pattern_named(std::string_view name) {
  for (std::size_t i = 0; i < kPatternNames.size(); ++i) {
    if (kPatternNames[i] == name) return static_cast<Pattern>(i);
  }
  throw std::invalid_argument("no scanner for the pattern \"" + std::string(name) + "\"");
}

//                                  contraction                 word                     digits newl  slash nlrule end1st indent
inline constexpr Rules kGpt2{Contraction::CaseSensitive, WordRule::SpaceBefore, 0, false, false, false, false, false};
inline constexpr Rules kGpt4{Contraction::IgnoreCase, WordRule::AnyBefore, 3, true, false, true, true, false};
inline constexpr Rules kGpt4o{Contraction::None, WordRule::CapitalsFirst, 3, true, true, true, false, false};
inline constexpr Rules kLlama3{Contraction::IgnoreCase, WordRule::AnyBefore, 3, true, false, true, false, false};
inline constexpr Rules kQwen2{Contraction::IgnoreCase, WordRule::AnyBefore, 1, true, false, true, false, false};
inline constexpr Rules kNanochat{Contraction::IgnoreCase, WordRule::AnyBefore, 2, true, false, true, false, false};
inline constexpr Rules kCode{Contraction::IgnoreCase, WordRule::CamelCase, 3, true, false, true, false, true};

template <Rules R>
struct RuleScanner {
  static constexpr bool kHasBlocks = has_blocks(R.word);
  static const Byte* next(const Byte* p, const Byte* end) { return next_pretoken<R>(p, end); }
  TOKBENCH_ALWAYS_INLINE static Mask starts(const ByteClasses& classes, const Byte* p, std::size_t size, const Byte* end) {
    return block_starts<R>(classes, p, size, end);
  }
};

struct WholeScanner {
  static constexpr bool kHasBlocks = false;
  static const Byte* next(const Byte*, const Byte* end) { return end; }
};

// Calls use(Scanner{}) for the pattern, so that a loop over a text is compiled for its scanner.
template <class Use>
decltype(auto) with_scanner(Pattern pattern, Use use) {
  switch (pattern) {
    case Pattern::Gpt2:
      return use(RuleScanner<kGpt2>{});
    case Pattern::Gpt4:
      return use(RuleScanner<kGpt4>{});
    case Pattern::Gpt4o:
      return use(RuleScanner<kGpt4o>{});
    case Pattern::Llama3:
    case Pattern::RustBpe:  // the same language, another spelling
      return use(RuleScanner<kLlama3>{});
    case Pattern::Qwen2:
      return use(RuleScanner<kQwen2>{});
    case Pattern::Nanochat:
      return use(RuleScanner<kNanochat>{});
    case Pattern::Code:
      return use(RuleScanner<kCode>{});
    case Pattern::None:
      break;
  }
  return use(WholeScanner{});
}

// From character to character, which defines the pre-tokens of a text, to the first one that ends at `stop` or behind
// it; returns where it ends.
template <class Scanner, class Sink>
TOKBENCH_NEVER_INLINE const Byte* scan_over(const Byte* p, const Byte* stop, const Byte* end, Sink& sink) {
  while (p < stop) {
    const Byte* const behind = Scanner::next(p, end);
    sink(p, behind);
    p = behind;
  }
  return p;
}

template <class Scanner, class Sink>
inline Sink for_each_pretoken_by_scanner(const Byte* p, const Byte* end, Sink sink) {
  scan_over<Scanner>(p, end, end, sink);
  return sink;
}

// Block by block, and by the scanner where a block does not tell. `classify` is inlined where the tier allows.
template <class Scanner, Classify classify, class Sink>
TOKBENCH_ALWAYS_INLINE inline Sink for_each_pretoken_by_blocks(const Byte* p, const Byte* end, Sink sink) {
  constexpr std::size_t kPoor = 16;  // a block that tells less is followed by a block's worth of scanning
  Byte padded[kBlock];
  while (static_cast<std::size_t>(end - p) >= kPoor) {
    const Byte* const block = p;
    const Byte* known = p;
    const auto size = std::min(static_cast<std::size_t>(end - p), kBlock);
    if (size < kBlock) [[unlikely]] {
      std::fill(std::copy(p, end, padded), padded + kBlock, Byte{0});
      known = padded;
    }
    for (Mask starts = Scanner::starts(classify(known), p, size, end) & ~Mask{1}; starts != 0; starts &= starts - 1) {
      const Byte* const stop = block + std::countr_zero(starts);
      sink(p, stop);
      p = stop;
    }
    if (p < block + kPoor) [[unlikely]] p = scan_over<Scanner>(p, block + size, end, sink);
  }
  scan_over<Scanner>(p, end, end, sink);
  return sink;
}

template <class Scanner, class Sink>
inline Sink for_each_pretoken_by_words(const Byte* p, const Byte* end, Sink sink) {
  return for_each_pretoken_by_blocks<Scanner, classify_by_words>(p, end, std::move(sink));
}

#if TOKBENCH_HAS_AVX2
// All of it with the processor's better instructions, and what it calls in one function with it.
template <class Scanner, class Sink>
__attribute__((target("avx2,bmi,bmi2"), flatten)) inline Sink for_each_pretoken_by_registers(const Byte* p, const Byte* end, Sink sink) {
  return for_each_pretoken_by_blocks<Scanner, classify_by_registers>(p, end, std::move(sink));
}
#endif

// Calls sink(start, stop) for each pre-token of the text, in order, and returns the sink.
template <class Scanner, class Sink>
inline Sink for_each_pretoken(Scanner, Bytes text, Sink sink, SimdTier tier = simd_tier()) {
  const Byte* const end = text.data() + text.size();
  if constexpr (Scanner::kHasBlocks) {
#if TOKBENCH_HAS_AVX2
    if (tier == SimdTier::Avx2) return for_each_pretoken_by_registers<Scanner>(text.data(), end, std::move(sink));
#endif
    if (tier == SimdTier::Swar) return for_each_pretoken_by_words<Scanner>(text.data(), end, std::move(sink));
  }
  return for_each_pretoken_by_scanner<Scanner>(text.data(), end, std::move(sink));
}

// Whether the pre-tokens on each side of `cut` do not depend on the other side. True for every pattern but
// "none": before a space between two ASCII letters (no pre-token holds a letter and then a space, and
// none looks back), and behind "\n" between a character that is no white space and a letter (no
// pre-token holds a line end and then a letter, and "\n" alone is split off alike at the end of a text).
inline bool is_safe_cut(Bytes text, std::size_t cut) {
  const Byte* const data = text.data();
  const Byte* const end = data + text.size();
  const auto is_ascii_letter = [](Byte byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; };
  if (data[cut] == ' ') return cut + 1 < text.size() && is_ascii_letter(data[cut - 1]) && is_ascii_letter(data[cut + 1]);
  if (cut < 2 || data[cut - 1] != '\n') return false;
  std::size_t before = cut - 2;
  while (before > 0 && is_continuation(data[before])) --before;
  return !is_space(character_at(data + before, end).kind) && is_letter(character_at(data + cut, end).kind);
}

// The last safe cut in text(from, size), or 0 where there is none. `text` may end inside a character.
inline std::size_t last_safe_cut(Pattern pattern, Bytes text, std::size_t from) {
  if (pattern == Pattern::None) return 0;
  for (std::size_t cut = text.size(); cut-- > from + 1;) {
    if ((text[cut] == ' ' || text[cut - 1] == '\n') && is_safe_cut(text, cut)) return cut;
  }
  return 0;
}

}  // namespace tokbench
