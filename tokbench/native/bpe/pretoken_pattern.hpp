// The pattern that splits texts into pre-tokens: a named one with its scanner, or a compiled one.
#pragma once

#include <memory>

#include "safe_cuts.hpp"
#include "word_splitting.hpp"

namespace tokbench {

class PretokenPattern {
 public:
  PretokenPattern(Pattern named) : named_(named) {}  // NOLINT: implicit on purpose
  PretokenPattern(std::shared_ptr<const CompiledPattern> compiled) : compiled_(std::move(compiled)) {}  // NOLINT: implicit on purpose

  // The splitting functions, which all tiers have with the same result. A copy of this pattern must outlive them.
  Split split(SimdTier tier = simd_tier()) const { return compiled_ ? split_of(*compiled_, tier) : split_of(named_, tier); }
  SplitWords split_words() const { return compiled_ ? split_words_of(*compiled_) : split_words_of(named_); }

  // Whether it splits at each space between two ASCII letters, and both sides as if they stood alone.
  bool cuts_at_spaces() const { return compiled_ ? compiled_->cuts_at_spaces() : has_safe_cuts(named_); }

  // The first safe cut at or after `from` > 0, in units; the size of the text if there is none.
  std::size_t first_safe_cut(const Text& text, std::size_t from) const {
    if (!compiled_) return tokbench::first_safe_cut(named_, text, from);
    return compiled_->cuts_at_spaces() ? first_space_between_letters(text, from) : text.size;
  }

  // The last safe cut after `from`, or 0 if there is none. `text` may end inside a character.
  std::size_t last_safe_cut(Bytes text, std::size_t from) const {
    if (!compiled_) return tokbench::last_safe_cut(named_, text, from);
    return compiled_->cuts_at_spaces() ? last_space_between_letters(text, from) : 0;
  }

 private:
  Pattern named_ = Pattern::None;
  std::shared_ptr<const CompiledPattern> compiled_;
};

}  // namespace tokbench
