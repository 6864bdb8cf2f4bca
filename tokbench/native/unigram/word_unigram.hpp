// Unigram for words that are already split and normalized: each has a sum of scores of its own.
//
// Source: models/unigram/model.rs of tokenizers 0.23.
#pragma once

#include "best_path.hpp"
#include "encoding/encoder.hpp"

namespace tokbench {

class WordUnigramFamily {
 public:
  using Model = UnigramModel<double>;

  class Solver {
   public:
    explicit Solver(const Model& model) : texts_(model), path_(model) {}

    std::size_t solve(Bytes word, std::uint64_t, Id* out) {
      texts_.clear();
      texts_.add(word);
      texts_.walk();
      double sum = 0;
      return path_.after(sum, texts_[0], out);
    }

   private:
    WalkedTexts<double> texts_;
    BestPath<double> path_;
  };

  SplitWords split_words() const { return nullptr; }
  std::size_t first_safe_cut(const Text& text, std::size_t) const { return text.size; }
};

}  // namespace tokbench
