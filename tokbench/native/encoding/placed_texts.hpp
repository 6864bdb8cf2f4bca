// Computes the tokens of many texts with their spans, on several threads.
#pragma once

#include "encoder.hpp"

namespace tokbench {

// The tokens of many texts, concatenated. Spans are byte offsets into the UTF-8 of each text.
struct Placed {
  std::vector<Id> ids;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> stops;
  std::vector<std::int64_t> counts;  // number of ids of each text

  void add(Id id, std::int64_t start, std::int64_t stop) {
    ids.push_back(id);
    starts.push_back(start);
    stops.push_back(stop);
  }
};

// An output that calls begin_text(text) of a `Placing`, and its add(word, ids) for each word of the text.
template <Family F, class Placing>
struct PlacingIds {
  using Worker = tokbench::Worker<F>;

  Placing* placing;
  std::size_t text_size = 0;
  Bytes word{};
  Id* unseen = nullptr;

  void begin_text(Bytes text) {
    text_size = text.size();
    placing->begin_text(text);
  }
  void begin_part(Bytes part)
    requires requires(Placing& its) { its.begin_part(part); }
  {
    placing->begin_part(part);
  }
  void put_added(Id id, Bytes found)
    requires requires(Placing& its) { its.add_added(id, found); }
  {
    placing->add_added(id, found);
  }
  void begin_word(const TextWord& next) { word = next.bytes(); }
  void begin(std::size_t) {}
  void put(const WordEntry& entry) { placing->add(word, {entry.few(), entry.count()}); }
  void put(std::span<const Id> ids) { placing->add(word, ids); }
  Id* room(Worker& worker, std::size_t size) { return unseen = worker.scratch_for(size); }
  void use(std::size_t count) { placing->add(word, {unseen, count}); }
  void end() {}
};

// The tokens of many texts with their spans, computed on `threads` threads; the result does not depend on their number. Each
// chunk gets a Placing, constructed from the encoder's model and the result to fill. A Placing with place_text(text) is given
// whole texts.
template <class Placing, Family F>
Placed placed_texts(const Encoder<F>& encoder, std::span<const Text> texts, unsigned threads, ReadingOf<F> reading = {}) {
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
  const std::shared_ptr<const typename F::Model> model = encoder.model();
  encoder.on_chunks(texts, threads, reading, [&](Worker<F>& worker, const Chunks& cut, std::size_t number) {
    Chunk chunk;
    Placing placing(*model, chunk.placed);
    [[maybe_unused]] PlacingIds<F, Placing> output{&placing};
    cut.for_each_part(number, [&](std::size_t text, const Text& part, [[maybe_unused]] TextEnds ends) {
      const std::size_t before = chunk.placed.ids.size();
      std::size_t bytes;
      if constexpr (requires { placing.place_text(Bytes()); }) {
        const Bytes utf8 = worker.utf8(part);
        placing.place_text(utf8);
        bytes = utf8.size();
      } else {
        encoder.encode_on(worker, part, ends, reading, output);
        bytes = output.text_size;
      }
      chunk.parts.push_back({text, bytes, chunk.placed.ids.size() - before});
    });
    const std::lock_guard lock(mutex);
    chunks.resize(cut.size());
    chunks[number] = std::move(chunk);
  });
  Placed all;
  all.counts.resize(texts.size());
  std::size_t text = 0;
  std::int64_t bytes = 0;  // size of the text before this part
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (Chunk& chunk : chunks) {
    std::size_t at = 0;
    for (const Part& part : chunk.parts) {
      if (part.text != text) bytes = 0;
      text = part.text;
      for (const std::size_t after = at + part.count; at < after && bytes != 0; ++at) {
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
