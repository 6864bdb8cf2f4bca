// Counts pre-tokens while documents arrive, on worker threads.
//
// The caller's thread collects bytes into batches that end at a safe cut. A worker validates a batch, splits it at special
// tokens and into pre-tokens, and counts these in a small table of its own, which it empties into the shared counts when it is
// full. Batches are read in place, and their memory is reused.
//
// A Splitter defines what is counted, and has
//
//   std::size_t last_safe_cut(Bytes text, std::size_t from) const;   // the last position after `from` where the pre-tokens on
//                                                                    // each side do not depend on the other side; 0 if none
//   void for_each_some(Bytes text, Sink sink) const;                 // calls sink(PretokenPlaces) for groups of pre-tokens
//
// The counts depend on the documents only, not on threads, batches or the hash seed.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

#include "common/utf8.hpp"
#include "counter_totals.hpp"
#include "pretoken_counts.hpp"
#include "special_tokens.hpp"
#include "text_buffer.hpp"

namespace tokbench {

enum class DocumentMode : std::uint8_t { File, Lines };

template <class Splitter>
class Counter {
 public:
  Counter(Splitter splitter, SpecialTokens special_tokens, unsigned threads, std::uint64_t seed)
      : splitter_(std::move(splitter)),
        special_tokens_(std::move(special_tokens)),
        counts_(seed) {
    states_.reserve(std::max(threads, 1u));
    for (unsigned i = 0; i < std::max(threads, 1u); ++i) states_.push_back({PretokenTable(seed), {}});
    if (states_.size() > 1) start_workers();
  }

  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  ~Counter() {
    {
      const std::lock_guard lock(mutex_);
      queue_.clear();
      closed_ = true;
    }
    stop_workers();
  }

  // Adds a whole document of valid UTF-8.
  void add_document(Bytes text) {
    if (text.empty()) return;
    documents_.bytes.append(text);
    documents_.ends.push_back(documents_.bytes.size());
    if (documents_.bytes.size() >= kBatchBytes) submit_documents();
  }

  // Adds `count` > 0 occurrences of a pre-token that was counted elsewhere, if its hash falls into parts [first, last).
  void add_counted(Bytes pretoken, std::int64_t count, std::size_t first = 0, std::size_t last = PretokenCounts::kParts) {
    counted_bytes_.add(pretoken, count);
    counts_.add(pretoken, count, first, last);
  }

  // Starts a source of unchecked bytes, which feed() adds to until end_source().
  void begin_source(DocumentMode mode) {
    mode_ = mode;
    ++source_;
    source_offset_ = searched_ = 0;
    source_bytes_.cut(0);
  }

  void feed(Bytes block) {
    source_bytes_.append(block);
    submit_safe_part();
  }

  // Room to read the next block of the source into; commit() then says how many bytes were read.
  std::span<Byte> prepare(std::size_t size) { return source_bytes_.prepare(size); }
  void commit(std::size_t used) {
    source_bytes_.commit(used);
    submit_safe_part();
  }

  void end_source() {
    if (source_bytes_.empty() && source_offset_ == 0) return;
    if (mode_ == DocumentMode::File) extra_.documents += 1;
    submit_source_part(source_bytes_.size());
  }

  // Waits for the workers; nothing can be added afterwards. Further calls do nothing.
  void finish() {
    if (finished_) return;
    finished_ = true;
    if (!documents_.bytes.empty()) submit_documents();
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    stop_workers();
    rethrow_failure();
    for (State& state : states_) {
      extra_.add(state.totals);
      counts_.take(state.table);
      state.table.release();
    }
    free_buffers_.clear();
    documents_ = {};
    source_bytes_ = {};
  }

  // Waits until everything so far is counted, except the end of an unfinished source. More can be added afterwards.
  void drain() {
    if (!documents_.bytes.empty()) submit_documents();
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return (queue_.empty() && busy_ == 0) || failure_; });
    }
    rethrow_failure();
    for (State& state : states_) counts_.take(state.table);
  }

  // Clears the counts but not the totals. To be called after drain().
  void clear_counts() { counts_.clear(); }

  // The approximate number of bytes that the counts take.
  std::size_t memory() const { return counts_.memory(); }

  // The first byte that is not UTF-8, of the first such source; final after finish().
  std::optional<InvalidByte> invalid() {
    const std::lock_guard lock(mutex_);
    return invalid_;
  }

  bool is_finished() const { return finished_; }

  void add_totals(const CounterTotals& totals) { extra_.add(totals); }
  const CounterTotals& totals() const { return extra_; }
  const PretokenCounts& counts() const { return counts_; }
  PretokenCounts& counts() { return counts_; }

 private:
  struct Batch {
    TextBuffer bytes;
    std::vector<std::size_t> ends;  // ends of documents; empty for a part of a source
    DocumentMode mode = DocumentMode::File;
    std::size_t source = 0;
    std::uint64_t offset = 0;  // offset of the part in its source
  };

  struct State {
    PretokenTable table;  // counts that are not in counts_ yet
    CounterTotals totals;
  };

  static constexpr std::size_t kBatchBytes = 1 << 20;
  static constexpr std::size_t kTableEntries = 1 << 16;  // per thread: rarely emptied, but still in the cache

  // The system may grant fewer threads than requested; the counts are the same.
  void start_workers() {
    workers_.reserve(states_.size());
    try {
      for (State& state : states_) workers_.emplace_back([this, &state] { work(state); });
    } catch (const std::system_error&) {
    }
  }

  void submit_safe_part() {
    // A special token may be incomplete at the end of the data so far, so that many bytes are held back.
    const std::size_t reach = special_tokens_.longest();
    if (source_bytes_.size() < kBatchBytes + reach) return;
    const Bytes arrived = source_bytes_.text().first(source_bytes_.size() - reach);
    std::size_t cut = arrived.size();
    do {
      cut = mode_ == DocumentMode::Lines ? last_line_end(arrived.first(cut))
                                         : splitter_.last_safe_cut(arrived.first(cut), searched_);
    } while (cut != 0 && mode_ == DocumentMode::File && special_tokens_.straddles(source_bytes_.text(), cut));
    if (cut != 0) {
      submit_source_part(cut);
    } else {
      searched_ = arrived.size() - 1;
    }
  }

  std::size_t last_line_end(Bytes text) const {
    for (std::size_t i = text.size(); i-- > searched_;) {
      if (text[i] == '\n') return i + 1;
    }
    return 0;
  }

  void submit_source_part(std::size_t size) {
    Batch batch;
    batch.mode = mode_;
    batch.source = source_;
    batch.offset = source_offset_;
    TextBuffer rest = free_buffer();
    rest.append(source_bytes_.text().subspan(size));
    source_bytes_.cut(size);
    batch.bytes = std::exchange(source_bytes_, std::move(rest));
    source_offset_ += size;
    searched_ = 0;
    submit(std::move(batch));
  }

  void submit_documents() {
    Batch next;
    next.bytes = free_buffer();
    submit(std::exchange(documents_, std::move(next)));
  }

  TextBuffer free_buffer() {
    const std::lock_guard lock(mutex_);
    TextBuffer buffer;
    if (free_buffers_.empty()) return buffer;
    buffer = std::move(free_buffers_.back());
    free_buffers_.pop_back();
    return buffer;
  }

  // Keeps the buffer of a batch for reuse unless it is unusually large.
  void free(TextBuffer buffer) {
    if (buffer.capacity() > kBatchBytes * 4) return;
    buffer.cut(0);
    const std::lock_guard lock(mutex_);
    free_buffers_.push_back(std::move(buffer));
  }

  void submit(Batch batch) {
    if (workers_.empty()) {
      count(states_.front(), batch);
      free(std::move(batch.bytes));
      return;
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.size() < workers_.size() * 2 || failure_; });
    if (failure_) std::rethrow_exception(failure_);
    queue_.push_back(std::move(batch));
    changed_.notify_all();
  }

  void work(State& state) {
    try {
      while (std::optional<Batch> batch = next_batch()) {
        count(state, *batch);
        free(std::move(batch->bytes));
        end_batch();
      }
      counts_.take(state.table);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  // Waits for the next batch; nullopt if there will be none.
  std::optional<Batch> next_batch() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !queue_.empty() || closed_; });
    if (queue_.empty()) return std::nullopt;
    Batch batch = std::move(queue_.front());
    queue_.pop_front();
    ++busy_;
    changed_.notify_all();
    return batch;
  }

  void end_batch() {
    const std::lock_guard lock(mutex_);
    --busy_;
    changed_.notify_all();
  }

  void stop_workers() {
    changed_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }

  void rethrow_failure() {
    if (failure_) std::rethrow_exception(failure_);
  }

  void count(State& state, const Batch& batch) {
    const Bytes text = batch.bytes.text();
    if (!batch.ends.empty()) {
      std::size_t start = 0;
      for (const std::size_t end : batch.ends) {
        count_document(state, text.subspan(start, end - start));
        start = end;
      }
      state.totals.documents += batch.ends.size();
      return;
    }
    if (const auto bad = first_invalid(text)) {
      note_invalid({batch.source, batch.offset + *bad});
    } else if (batch.mode == DocumentMode::Lines) {
      count_lines(state, text);
    } else {
      count_document(state, text);
    }
  }

  void count_lines(State& state, Bytes text) {
    std::size_t start = 0;
    while (start < text.size()) {
      const void* newline = std::memchr(text.data() + start, '\n', text.size() - start);
      const std::size_t stop = newline ? static_cast<std::size_t>(static_cast<const Byte*>(newline) - text.data()) : text.size();
      Bytes line = text.subspan(start, stop - start);
      if (newline && !line.empty() && line.back() == '\r') line = line.first(line.size() - 1);
      if (!is_blank(line)) {
        count_document(state, line);
        state.totals.documents += 1;
      }
      start = stop + 1;
    }
  }

  // Whether a line is empty or white space as Python's str.isspace() defines it, which includes U+001C to U+001F.
  static bool is_blank(Bytes line) {
    const Byte* p = line.data();
    const Byte* const end = p + line.size();
    while (p < end) {
      const Character character = character_at(p, end);
      if (character.kind != CharClass::Space && (*p < 0x1C || *p > 0x1F)) return false;
      p += character.length;
    }
    return true;
  }

  void count_document(State& state, Bytes text) {
    state.totals.bytes += text.size();
    special_tokens_.for_each_ordinary_part(text, [&](Bytes part) {
      splitter_.for_each_some(part, [&](const auto& places) {
        state.table.add_each(places);
        state.totals.pretokens += places.size();
        if (state.table.size() >= kTableEntries) counts_.take(state.table);
      });
    });
  }

  void note_invalid(InvalidByte found) {
    const std::lock_guard lock(mutex_);
    if (!invalid_ || found < *invalid_) invalid_ = found;
  }

  Splitter splitter_;
  SpecialTokens special_tokens_;
  std::vector<State> states_;  // one per worker, at least one
  PretokenCounts counts_;
  CountedBytes counted_bytes_;
  CounterTotals extra_;
  bool finished_ = false;

  Batch documents_;  // whole documents, collected until they fill a batch

  TextBuffer source_bytes_;  // bytes of the current source that were not submitted yet
  std::uint64_t source_offset_ = 0;
  std::size_t searched_ = 0;  // bytes of source_bytes_ that are known to contain no safe cut
  std::size_t source_ = static_cast<std::size_t>(-1);
  DocumentMode mode_ = DocumentMode::File;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<Batch> queue_;
  std::size_t busy_ = 0;  // number of workers with a batch
  std::vector<TextBuffer> free_buffers_;
  std::optional<InvalidByte> invalid_;
  std::exception_ptr failure_;
  bool closed_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace tokbench
