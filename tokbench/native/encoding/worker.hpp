// Encodes text on one thread: cuts it into words, looks each word up among those that any thread has seen, and solves the rest.
//
// Words are processed in batches and in stages; each stage prefetches the memory that the next one reads.
#pragma once

#include "common/texts.hpp"
#include "family.hpp"
#include "outputs.hpp"
#include "shared_words.hpp"

namespace tokbench {

template <Family F>
class Worker {
 public:
  using Model = typename F::Model;

  Worker(std::shared_ptr<const Model> model, SharedWords& shared) : model_(std::move(model)), shared_(shared), solver_(*model_) {}

  bool works_with(const Model& model) const { return model_.get() == &model; }

  // All work happens between begin() and end(), so that an idle worker keeps no store alive.
  void begin(std::size_t num_units) {
    lease_ = shared_.lease(num_units);
    num_postponed_ = 0;
  }
  void end() { lease_ = {}; }

  // Encodes a text into `output`: one of those in outputs.hpp, or another one with the same interface. If it has begin_text() and
  // begin_word(), these are called for each text and each word before its ids.
  template <class Output>
  void encode(SplitWords split_words, const Text& text, Output& output) {
    const Bytes utf8 = utf8_of(text, utf8_);
    if constexpr (requires { output.begin_text(utf8); }) output.begin_text(utf8);
    encode_words_of(split_words, utf8, output);
  }

  // The same for UTF-8, split by any callable with the signature of SplitWords.
  template <class Split, class Output>
  void encode_words_of(const Split& split_words, Bytes utf8, Output& output) {
    const Byte* const end = utf8.data() + utf8.size();
    for (const Byte* p = utf8.data(); p != end;) {
      TextWords words = no_words(end);
      p = split_words(p, end, words);
      if (words.next != words_) encode_words(words, output);
    }
    end_words(output);
  }

  // The same for words from elsewhere: for_each_word(sink) calls sink(bytes) for each of them, in the order of their addresses.
  // They must stay valid until it returns.
  template <class ForEachWord, class Output>
  void encode_each(const ForEachWord& for_each_word, Output& output) {
    TextWords words = no_words(nullptr);
    for_each_word([&](Bytes word) {
      words.end = word.data() + word.size();
      words(word.data(), words.end);
      if (words.has_room()) return;
      encode_words(words, output);
      words = no_words(nullptr);
    });
    if (words.next != words_) encode_words(words, output);
    end_words(output);
  }

  // The UTF-8 of a text, valid until the next text.
  Bytes utf8(const Text& text) { return utf8_of(text, utf8_); }

  // Room for copies of words, valid until the next call.
  Byte* room_for_copies(std::size_t size) {
    if (copies_.size() < size) copies_.resize(size);
    return copies_.data();
  }

  // Room for a normalized text, and for its NFC before; valid until the next one.
  std::vector<Byte>& room_for_normalized() { return normalized_; }
  std::vector<Byte>& room_for_composed() { return composed_; }

  // Solves one word: writes its ids to `out`, which has room for one per byte, and returns their number.
  std::size_t encode_unseen(Bytes word, std::uint64_t hash, Id* out) { return solver_.solve(word, hash, out); }

  // The solver of this thread.
  typename F::Solver& solver() { return solver_; }

  // Room for this many ids, valid until the next call.
  Id* scratch_for(std::size_t size) {
    if (scratch_.size() < size) scratch_.resize(size);
    return scratch_.data();
  }

 private:
  // A word that was not found in its set.
  struct Miss {
    std::size_t position;
    std::uint64_t hash;
  };

  // The number of words in a batch: larger if new words are solved side by side.
  static constexpr std::size_t kEnough = PreparesWords<typename F::Solver> ? 3 * kEnoughPretokens : kEnoughPretokens;
  static constexpr std::size_t kMost = kEnough + kBlock;
  static constexpr std::size_t kMostPostponed = 32;  // new words that are solved together

  // An empty batch of words, for a text that ends at `end`.
  TextWords no_words(const Byte* end) { return {words_, words_ + kEnough, end, lease_.current->tables(), long_words_}; }

  // Encodes a batch of words. Nearly all words are known, and most are found in their first set: up to the first one that is not,
  // a copy of the output is used whose address does not escape, so that it stays in registers.
  template <class Output>
  TOKBENCH_NEVER_INLINE void encode_words(const TextWords& found, Output& shared_output) {
    const std::span<const TextWord> words(words_, static_cast<const TextWord*>(found.next));
    for (const TextWord* const* each = long_words_; each != found.next_long; ++each) lease_.current->prefetch_record((*each)->key.low);
    Output output = shared_output;
    const Bytes last = words.back().bytes();
    output.begin(static_cast<std::size_t>(last.data() + last.size() - words.front().start));
    std::size_t i = 0;
    for (; i < words.size(); ++i) {
      const WordEntry* const entry = WordStore::find(*words[i].set, words[i].key);
      if (entry != nullptr && entry->count() != WordEntry::kElsewhere) [[likely]] {
        if constexpr (requires { output.begin_word(words[i]); }) output.begin_word(words[i]);
        output.put(*entry);
        continue;
      }
      const std::span<const Id> ids = entry != nullptr ? entry->many() : is_new(words[i]) ? std::span<const Id>() : ids_elsewhere(words[i]);
      if (ids.empty()) {
        if constexpr (kPutsBetween<Output>) {
          if (num_postponed_ == kMostPostponed) {
            output.end();
            put_postponed(output);
            output.begin(static_cast<std::size_t>(last.data() + last.size() - words[i].start));
          }
          postpone(words[i], output.num_put());
          continue;
        } else {
          break;
        }
      }
      if constexpr (requires { output.begin_word(words[i]); }) output.begin_word(words[i]);
      output.put(ids);
    }
    shared_output = output;
    if constexpr (!kPutsBetween<Output>) {
      if (i != words.size()) encode_rest(words.subspan(i), shared_output);
    }
    shared_output.end();
    if (has_new_words_) update_lease();
  }

  // Whether a word that was not found in its set is certainly not stored.
  static bool is_new(const TextWord& word) { return word.is_short() && !word.set->is_full(); }

  // The ids of a word that was not found in its set; empty for a new word.
  TOKBENCH_NEVER_INLINE std::span<const Id> ids_elsewhere(const TextWord& word) const {
    return ids_in(*lease_.current, word, word.hash());
  }

  template <class Output>
  static constexpr bool kPutsBetween = SolvesTogether<typename F::Solver> &&
                                       requires(Output& output, std::span<const PostponedWord> words, const std::span<const Id>* ids) {
                                         output.put_between(words, ids);
                                       };

  TOKBENCH_NEVER_INLINE void postpone(const TextWord& word, std::size_t position) {
    postponed_[num_postponed_++] = {word, position};
    if constexpr (FetchesWords<typename F::Solver>) solver_.fetch(word.hash());
  }

  // Solves the postponed words and inserts their ids. None of them is in the store, unless another thread entered it meanwhile.
  template <class Output>
  TOKBENCH_NEVER_INLINE void put_postponed(Output& output) {
    const std::span<const PostponedWord> postponed(postponed_, std::exchange(num_postponed_, 0));
    NewWord solved[kMostPostponed];
    std::size_t numbers[kMostPostponed], num_solved = 0;
    std::span<const Id> ids[kMostPostponed];
    std::uint64_t seen = 0;  // one bit per hash: tells for most words that they are not repeated
    for (std::size_t i = 0; i < postponed.size(); ++i) {
      const TextWord& word = postponed[i].word;
      const NewWord one{word.bytes(), word.hash(), {}};
      if (lease_.previous != nullptr) {
        ids[i] = ids_in(*lease_.previous, word, one.hash);
        if (!ids[i].empty()) remember(word, one.hash, ids[i]);
        if (!ids[i].empty()) continue;
      }
      const std::uint64_t bit = std::uint64_t{1} << one.hash % 64;
      numbers[i] = (seen & bit) == 0 ? num_solved : number_of(one, {solved, num_solved});
      seen |= bit;
      if (numbers[i] == num_solved) solved[num_solved++] = one;
    }
    solver_.solve_together({solved, num_solved});
    std::size_t num_remembered = 0;
    for (std::size_t i = 0; i < postponed.size(); ++i) {
      if (!ids[i].empty()) continue;
      const NewWord& word = solved[numbers[i]];
      ids[i] = word.ids;
      if (numbers[i] != num_remembered) continue;
      remember(postponed[i].word, word.hash, word.ids);
      ++num_remembered;
    }
    output.put_between(postponed, ids);
    has_new_words_ = true;
  }

  // The index of a word in `among`, or its size if it is not there.
  static std::size_t number_of(const NewWord& word, std::span<const NewWord> among) {
    std::size_t i = 0;
    while (i < among.size() && !(among[i].hash == word.hash && std::ranges::equal(among[i].bytes, word.bytes))) ++i;
    return i;
  }

  // Writes what is left at the end of a text.
  template <class Output>
  void end_words(Output& output) {
    if constexpr (kPutsBetween<Output>) {
      if (num_postponed_ == 0) return;
      put_postponed(output);
      update_lease();
    }
  }

  // Encodes the rest of a batch, from the first word that was not found in its set or whose ids are stored elsewhere.
  template <class Output>
  TOKBENCH_NEVER_INLINE void encode_rest(std::span<const TextWord> words, Output& output) {
    const WordEntry* entries[kMost];
    std::size_t num_misses = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      entries[i] = WordStore::find(*words[i].set, words[i].key);
      if (entries[i] == nullptr) [[unlikely]] misses_[num_misses++] = {i, words[i].hash()};
    }
    if (num_misses != 0) find(words, {misses_, num_misses}, entries);
    [[maybe_unused]] std::size_t num_prepared = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const WordEntry* const entry = entries[i];
      if constexpr (requires { output.begin_word(words[i]); }) output.begin_word(words[i]);
      if (entry != nullptr && entry->count() != WordEntry::kElsewhere) [[likely]] {
        output.put(*entry);
      } else if (entry != nullptr) {
        output.put(entry->many());
      } else {
        encode_new(words[i], num_prepared++, output);
      }
    }
    if (num_misses != 0) update_lease();
  }

  // Looks for words in further sets and in buckets.
  void find(std::span<const TextWord> words, std::span<const Miss> misses, const WordEntry** entries) {
    const WordStore& store = *lease_.current;
    for (const Miss& miss : misses) {
      if (!words[miss.position].is_short()) store.prefetch_record(miss.hash);
    }
    for (const Miss& miss : misses) {
      const TextWord& word = words[miss.position];
      if (word.is_short()) {
        entries[miss.position] = store.find(word.key, miss.hash);
      } else if (const std::span<const Id> ids = store.find_long(word.bytes(), miss.hash); !ids.empty()) {
        WordEntry& found = long_entries_[miss.position];
        found.write_many({}, ids);
        entries[miss.position] = &found;
      }
      if constexpr (FetchesWords<typename F::Solver>) {
        if (entries[miss.position] == nullptr) solver_.fetch(miss.hash);
      }
    }
    if constexpr (PreparesWords<typename F::Solver>) {
      Bytes unknown[kMost];
      std::size_t num_unknown = 0;
      for (const Miss& miss : misses) {
        if (entries[miss.position] == nullptr) unknown[num_unknown++] = words[miss.position].bytes();
      }
      solver_.prepare({unknown, num_unknown});
    }
  }

  // Encodes a word that was not stored when the batch was looked up; `number` is its index among these words.
  template <class Output>
  void encode_new(const TextWord& word, [[maybe_unused]] std::size_t number, Output& output) {
    const std::span<const Id> known = known_ids(word);
    if (!known.empty()) return output.put(known);
    const Bytes bytes = word.bytes();
    const std::uint64_t hash = word.hash();
    Id* const ids = output.room(*this, bytes.size());
    std::size_t count;
    if constexpr (PreparesWords<typename F::Solver>) {
      count = solver_.solve_prepared(number, ids);
    } else {
      count = encode_unseen(bytes, hash, ids);
    }
    remember(word, hash, {ids, count});
    output.use(count);
  }

  void remember(const TextWord& word, std::uint64_t hash, std::span<const Id> ids) {
    if (word.is_short()) {
      lease_.current->remember(word.key, hash, ids);
    } else {
      lease_.current->remember_long(word.bytes(), hash, ids);
    }
  }

  // The ids of a word that occurred earlier in the batch, or is in the previous store.
  std::span<const Id> known_ids(const TextWord& word) {
    const std::uint64_t hash = word.hash();
    if (const std::span<const Id> ids = ids_in(*lease_.current, word, hash); !ids.empty()) return ids;
    if (lease_.previous == nullptr) return {};
    const std::span<const Id> ids = ids_in(*lease_.previous, word, hash);
    if (!ids.empty()) remember(word, hash, ids);
    return ids;
  }

  static std::span<const Id> ids_in(const WordStore& store, const TextWord& word, std::uint64_t hash) {
    if (!word.is_short()) return store.find_long(word.bytes(), hash);
    const WordEntry* const entry = store.find(word.key, hash);
    return entry == nullptr ? std::span<const Id>() : entry->all();
  }

  void update_lease() {
    has_new_words_ = false;
    if (lease_.current->is_crowded()) shared_.renew(lease_);
    if (!shared_.is_current(lease_)) lease_ = shared_.lease();
  }

  std::shared_ptr<const Model> model_;
  SharedWords& shared_;
  typename F::Solver solver_;
  SharedWords::Lease lease_;
  std::vector<Byte> utf8_;
  std::vector<Byte> copies_;
  std::vector<Byte> normalized_;
  std::vector<Byte> composed_;
  std::vector<Id> scratch_;
  TextWord words_[kMost];
  const TextWord* long_words_[kMost];
  Miss misses_[kMost];
  PostponedWord postponed_[kMostPostponed];
  std::size_t num_postponed_ = 0;
  bool has_new_words_ = false;
  WordEntry long_entries_[kMost];  // entries for the long words that were found
};

}  // namespace tokbench
