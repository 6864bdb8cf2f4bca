// Text → ids and numbers of ids: one text, or batches of them on threads.
#pragma once

#include <memory>
#include <mutex>
#include <numeric>

#include "chunks.hpp"
#include "joining.hpp"
#include "reachable.hpp"
#include "threads.hpp"
#include "worker.hpp"

namespace tokbench {

class Encoder {
 public:
  Encoder(Vocabulary vocabulary, Pattern pattern)
      : vocabulary_(std::move(vocabulary)), pattern_(pattern), collect_(collect_of(pattern)) {
    simplify(vocabulary_);
  }

  const Vocabulary& vocabulary() const { return vocabulary_; }

  // The ids of a text of any bytes. Throws LoneSurrogate, as all that takes a Text does.
  Ids encode(const Text& text) const {
    Ids ids;
    ids.expect(text.size);
    const Borrowed worker(*this, text.size);
    Worker::WritingIds output{&ids};
    worker->encode(collect_, text, output);
    return ids;
  }

  // The ids of a text that was split elsewhere: ends[i] is where pre-token i ends.
  Ids encode_split(Bytes text, std::span<const std::size_t> ends) const {
    Ids ids;
    const Borrowed worker(*this, 0);
    std::size_t start = 0;
    for (const std::size_t end : ends) {
      if (end <= start || end > text.size()) throw std::invalid_argument("pre-tokens must be ascending and inside the text");
      const Bytes pretoken = text.subspan(start, end - start);
      Id* const out = ids.prepare(pretoken.size());
      ids.commit(out + worker->encode_unseen(pretoken, hash_of(pretoken), out));
      start = end;
    }
    if (start != text.size()) throw std::invalid_argument("the pre-tokens do not cover the text");
    return ids;
  }

  struct Batch {
    Ids ids;
    std::vector<std::int64_t> offsets;
  };

  // The ids of many texts on `threads` threads; the result does not depend on how many.
  Batch encode_batch(std::span<const Text> texts, unsigned threads) const {
    Batch batch;
    batch.offsets.resize(texts.size() + 1);
    const std::size_t num_units = units_of(texts);
    batch.ids.expect(num_units);
    if (threads <= 1) {
      const Borrowed worker(*this, num_units);
      Worker::WritingIds output{&batch.ids};
      for (std::size_t i = 0; i < texts.size(); ++i) {
        worker->encode(collect_, texts[i], output);
        batch.offsets[i + 1] = static_cast<std::int64_t>(batch.ids.size());
      }
      return batch;
    }
    Joining joining(batch.ids);
    TextCounts counts(std::span(batch.offsets).subspan(1));
    on_chunks(texts, threads, [&](Worker& worker, const Chunks& chunks, std::size_t chunk) {
      Ids ids = joining.spare();
      Worker::WritingIds output{&ids};
      chunks.for_each_part(chunk, [&](std::size_t i, const Text& part, bool is_whole) {
        const std::size_t before = ids.size();
        worker.encode(collect_, part, output);
        counts.add(i, is_whole, ids.size() - before);
      });
      joining.add(chunk, std::move(ids));
    });
    for (std::size_t i = 0; i < texts.size(); ++i) batch.offsets[i + 1] += batch.offsets[i];
    return batch;
  }

  // How many ids each of many texts has.
  std::vector<std::int64_t> count_batch(std::span<const Text> texts, unsigned threads) const {
    std::vector<std::int64_t> counts(texts.size());
    TextCounts counted(counts);
    on_chunks(texts, threads, [&](Worker& worker, const Chunks& chunks, std::size_t chunk) {
      Worker::CountingIds output;
      chunks.for_each_part(chunk, [&](std::size_t i, const Text& part, bool is_whole) {
        const std::uint64_t before = output.total;
        worker.encode(collect_, part, output);
        counted.add(i, is_whole, static_cast<std::size_t>(output.total - before));
      });
    });
    return counts;
  }

 private:
  // A worker of the encoder's, given back at the end of the scope: as many exist as threads ever met here.
  class Borrowed {
   public:
    Borrowed(const Encoder& encoder, std::size_t num_units) : encoder_(encoder) {
      const std::lock_guard lock(encoder_.mutex_);
      if (encoder_.idle_.empty()) {
        worker_ = std::make_unique<Worker>(encoder_.vocabulary_, encoder_.words_);
      } else {
        worker_ = std::move(encoder_.idle_.back());
        encoder_.idle_.pop_back();
      }
      worker_->begin(num_units);
    }
    ~Borrowed() {
      worker_->end();
      const std::lock_guard lock(encoder_.mutex_);
      encoder_.idle_.push_back(std::move(worker_));
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    Worker& operator*() const { return *worker_; }
    Worker* operator->() const { return worker_.get(); }

   private:
    const Encoder& encoder_;
    std::unique_ptr<Worker> worker_;
  };

  static std::size_t units_of(std::span<const Text> texts) {
    return std::accumulate(texts.begin(), texts.end(), std::size_t{0}, [](std::size_t sum, const Text& text) { return sum + text.size; });
  }

  // Calls work(worker, chunks, number of a chunk) for each chunk of the texts, on threads.
  template <class Work>
  void on_chunks(std::span<const Text> texts, unsigned threads, const Work& work) const {
    const Chunks chunks(texts, pattern_);
    const std::size_t num_units = units_of(texts);
    Turns turns(chunks.size());
    run_on(static_cast<unsigned>(std::min<std::size_t>(threads, chunks.size())), [&] {
      const Borrowed worker(*this, num_units);
      for (std::size_t chunk; turns.take(chunk);) work(*worker, chunks, chunk);
    });
  }

  Vocabulary vocabulary_;
  Pattern pattern_;
  Collect collect_;
  mutable SharedWords words_;
  mutable std::mutex mutex_;  // guards idle_
  mutable std::vector<std::unique_ptr<Worker>> idle_;
};

}  // namespace tokbench
