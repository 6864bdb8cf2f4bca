// Texts → ids with the part of its text that each is from, as `tokenizers` says it: from the beginning of the first character
// that the token has something of to the end of the last one.
#pragma once

#include "common/threads.hpp"
#include "family.hpp"

namespace tokbench {

// Of many texts, one behind another. Places are in bytes of the UTF-8 of each text.
struct Placed {
  std::vector<Id> ids;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> stops;
  std::vector<std::int64_t> counts;  // of the ids of each text
};

// Places the tokens of texts on one thread. Nothing is remembered: each word is solved where it stands.
class Placing {
 public:
  explicit Placing(const Pieces& pieces)
      : pieces_(pieces), places_of_(bert_word_places_of(pieces.rules().handle_chinese_chars)) {}

  void add(const Text& text, Placed& placed) {
    const Bytes utf8 = utf8_of(text, utf8_);
    const std::size_t before = placed.ids.size();
    const Byte* const end = utf8.data() + utf8.size();
    const Byte* found[2 * kMostPretokens];
    for (const Byte* p = utf8.data(); p != end;) {
      WordPlaces words{found, found + 2 * kEnoughPretokens};
      p = places_of_(p, end, words);
      for (const Byte** word = found; word != words.next; word += 2) {
        add_word({word[0], word[1]}, static_cast<std::size_t>(word[0] - utf8.data()), placed);
      }
    }
    placed.counts.push_back(static_cast<std::int64_t>(placed.ids.size() - before));
  }

 private:
  void add_word(Bytes word, std::size_t offset, Placed& placed) {
    if (word.size() > UINT32_MAX) throw std::length_error("a word of more than 4 GB");
    for_each_normal_word<true>(pieces_.rules(), word, normal_, [&](std::size_t start, std::size_t size, std::size_t characters) {
      ids_.resize(std::max(ids_.size(), characters));
      const std::size_t count = pieces_.encode_known({normal_.bytes.data() + start, size}, characters, ids_.data());
      if (count == 0) return add_token(pieces_.unknown(), start, start + size, offset, placed);
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t stop = start + pieces_.covered(ids_[i], i == 0);
        add_token(ids_[i], start, stop, offset, placed);
        start = stop;
      }
    });
  }

  // A token of the bytes [start, stop) of a word's normal form.
  void add_token(Id id, std::size_t start, std::size_t stop, std::size_t offset, Placed& placed) {
    placed.ids.push_back(id);
    placed.starts.push_back(static_cast<std::int64_t>(offset + normal_.places[start].start));
    placed.stops.push_back(static_cast<std::int64_t>(offset + normal_.places[stop - 1].stop));
  }

  const Pieces& pieces_;
  SplitInto<WordPlaces> places_of_;
  std::vector<Byte> utf8_;
  std::vector<Id> ids_;
  NormalText normal_;
};

// The same on threads, each with some of the texts at a time.
inline Placed placed_texts(const Pieces& pieces, std::span<const Text> texts, unsigned threads) {
  constexpr std::size_t kUnits = 1 << 16;
  std::vector<std::size_t> starts{0};
  std::size_t units = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    units += texts[i].size;
    if (units < kUnits && i + 1 != texts.size()) continue;
    starts.push_back(i + 1);
    units = 0;
  }
  std::vector<Placed> parts(starts.size() - 1);
  Turns turns(parts.size());
  run_on(static_cast<unsigned>(std::min<std::size_t>(threads, parts.size())), [&] {
    Placing placing(pieces);
    for (std::size_t part; turns.take(part);) {
      for (std::size_t i = starts[part]; i < starts[part + 1]; ++i) placing.add(texts[i], parts[part]);
    }
  });
  if (parts.size() == 1) return std::move(parts.front());
  Placed all;
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (Placed& part : parts) {
    append(all.ids, part.ids);
    append(all.starts, part.starts);
    append(all.stops, part.stops);
    append(all.counts, part.counts);
    part = {};
  }
  return all;
}

}  // namespace tokbench
