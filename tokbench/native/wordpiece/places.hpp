// The spans of tokens. As in `tokenizers`, a span extends from the start of the first character that contributes to the token
// to the end of the last one.
//
// The tokens of an ASCII word are adjacent. Other words are normalized again with the origin of each byte.
#pragma once

#include "encoding/placed_texts.hpp"
#include "family.hpp"

namespace tokbench {

// Computes the spans of tokens, one word after another.
class Placing {
 public:
  Placing(const Pieces& pieces, Placed& placed) : pieces_(pieces), placed_(placed) {}

  void begin_text(Bytes text) { text_ = text.data(); }

  // Adds the ids of a word of the text.
  void add(Bytes word, std::span<const Id> ids) {
    if (!is_plain(word)) return add_normalized(word);
    const std::int64_t start = word.data() - text_, stop = start + static_cast<std::int64_t>(word.size());
    // A single id covers the whole word, known or unknown.
    if (ids.size() == 1) return placed_.add(ids.front(), start, stop);
    std::int64_t first = start;
    for (const Id id : ids) {
      const std::int64_t after = first + static_cast<std::int64_t>(pieces_.covered(id, first == start));
      placed_.add(id, first, after);
      first = after;
    }
  }

 private:
  static bool is_plain(Bytes word) {
    bool others = false;
    for (const Byte byte : word) others |= static_cast<Byte>(byte - 0x21) > '~' - 0x21;
    return !others;
  }

  void add_normalized(Bytes word) {
    if (word.size() > UINT32_MAX) throw std::length_error("a word of more than 4 GB");
    const std::int64_t offset = word.data() - text_;
    for_each_normal_word<true>(pieces_.rules(), word, normal_, [&](std::size_t start, std::size_t size, std::size_t characters) {
      if (ids_.size() < characters) ids_.resize(characters * 2);
      const std::size_t count = pieces_.encode({normal_.bytes.data() + start, size}, characters, ids_.data());
      const std::size_t end = start + size;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t stop = count == 1 ? end : start + pieces_.covered(ids_[i], i == 0);
        placed_.add(ids_[i], offset + normal_.places[start].start, offset + normal_.places[stop - 1].stop);
        start = stop;
      }
    });
  }

  const Pieces& pieces_;
  Placed& placed_;
  const Byte* text_ = nullptr;
  std::vector<Id> ids_;
  NormalText normal_;
};

}  // namespace tokbench
