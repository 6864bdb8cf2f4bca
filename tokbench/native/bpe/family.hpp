// Byte-level BPE as the encoder runs it: pre-tokens of a pattern, each by itself merged.
#pragma once

#include "encoding/encoder.hpp"
#include "merger.hpp"
#include "reachable.hpp"
#include "safe_cuts.hpp"
#include "word_splitting.hpp"

namespace tokbench {

class BpeFamily {
 public:
  using Model = Vocabulary;

  class Solver {
   public:
    explicit Solver(const Vocabulary& vocabulary) : vocabulary_(vocabulary), merger_(vocabulary) {}

    std::size_t solve(Bytes pretoken, std::uint64_t hash, Id* out) {
      if (const auto whole = vocabulary_.whole_token(pretoken, hash)) {
        *out = *whole;
        return 1;
      }
      return merger_.merge(pretoken, out);
    }
    void fetch(std::uint64_t hash) const { vocabulary_.fetch_whole_token(hash); }

   private:
    const Vocabulary& vocabulary_;
    Merger merger_;
  };

  BpeFamily(Pattern pattern) : pattern_(pattern), split_words_(split_words_of(pattern)) {}  // NOLINT: a pattern is enough

  SplitWords split_words() const { return split_words_; }
  std::size_t first_safe_cut(const Text& text, std::size_t from) const {
    return tokbench::first_safe_cut(pattern_, text, from);
  }
  static std::shared_ptr<const Vocabulary> completed(std::shared_ptr<const Vocabulary> vocabulary) {
    return tokbench::completed(std::move(vocabulary));
  }

 private:
  Pattern pattern_;
  SplitWords split_words_;
};

using BpeEncoder = Encoder<BpeFamily>;

}  // namespace tokbench
