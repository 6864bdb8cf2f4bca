// Counts BERT's words while documents arrive.
//
// First, parts of the raw text are counted (word_scanner.hpp). After the last document, each distinct part is normalized once,
// and its count is added to the resulting words.
#pragma once

#include <memory>

#include "common/threads.hpp"
#include "normal_words.hpp"
#include "training/counter.hpp"
#include "word_splitting.hpp"

namespace tokbench {

// Texts can be cut before white space, which no part contains.
class BertSplitter {
 public:
  explicit BertSplitter(const BertRules& rules) : split_(bert_word_places_of(rules.handle_chinese_chars)) {}

  std::size_t last_safe_cut(Bytes text, std::size_t from) const {
    for (std::size_t cut = text.size(); cut-- > from + 1;) {
      if (text[cut] == ' ' || text[cut] == '\n') return cut;
    }
    return 0;
  }

  template <class Sink>
  void for_each_some(Bytes text, Sink sink) const {
    const Byte* const end = text.data() + text.size();
    const Byte* places[2 * kMostPretokens];
    for (const Byte* p = text.data(); p != end;) {
      WordPlaces found{places, places + 2 * kEnoughPretokens};
      p = split_(p, end, found);
      sink(PretokenPlaces<2>{places, static_cast<std::size_t>(found.next - places) / 2});
    }
  }

 private:
  static_assert(kMostPretokens <= PretokenTable::kMostAtOnce);

  SplitInto<WordPlaces> split_;
};

class WordCounter {
 public:
  struct Options {
    BertRules rules;
    std::size_t most_characters;  // longer words are not counted
    unsigned threads;
    std::uint64_t seed;
  };

  // settled[c] is 1 for each code point (of 0x110000) that is to be normalized here.
  WordCounter(SpecialTokens special_tokens, std::vector<std::uint8_t> settled, const Options& options)
      : options_(options),
        settled_(std::move(settled)),
        // Parts are processed in the order of their hashes; with the same seed, their words would cluster in the other table.
        parts_(std::make_unique<Parts>(BertSplitter(options.rules), std::move(special_tokens), options.threads, ~options.seed)),
        words_(options.seed) {}

  void add_document(Bytes text) { open().add_document(text); }
  void begin_source(DocumentMode mode) { open().begin_source(mode); }
  void feed(Bytes block) { open().feed(block); }
  std::span<Byte> prepare(std::size_t size) { return open().prepare(size); }
  void commit(std::size_t used) { open().commit(used); }
  void end_source() { open().end_source(); }

  // Waits for all documents, and normalizes the parts. Further calls do nothing; afterwards, only words can be added.
  void finish() {
    if (parts_ == nullptr) return;
    parts_->finish();
    normalize(parts_->counts());
    totals_ = parts_->totals();
    invalid_ = parts_->invalid();
    parts_.reset();
  }

  void add_totals(const CounterTotals& totals) { parts_ ? parts_->add_totals(totals) : totals_.add(totals); }
  std::optional<InvalidByte> invalid() { return parts_ ? parts_->invalid() : invalid_; }
  const CounterTotals& totals() const { return parts_ ? parts_->totals() : totals_; }
  bool is_finished() const { return parts_ == nullptr; }

  struct Part {
    std::string text;
    std::int64_t count;
  };

  // Hands over the parts with characters that are not settled. The caller adds the words that they normalize to.
  std::vector<Part> take_unsettled() { return std::exchange(unsettled_, {}); }

  // Adds `count` > 0 occurrences of a word that was normalized elsewhere, if its hash falls into parts [first, last).
  void add_counted(Bytes word, std::int64_t count, std::size_t first = 0, std::size_t last = PretokenCounts::kParts) {
    counted_bytes_.add(word, count);
    const auto characters = static_cast<std::size_t>(std::ranges::count_if(word, [](Byte byte) { return !is_continuation(byte); }));
    if (characters > options_.most_characters) {
      too_long_ += count;
    } else {
      words_.add(word, count, first, last);
    }
  }

  // Waits until everything so far is normalized, except the end of an unfinished source. More can be added afterwards.
  void drain() {
    if (parts_ == nullptr) return;
    parts_->drain();
    normalize(parts_->counts());
    parts_->clear_counts();
  }

  // Clears the words but not the totals. To be called after drain().
  void clear_counts() { words_.clear(); }

  // The approximate number of bytes that words and parts take.
  std::size_t memory() const { return words_.memory() + (parts_ ? parts_->counts().memory() : 0); }

  // To be called after drain() or finish().
  const PretokenCounts& counts() const { return words_; }
  std::int64_t too_long() const { return too_long_; }  // occurrences of words that are too long to be counted

 private:
  using Parts = Counter<BertSplitter>;

  static constexpr std::size_t kTableEntries = 1 << 14;

  Parts& open() {
    if (parts_ == nullptr) throw std::invalid_argument("the counter is finished");
    return *parts_;
  }

  void normalize(const PretokenCounts& parts) {
    Turns turns(PretokenCounts::kParts);
    std::mutex mutex;  // guards all results except words_
    run_on(std::max(options_.threads, 1u), [&] {
      PretokenTable table(options_.seed);
      NormalText normal;
      std::int64_t too_long = 0;
      std::vector<Part> unsettled;
      for (std::size_t turn; turns.take(turn);) {
        parts.for_each_in(turn, [&](Bytes part, std::int64_t count) {
          if (!is_settled(part)) {
            unsettled.push_back({std::string(part.begin(), part.end()), count});
            return;
          }
          for_each_normal_word<false>(options_.rules, part, normal, [&](std::size_t start, std::size_t size, std::size_t characters) {
            too_long += add(table, {normal.bytes.data() + start, size}, characters, count);
          });
          if (table.size() >= kTableEntries) words_.take(table);
        });
      }
      words_.take(table);
      const std::lock_guard lock(mutex);
      too_long_ += too_long;
      std::ranges::move(unsettled, std::back_inserter(unsettled_));
    });
  }

  // Adds a word unless it is too long; returns the number of occurrences that are not counted.
  std::int64_t add(PretokenTable& table, Bytes word, std::size_t characters, std::int64_t count) const {
    if (characters > options_.most_characters) return count;
    Byte padded[kKeyPadding] = {};
    const bool is_short = word.size() <= kShortWord;
    if (is_short) std::ranges::copy(word, padded);
    table.add(is_short ? padded : word.data(), word.size(), count);
    return 0;
  }

  bool is_settled(Bytes part) const {
    const Byte* const end = part.data() + part.size();
    for (const Byte* p = part.data(); p != end;) {
      const TextCharacter character = text_character_at(p, end);
      if (settled_[character.code_point] == 0) return false;
      p += character.length;
    }
    return true;
  }

  Options options_;
  std::vector<std::uint8_t> settled_;
  std::unique_ptr<Parts> parts_;  // until finish()
  PretokenCounts words_;
  CountedBytes counted_bytes_;
  std::int64_t too_long_ = 0;
  std::vector<Part> unsettled_;
  CounterTotals totals_;
  std::optional<InvalidByte> invalid_;
};

}  // namespace tokbench
