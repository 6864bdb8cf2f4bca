// Encodes texts, or counts their ids: one text, or batches on several threads.
#pragma once

#include <memory>
#include <mutex>
#include <numeric>

#include "chunks.hpp"
#include "common/fork_safe_mutex.hpp"
#include "common/threads.hpp"
#include "common/unmarked.hpp"
#include "joining.hpp"
#include "worker.hpp"

namespace tokbench {

template <Family F>
class Encoder {
 public:
  using Model = typename F::Model;
  using Worker = tokbench::Worker<F>;
  using Reading = ReadingOf<F>;

  Encoder(std::shared_ptr<const Model> model, F family) : model_(std::move(model)), family_(std::move(family)), split_words_(family_.split_words()) {}
  Encoder(Model model, F family) : Encoder(std::make_shared<const Model>(std::move(model)), std::move(family)) {}

  const F& family() const { return family_; }

  // The model that is currently used to solve words: the one given, or the completed one.
  std::shared_ptr<const Model> model() const {
    const std::lock_guard lock(mutex_);
    return model_;
  }

  // Completes the model for large amounts of text; this otherwise happens by itself after some text has been encoded.
  void complete() const {
    const std::lock_guard lock(mutex_);
    complete_locked();
  }

  // The ids of a text. Like everything that takes a Text, throws LoneSurrogate.
  Ids encode(const Text& text, Reading reading = {}) const {
    Ids ids;
    ids.expect(text.size);
    const Borrowed worker(*this, text.size);
    WritingIds output{&ids};
    encode_text(*worker, text, {}, reading, output);
    return ids;
  }

  // The ids of a text that is already split into words: ends[i] is the end of word i.
  Ids encode_split(Bytes text, std::span<const std::size_t> ends) const {
    Ids ids;
    const Borrowed worker(*this, text.size());
    std::size_t start = 0;
    for (const std::size_t end : ends) {
      if (end <= start || end > text.size()) throw std::invalid_argument("pre-tokens must be ascending and inside the text");
      const Bytes word = text.subspan(start, end - start);
      Id* const out = ids.prepare(word.size());
      ids.commit(out + worker->encode_unseen(word, hash_of(word), out));
      start = end;
    }
    if (start != text.size()) throw std::invalid_argument("the pre-tokens do not cover the text");
    return ids;
  }

  struct Batch {
    Ids ids;
    std::vector<std::int64_t> offsets;
  };

  // The ids of many texts, encoded on `threads` threads; the result does not depend on their number.
  Batch encode_batch(std::span<const Text> texts, unsigned threads, Reading reading = {}) const {
    return encode_all(texts, threads, reading, nullptr);
  }

  // The same, and collects the code points that are not marked. Each text is scanned just before it is encoded, while it is in
  // the cache: a separate pass over all texts takes a twentieth of the time of a first pass.
  Batch encode_batch_looking_at(std::span<const Text> texts, unsigned threads, UnmarkedCodePoints& unmarked, Reading reading = {}) const {
    return encode_all(texts, threads, reading, &unmarked);
  }

  // The number of ids of each text.
  std::vector<std::int64_t> count_batch(std::span<const Text> texts, unsigned threads, Reading reading = {}) const {
    std::vector<std::int64_t> counts(texts.size());
    TextCounts counted(counts);
    on_chunks(texts, threads, reading, [&](Worker& worker, const Chunks& chunks, std::size_t chunk) {
      CountingIds output;
      chunks.for_each_part(chunk, [&](std::size_t i, const Text& part, TextEnds ends) {
        const std::uint64_t before = output.total;
        encode_text(worker, part, ends, reading, output);
        counted.add(i, ends, static_cast<std::size_t>(output.total - before));
      });
    });
    return counts;
  }

  // Calls work(worker, chunks, index of the chunk) for each chunk of the texts, on several threads.
  template <class Work>
  void on_chunks(std::span<const Text> texts, unsigned threads, const Work& work) const {
    on_chunks(texts, threads, Reading{}, work);
  }
  template <class Work>
  void on_chunks(std::span<const Text> texts, unsigned threads, Reading reading, const Work& work) const {
    const Chunks chunks(texts, Cuts{family_, reading});
    const std::size_t num_units = units_of(texts);
    Turns turns(chunks.size());
    run_on(static_cast<unsigned>(std::min<std::size_t>(threads, chunks.size())), [&] {
      const Borrowed worker(*this, num_units);
      for (std::size_t chunk; turns.take(chunk);) work(*worker, chunks, chunk);
    });
  }

  // Encodes a text on a worker into an output of the family's own; see Worker::encode().
  template <class Output>
  void encode_on(Worker& worker, const Text& text, TextEnds ends, Reading reading, Output& output) const {
    encode_text(worker, text, ends, reading, output);
  }

 private:
  // The ids of many texts, of which each part is added to `unmarked`, if that is given, just before it is encoded.
  Batch encode_all(std::span<const Text> texts, unsigned threads, Reading reading, UnmarkedCodePoints* unmarked) const {
    Batch batch;
    batch.offsets.resize(texts.size() + 1);
    const std::size_t num_units = units_of(texts);
    batch.ids.expect(num_units);
    if (threads <= 1) {
      const Borrowed worker(*this, num_units);
      WritingIds output{&batch.ids};
      for (std::size_t i = 0; i < texts.size(); ++i) {
        if (unmarked != nullptr) unmarked->add_of(texts[i]);
        encode_text(*worker, texts[i], {}, reading, output);
        batch.offsets[i + 1] = static_cast<std::int64_t>(batch.ids.size());
      }
      return batch;
    }
    Joining joining(batch.ids);
    TextCounts counts(std::span(batch.offsets).subspan(1));
    on_chunks(texts, threads, reading, [&](Worker& worker, const Chunks& chunks, std::size_t chunk) {
      Ids ids = joining.spare();
      WritingIds output{&ids};
      chunks.for_each_part(chunk, [&](std::size_t i, const Text& part, TextEnds ends) {
        if (unmarked != nullptr) unmarked->add_of(part);
        const std::size_t before = ids.size();
        encode_text(worker, part, ends, reading, output);
        counts.add(i, ends, ids.size() - before);
      });
      joining.add(chunk, std::move(ids));
    });
    for (std::size_t i = 0; i < texts.size(); ++i) batch.offsets[i + 1] += batch.offsets[i];
    return batch;
  }

  // A worker of the pool, returned at the end of the scope. There are as many workers as threads have encoded at the same time.
  class Borrowed {
   public:
    Borrowed(const Encoder& encoder, std::size_t num_units) : encoder_(encoder), worker_(encoder.worker_for(num_units)) {
      worker_->begin(num_units);
    }
    ~Borrowed() {
      worker_->end();
      encoder_.give_back(std::move(worker_));
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    Worker& operator*() const { return *worker_; }
    Worker* operator->() const { return worker_.get(); }

   private:
    const Encoder& encoder_;
    std::unique_ptr<Worker> worker_;
  };

  std::unique_ptr<Worker> worker_for(std::size_t num_units) const {
    const std::lock_guard lock(mutex_);
    if (!is_complete_ && (num_units_ += num_units) >= kUnitsBeforeTables) complete_locked();
    if (idle_.empty()) return std::make_unique<Worker>(model_, words_);
    std::unique_ptr<Worker> worker = std::move(idle_.back());
    idle_.pop_back();
    return worker;
  }

  void give_back(std::unique_ptr<Worker> worker) const {
    const std::lock_guard lock(mutex_);
    if (worker->works_with(*model_)) idle_.push_back(std::move(worker));
  }

  // Completes the model under the lock. Other threads wait, because encoding is faster afterwards.
  void complete_locked() const {
    if (is_complete_) return;
    if constexpr (Completes<F>) {
      const std::shared_ptr<const Model> made = F::completed(model_);
      if (made != model_) idle_.clear();
      model_ = made;
    }
    is_complete_ = true;
  }

  // Where texts can be cut under a given Reading.
  struct Cuts {
    const F& family;
    Reading reading;

    std::size_t first_safe_cut(const Text& text, std::size_t from) const {
      if constexpr (PreparesTexts<F>) {
        return family.first_safe_cut(text, from, reading);
      } else {
        return family.first_safe_cut(text, from);
      }
    }
  };

  // Once for each output, not in each of its callers: it is large, and compiling it takes most of the time of a build.
  template <class Output>
  TOKBENCH_NEVER_INLINE void encode_text(Worker& worker, const Text& text, [[maybe_unused]] TextEnds ends, [[maybe_unused]] Reading reading,
                   Output& output) const {
    if constexpr (requires { family_.encode(worker, text, ends, reading, output); }) {
      family_.encode(worker, text, ends, reading, output);
    } else if constexpr (PreparesTexts<F>) {
      family_.encode(worker, split_words_, text, reading, output);
    } else if constexpr (requires { family_.encode(worker, text, ends, output); }) {
      family_.encode(worker, text, ends, output);
    } else {
      worker.encode(split_words_, text, output);
    }
  }

  static std::size_t units_of(std::span<const Text> texts) {
    return std::accumulate(texts.begin(), texts.end(), std::size_t{0}, [](std::size_t sum, const Text& text) { return sum + text.size; });
  }

  // For BPE: encoding this many units without the completed tables takes 0.01 s longer; building the tables takes 0.1 s.
  static constexpr std::size_t kUnitsBeforeTables = std::size_t{1} << 18;

  mutable ForkSafeMutex mutex_;  // guards all mutable members
  mutable std::shared_ptr<const Model> model_;
  mutable bool is_complete_ = false;
  mutable std::size_t num_units_ = 0;  // units encoded before the model was completed
  F family_;
  SplitWords split_words_;
  mutable SharedWords words_;
  mutable std::vector<std::unique_ptr<Worker>> idle_;
};

}  // namespace tokbench
