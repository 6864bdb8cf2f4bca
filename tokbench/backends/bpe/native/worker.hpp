// Text → ids on one thread: split into pre-tokens, look each up among those seen before, else merge.
//
// Pre-tokens go through in batches: while a batch is collected, the places where its words may be
// remembered are fetched into the cache of the processor.
#pragma once

#include "ids.hpp"
#include "merger.hpp"
#include "patterns.hpp"
#include "texts.hpp"
#include "word_cache.hpp"
#include "word_store.hpp"

namespace tokbench {

// Encodes on one thread, with what that needs: scratch space, and the words it has seen.
class Worker {
 public:
  explicit Worker(const Vocabulary& vocabulary) : vocabulary_(vocabulary), merger_(vocabulary) {}

  // Gives the ids of a text to `output`, which is one of the two classes below.
  template <class Output>
  void encode(Pattern pattern, const Text& text, Output& output) {
    const Bytes utf8 = utf8_of(text, utf8_);
    with_scanner(pattern, [&](auto scanner) {
      const auto collected = for_each_pretoken(scanner, utf8, Collecting<Output>{*this, output, utf8.data() + utf8.size(), words_});
      encode_words({words_, collected.next}, output);
    });
  }

  // The ids of one pre-token, written to `out`, which has room for one a byte; their number.
  std::size_t encode_unseen(Bytes pretoken, std::uint64_t hash, Id* out) {
    if (const auto whole = vocabulary_.whole_token(pretoken, hash)) {
      *out = *whole;
      return 1;
    }
    return merger_.merge(pretoken, out);
  }

  // Writes ids behind one another. Words are given to a copy, which the compiler keeps in registers.
  struct WritingIds {
    Ids* ids;
    Id* out = nullptr;
    void begin(std::size_t most) { out = ids->prepare(most + WordCache::kMaxIds); }
    void put(const WordCache::Entry& entry) {
      std::memcpy(out, entry.ids, sizeof entry.ids);
      out += entry.count();
    }
    Id* room(Worker&, std::size_t) const { return out; }
    void use(std::size_t count) { out += count; }
    void end() { ids->commit(out); }
  };

  struct CountingIds {
    std::uint64_t total = 0;
    void begin(std::size_t) {}
    void put(const WordCache::Entry& entry) { total += entry.count(); }
    Id* room(Worker& worker, std::size_t size) const {
      if (worker.scratch_.size() < size) worker.scratch_.resize(size);
      return worker.scratch_.data();
    }
    void use(std::size_t count) { total += count; }
    void end() {}
  };

 private:
  static constexpr std::size_t kBatch = 64;

  // A short one is its key, and has a place where it may be remembered. A longer one has length 0 in its
  // key, and its own length and hash there.
  struct Word {
    WordKey key;
    WordCache::Set* set;
    const Byte* start;

    std::size_t short_length() const { return key.high >> 56; }
    Bytes bytes() const { return {start, short_length() != 0 ? short_length() : key.high}; }
    std::uint64_t hash() const { return short_length() != 0 ? hash_of(key) : key.low; }
  };

  // Takes pre-tokens into the batch; a full one is encoded.
  template <class Output>
  struct Collecting {
    Worker& worker;
    Output& output;
    const Byte* end;
    Word* next;

    void operator()(const Byte* start, const Byte* stop) {
      const auto length = static_cast<std::size_t>(stop - start);
      next->start = start;
      if (length <= kShortWord) [[likely]] {
        next->key = key_of(start, length, end);
        next->set = &worker.cache_.set_of(hash_of(next->key));
        prefetch(next->set);
      } else {
        next->key = {hash_of_long({start, length}), length};
        worker.store_.prefetch(next->key.low);
      }
      if (++next == worker.words_ + kBatch) {
        worker.encode_words({worker.words_, kBatch}, output);
        next = worker.words_;
      }
    }
  };

  // Texts come from outside without padding: near their end the key is read from a copy.
  static WordKey key_of(const Byte* start, std::size_t length, const Byte* end) {
    if (static_cast<std::size_t>(end - start) >= kKeyPadding) [[likely]] return short_key(start, length);
    Byte padded[kKeyPadding] = {};
    std::copy(start, start + length, padded);
    return short_key(padded, length);
  }

  static void prefetch(const void* p) {
#if defined(__GNUC__)
    __builtin_prefetch(p);
#else
    (void)p;
#endif
  }

  // Encodes words that stand side by side. All are looked up before the first is written, so that what the new
  // ones need of the vocabulary is on its way while the others are written.
  template <class Output>
  void encode_words(std::span<const Word> words, Output& shared_output) {
    if (words.empty()) return;
    const WordCache::Entry* entries[kBatch];
    for (std::size_t i = 0; i < words.size(); ++i) {
      entries[i] = words[i].short_length() != 0 ? WordCache::find(*words[i].set, words[i].key) : nullptr;
      if (entries[i] == nullptr) [[unlikely]] {
        prefetch(vocabulary_.place_of_whole_token(words[i].hash()));
        store_.prefetch(words[i].hash());
      }
    }
    Output output = shared_output;
    const Bytes last = words.back().bytes();
    output.begin(static_cast<std::size_t>(last.data() + last.size() - words.front().start));
    bool has_moved = false;  // entries move when new ones come
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Word& word = words[i];
      const WordCache::Entry* entry = entries[i];
      if (has_moved && word.short_length() != 0) entry = WordCache::find(*word.set, word.key);
      if (entry != nullptr && entry->count() != WordCache::kElsewhere) [[likely]] {
        output.put(*entry);
      } else if (entry != nullptr || word.short_length() == 0) {
        encode_long(word, output);
      } else {
        encode_new(word, output);
        has_moved = true;
      }
    }
    output.end();
    shared_output = output;
    cache_.grow_if_crowded();
  }

  template <class Output>
  void encode_new(const Word& word, Output& output) {
    Id* const ids = output.room(*this, word.bytes().size());
    const std::size_t count = encode_known(word, ids);
    cache_.remember(*word.set, word.key, {ids, count});
    output.use(count);
  }

  // What is long, or has many ids.
  template <class Output>
  void encode_long(const Word& word, Output& output) {
    Id* const ids = output.room(*this, word.bytes().size());
    output.use(encode_known(word, ids));
  }

  // The ids of a word by what is stored, and stored when they are not; their number.
  std::size_t encode_known(const Word& word, Id* out) {
    const Bytes bytes = word.bytes();
    const std::uint64_t hash = word.hash();
    if (const auto whole = vocabulary_.whole_token(bytes, hash)) {
      *out = *whole;
      return 1;
    }
    if (const std::size_t count = store_.find(bytes, hash, out); count != 0) return count;
    const std::size_t count = merger_.merge(bytes, out);
    store_.remember(bytes, hash, {out, count});
    return count;
  }

  const Vocabulary& vocabulary_;
  Merger merger_;
  WordCache cache_;
  WordStore store_;
  std::vector<Byte> utf8_;
  std::vector<Id> scratch_;
  Word words_[kBatch];
};

}  // namespace tokbench
