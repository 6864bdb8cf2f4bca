// Text → ids: split, look the pre-token up among those seen before, else merge.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "merger.hpp"
#include "patterns.hpp"
#include "word_cache.hpp"

namespace tokbench {

class Encoder {
 public:
  Encoder(Vocabulary vocabulary, Pattern pattern) : vocabulary_(std::move(vocabulary)), pattern_(pattern) {}

  const Vocabulary& vocabulary() const { return vocabulary_; }

  // The ids of a text of any bytes.
  std::vector<Id> encode(Bytes text) const {
    std::vector<Id> ids;
    const Borrowed worker(*this);
    encode_into(*worker, text, ids);
    return ids;
  }

  // The ids of a text that was split elsewhere: ends[i] is where pre-token i ends.
  std::vector<Id> encode_split(Bytes text, std::span<const std::size_t> ends) const {
    std::vector<Id> ids;
    const Borrowed worker(*this);
    std::size_t start = 0;
    for (const std::size_t end : ends) {
      if (end <= start || end > text.size()) throw std::invalid_argument("pre-tokens must be ascending and inside the text");
      worker->merger.append(text.subspan(start, end - start), ids);
      start = end;
    }
    if (start != text.size()) throw std::invalid_argument("the pre-tokens do not cover the text");
    return ids;
  }

  struct Batch {
    std::vector<Id> ids;
    std::vector<std::int64_t> offsets;
  };

  // The ids of many texts on `threads` threads; the result does not depend on how many.
  Batch encode_batch(std::span<const Bytes> texts, unsigned threads) const {
    const std::vector<std::size_t> chunks = chunk_starts(texts);
    std::vector<std::vector<Id>> chunk_ids(chunks.size() - 1);
    std::vector<std::int64_t> counts(texts.size());
    std::atomic<std::size_t> next_chunk{0};
    std::exception_ptr failure;
    std::mutex failure_mutex;
    const auto work = [&] {
      try {
        const Borrowed worker(*this);
        for (std::size_t chunk; (chunk = next_chunk.fetch_add(1)) + 1 < chunks.size();) {
          for (std::size_t i = chunks[chunk]; i < chunks[chunk + 1]; ++i) {
            const std::size_t before = chunk_ids[chunk].size();
            encode_into(*worker, texts[i], chunk_ids[chunk]);
            counts[i] = static_cast<std::int64_t>(chunk_ids[chunk].size() - before);
          }
        }
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        failure = std::current_exception();
      }
    };
    run_on(static_cast<unsigned>(std::min<std::size_t>(threads, chunks.size() - 1)), work);
    if (failure) std::rethrow_exception(failure);
    return joined(chunk_ids, counts);
  }

 private:
  // What one thread needs to encode: scratch space, and the words it has seen.
  struct Worker {
    explicit Worker(const Vocabulary& vocabulary) : merger(vocabulary) {}
    Merger merger;
    WordCache cache;
  };

  // A worker of the encoder's, given back at the end of the scope: as many exist as threads ever met here.
  class Borrowed {
   public:
    explicit Borrowed(const Encoder& encoder) : encoder_(encoder) {
      const std::lock_guard lock(encoder_.mutex_);
      if (encoder_.idle_.empty()) {
        worker_ = std::make_unique<Worker>(encoder_.vocabulary_);
      } else {
        worker_ = std::move(encoder_.idle_.back());
        encoder_.idle_.pop_back();
      }
    }
    ~Borrowed() {
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

  static constexpr std::size_t kChunkBytes = 1 << 16;

  void encode_into(Worker& worker, Bytes text, std::vector<Id>& ids) const {
    const Byte* const end = text.data() + text.size();
    with_scanner(pattern_, [&](auto scanner) {
      for_each_pretoken(scanner, text, [&](const Byte* start, const Byte* stop) {
        const auto length = static_cast<std::size_t>(stop - start);
        if (length == 1) {
          ids.push_back(vocabulary_.byte_id(*start));
        } else if (length > kShortWord) {
          worker.merger.append({start, length}, ids);
        } else {
          append_short(worker, key_of(start, length, end), {start, length}, ids);
        }
      });
    });
  }

  // Texts come from outside without padding: near their end the key is read from a copy.
  static WordKey key_of(const Byte* start, std::size_t length, const Byte* end) {
    if (static_cast<std::size_t>(end - start) >= kKeyPadding) return short_key(start, length);
    Byte padded[kKeyPadding] = {};
    std::copy(start, start + length, padded);
    return short_key(padded, length);
  }

  void append_short(Worker& worker, const WordKey& key, Bytes word, std::vector<Id>& ids) const {
    if (worker.cache.append(key, ids)) return;
    const std::size_t before = ids.size();
    worker.merger.append(word, ids);
    const std::size_t count = ids.size() - before;
    if (count <= WordCache::kMaxIds) worker.cache.remember(key, {ids.data() + before, count});
  }

  // Where chunks of about kChunkBytes begin among the texts, and their number behind them.
  static std::vector<std::size_t> chunk_starts(std::span<const Bytes> texts) {
    std::vector<std::size_t> starts{0};
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      bytes += texts[i].size();
      if (bytes >= kChunkBytes || i + 1 == texts.size()) {
        starts.push_back(i + 1);
        bytes = 0;
      }
    }
    return starts;
  }

  template <class Work>
  static void run_on(unsigned threads, const Work& work) {
    std::vector<std::thread> others;
    others.reserve(threads);
    try {
      for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
    } catch (const std::system_error&) {  // the system grants no more: those there are do the work
    }
    work();
    for (std::thread& other : others) other.join();
  }

  static Batch joined(const std::vector<std::vector<Id>>& chunk_ids, const std::vector<std::int64_t>& counts) {
    Batch batch;
    std::size_t total = 0;
    for (const auto& ids : chunk_ids) total += ids.size();
    batch.ids.reserve(total);
    for (const auto& ids : chunk_ids) batch.ids.insert(batch.ids.end(), ids.begin(), ids.end());
    batch.offsets.reserve(counts.size() + 1);
    batch.offsets.push_back(0);
    for (const std::int64_t count : counts) batch.offsets.push_back(batch.offsets.back() + count);
    return batch;
  }

  Vocabulary vocabulary_;
  Pattern pattern_;
  mutable std::mutex mutex_;  // guards idle_
  mutable std::vector<std::unique_ptr<Worker>> idle_;
};

}  // namespace tokbench
