// WordPiece for the encoder: each word of the raw text is normalized, split further and matched by itself.
#pragma once

#include "encoding/encoder.hpp"
#include "normal_words.hpp"
#include "pieces.hpp"
#include "word_splitting.hpp"

namespace tokbench {

class WordPieceFamily {
 public:
  using Model = Pieces;

  class Solver {
   public:
    explicit Solver(const Pieces& pieces) : pieces_(pieces) {}

    // Normalization never yields more characters than a word has bytes: no character does (a test checks all of them).
    std::size_t solve(Bytes word, std::uint64_t, Id* out) {
      if (is_plain(word)) return pieces_.encode({plain_.data(), word.size()}, word.size(), out);
      Id* const first = out;
      for_each_normal_word<false>(pieces_.rules(), word, normal_, [&](std::size_t start, std::size_t size, std::size_t characters) {
        out += pieces_.encode({normal_.bytes.data() + start, size}, characters, out);
      });
      return static_cast<std::size_t>(out - first);
    }

   private:
    // Whether a word is ASCII without control characters, so that normalization only lower-cases it; plain_ is then the result.
    bool is_plain(Bytes word) {
      if (plain_.size() < word.size()) plain_.resize(word.size() * 2);
      const Byte bit = pieces_.rules().lowercase ? 0x20 : 0;
      unsigned others = 0;
      for (std::size_t i = 0; i < word.size(); ++i) {
        const Byte byte = word[i];
        others |= static_cast<unsigned>(static_cast<Byte>(byte - 0x21) > '~' - 0x21);
        plain_[i] = static_cast<Byte>(byte | (static_cast<Byte>(byte - 'A') < 26 ? bit : 0));
      }
      return others == 0;
    }

    const Pieces& pieces_;
    std::vector<Byte> plain_;
    NormalText normal_;
  };

  explicit WordPieceFamily(const BertRules& rules) : split_words_(bert_words_of(rules.handle_chinese_chars)) {}

  SplitWords split_words() const { return split_words_; }

  // Before white space, which no word contains and which ends every run of combining marks.
  std::size_t first_safe_cut(const Text& text, std::size_t from) const {
    const auto among = [&](const auto* units) {
      for (std::size_t cut = from; cut < text.size; ++cut) {
        if (units[cut] == ' ' || units[cut] == '\n') return cut;
      }
      return text.size;
    };
    if (text.units == Units::Ucs2) return among(static_cast<const std::uint16_t*>(text.data));
    if (text.units == Units::Ucs4) return among(static_cast<const std::uint32_t*>(text.data));
    return among(static_cast<const std::uint8_t*>(text.data));
  }

 private:
  SplitWords split_words_;
};

using WordPieceEncoder = Encoder<WordPieceFamily>;

}  // namespace tokbench
