// Texts → ids with the part of its text that each is from, as `tokenizers` says it: from the beginning of the first character
// that the token has something of to the end of the last one.
//
// The tokens of a word of plain ASCII stand side by side in it. Other words are normalised again to see what became of their
// characters.
#pragma once

#include "family.hpp"

namespace tokbench {

// Of many texts, one behind another. Places are in bytes of the UTF-8 of each text.
struct Placed {
  std::vector<Id> ids;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> stops;
  std::vector<std::int64_t> counts;  // of the ids of each text
};

// Places the tokens of one word after another.
class Placing {
 public:
  Placing(const Pieces& pieces, Placed& placed) : pieces_(pieces), placed_(placed) {}

  void begin_text(Bytes text) { text_ = text.data(); }

  // The ids of a word of the text.
  void add(Bytes word, std::span<const Id> ids) {
    if (!is_plain(word)) return add_normalised(word);
    const std::int64_t start = word.data() - text_, stop = start + static_cast<std::int64_t>(word.size());
    // A single one is the whole word, known or not.
    if (ids.size() == 1) return add_token(ids.front(), start, stop);
    std::int64_t first = start;
    for (const Id id : ids) {
      const std::int64_t behind = first + static_cast<std::int64_t>(pieces_.covered(id, first == start));
      add_token(id, first, behind);
      first = behind;
    }
  }

 private:
  static bool is_plain(Bytes word) {
    bool others = false;
    for (const Byte byte : word) others |= static_cast<Byte>(byte - 0x21) > '~' - 0x21;
    return !others;
  }

  void add_normalised(Bytes word) {
    if (word.size() > UINT32_MAX) throw std::length_error("a word of more than 4 GB");
    const std::int64_t offset = word.data() - text_;
    for_each_normal_word<true>(pieces_.rules(), word, normal_, [&](std::size_t start, std::size_t size, std::size_t characters) {
      if (ids_.size() < characters) ids_.resize(characters * 2);
      const std::size_t count = pieces_.encode({normal_.bytes.data() + start, size}, characters, ids_.data());
      const std::size_t end = start + size;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t stop = count == 1 ? end : start + pieces_.covered(ids_[i], i == 0);
        add_token(ids_[i], offset + normal_.places[start].start, offset + normal_.places[stop - 1].stop);
        start = stop;
      }
    });
  }

  void add_token(Id id, std::int64_t start, std::int64_t stop) {
    placed_.ids.push_back(id);
    placed_.starts.push_back(start);
    placed_.stops.push_back(stop);
  }

  const Pieces& pieces_;
  Placed& placed_;
  const Byte* text_ = nullptr;
  std::vector<Id> ids_;
  NormalText normal_;
};

// What a worker gives the ids of each word to.
struct PlacingIds {
  using Worker = WordPieceEncoder::Worker;

  Placing* placing;
  Bytes word{};
  Id* unseen = nullptr;

  void begin_text(Bytes text) { placing->begin_text(text); }
  void begin_word(const TextWord& next) { word = next.bytes(); }
  void begin(std::size_t) {}
  void put(const WordEntry& entry) { placing->add(word, {entry.few(), entry.count()}); }
  void put(std::span<const Id> ids) { placing->add(word, ids); }
  Id* room(Worker& worker, std::size_t size) { return unseen = worker.scratch_for(size); }
  void use(std::size_t count) { placing->add(word, {unseen, count}); }
  void end() {}
};

// The places of the tokens of many texts on `threads` threads; the result does not depend on how many.
inline Placed placed_texts(const WordPieceEncoder& encoder, std::span<const Text> texts, unsigned threads) {
  struct Part {
    std::size_t text;
    std::size_t bytes;
    std::size_t count;
  };
  struct Chunk {
    Placed placed;
    std::vector<Part> parts;
  };
  std::mutex mutex;
  std::vector<Chunk> chunks;
  const std::shared_ptr<const Pieces> pieces = encoder.model();
  encoder.on_chunks(texts, threads, [&](WordPieceEncoder::Worker& worker, const Chunks& cut, std::size_t number) {
    Chunk chunk;
    Placing placing(*pieces, chunk.placed);
    PlacingIds output{&placing};
    cut.for_each_part(number, [&](std::size_t text, const Text& part, TextEnds) {
      const std::size_t before = chunk.placed.ids.size();
      const std::size_t bytes = encoder.encode_on(worker, part, output);
      chunk.parts.push_back({text, bytes, chunk.placed.ids.size() - before});
    });
    const std::lock_guard lock(mutex);
    chunks.resize(cut.size());
    chunks[number] = std::move(chunk);
  });
  Placed all;
  all.counts.resize(texts.size());
  std::size_t text = 0;
  std::int64_t bytes = 0;  // of the text before the part
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (Chunk& chunk : chunks) {
    std::size_t at = 0;
    for (const Part& part : chunk.parts) {
      if (part.text != text) bytes = 0;
      text = part.text;
      for (const std::size_t behind = at + part.count; at < behind && bytes != 0; ++at) {
        chunk.placed.starts[at] += bytes;
        chunk.placed.stops[at] += bytes;
      }
      if (bytes == 0) at += part.count;
      bytes += static_cast<std::int64_t>(part.bytes);
      all.counts[text] += static_cast<std::int64_t>(part.count);
    }
    if (chunks.size() == 1) {
      chunk.placed.counts = std::move(all.counts);
      return std::move(chunk.placed);
    }
    append(all.ids, chunk.placed.ids);
    append(all.starts, chunk.placed.starts);
    append(all.stops, chunk.placed.stops);
    chunk = {};
  }
  return all;
}

}  // namespace tokbench
