// WordPiece of words that are cut and normalised elsewhere.
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
      const auto characters = static_cast<std::size_t>(std::ranges::count_if(word, [](Byte byte) { return !is_continuation(byte); }));
      return pieces_.encode(word, characters, out);
    }

   private:
    const Pieces& pieces_;
  };

  SplitWords split_words() const { return nullptr; }
  std::size_t first_safe_cut(const Text& text, std::size_t) const { return text.size; }
};

}  // namespace tokbench
