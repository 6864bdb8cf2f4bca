// WordPiece for words that are already split and normalized.
#pragma once

#include "encoding/encoder.hpp"
#include "pieces.hpp"

namespace tokbench {

class PlainWordPieceFamily {
 public:
  using Model = Pieces;

  class Solver {
   public:
    explicit Solver(const Pieces& pieces) : pieces_(pieces) {}

    std::size_t solve(Bytes word, std::uint64_t, Id* out) {
      if (pieces_.counts_bytes()) return pieces_.encode(word, word.size(), out);
      const auto characters = static_cast<std::size_t>(std::ranges::count_if(word, [](Byte byte) { return !is_continuation(byte); }));
      return pieces_.encode(word, characters, out);
    }

   private:
    const Pieces& pieces_;
  };

  // Computes the number of bytes that each id of a word covers.
  class Sizes {
   public:
    explicit Sizes(const Pieces& pieces) : pieces_(pieces) {}

    // Calls use(id, size) for each id of a word. A single id covers the whole word, known or unknown.
    template <class Use>
    void for_each(Bytes word, std::span<const Id> ids, const Use& use) const {
      if (ids.size() == 1) return use(ids.front(), word.size());
      for (std::size_t i = 0; i < ids.size(); ++i) use(ids[i], pieces_.covered(ids[i], i == 0));
    }

   private:
    const Pieces& pieces_;
  };

  SplitWords split_words() const { return nullptr; }
  std::size_t first_safe_cut(const Text& text, std::size_t) const { return text.size; }
};

}  // namespace tokbench
