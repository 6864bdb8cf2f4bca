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

  // Computes the number of bytes that the ids of a word cover.
  class Sizes {
   public:
    explicit Sizes(const Model& model) : model_(model), texts_(model), path_(model) {}

    // Calls use(id, size) for each id of a word, or use(ids, size) for ids that cover the same bytes. Where unknown characters
    // leave the sizes open, the word is segmented again.
    template <class Use>
    void for_each(Bytes word, std::span<const Id> ids, const Use& use) {
      const Id unknown = model_.rules().unknown;
      std::size_t known_size = 0, num_unknown = 0;
      for (const Id id : ids) {
        num_unknown += id == unknown;
        known_size += id == unknown ? 0 : model_.piece_size(id);
      }
      const bool is_known = num_unknown == 0 ? known_size == word.size()
                                             : num_unknown == 1 && known_size < word.size() && !model_.rules().has_byte_fallback;
      if (!is_known) return segment(word, use);
      for (const Id id : ids) use(id, id == unknown ? word.size() - known_size : model_.piece_size(id));
    }

   private:
    template <class Use>
    void segment(Bytes word, const Use& use) {
      texts_.clear();
      texts_.add(word);
      texts_.walk();
      double sum = 0;
      path_.place(sum, texts_[0], [&](std::span<const Id> ids, std::size_t start, std::size_t stop) { use(ids, stop - start); });
    }

    const Model& model_;
    WalkedTexts<double> texts_;
    BestPath<double> path_;
  };

  SplitWords split_words() const { return nullptr; }
  std::size_t first_safe_cut(const Text& text, std::size_t) const { return text.size; }
};

}  // namespace tokbench
