// Learns merges from pre-token counts: the highest count first, ties to the smallest (left, right).
//
// Every occurrence of a pair comes into being in the one merge that makes its younger symbol, so the
// pair's postings are written once, at exact size. From then on its count can only fall: a heap whose
// entries may be too high, and are pushed again with their true count when they come up, gives exactly
// the order that the reference defines.
//
// Nine pairs of ten are too rare ever to be merged. Those below a threshold get neither postings nor
// an entry; when none above it is left, it falls, and all pairs are counted anew. It changes how long
// training takes, never what is learned: whatever is known occurs more often than all that is not.
#pragma once

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <variant>

#include "long_words.hpp"
#include "pretoken_counts.hpp"
#include "short_words.hpp"

namespace tokbench {

struct Merge {
  Id left;
  Id right;
  std::int64_t count;
};

struct TrainerOptions {
  std::size_t num_merges;
  std::int64_t min_frequency;     // at least 1
  std::size_t max_token_length;   // bytes; 0 for no limit
  std::uint64_t seed;
};

// Symbol holds the id of every merge that is asked for.
template <class Symbol>
class TrainerOf {
 public:
  TrainerOf(const PretokenCounts& pretokens, const TrainerOptions& options)
      : options_(options), pairs_(options.seed), token_lengths_(kNumBytes, 1) {
    lay_out(pretokens);
    threshold_ = std::max(options_.min_frequency, first_threshold());
    post_pairs();
  }

  // Learns the next merge; false when no pair is left that may be merged.
  bool step() {
    if (merges_.size() >= options_.num_merges) return false;
    for (;;) {
      while (!heap_.empty()) {
        const Candidate top = heap_.front();
        std::pop_heap(heap_.begin(), heap_.end());
        heap_.pop_back();
        const std::int64_t count = pairs_[top.entry].count;
        if (count == top.count) {
          merge(top.entry);
          return true;
        }
        if (count >= threshold_) push(top.entry);
      }
      if (threshold_ == options_.min_frequency) return false;
      threshold_ = std::max(options_.min_frequency, next_threshold());
      post_pairs();
    }
  }

  const std::vector<Merge>& merges() const { return merges_; }

  // Tokens that the counted text has become, single-byte pre-tokens included.
  std::int64_t num_tokens() const { return num_tokens_; }

 private:
  static constexpr std::size_t kNumBytes = 256;
  static constexpr Posting kLongMark = ShortWords<Symbol>::kPostingsEnd;  // on postings of long words

  struct Candidate {
    std::int64_t count;
    Id left;
    Id right;
    std::uint32_t entry;
    // Whether `other` is merged before this one: std heaps keep their greatest entry on top.
    bool operator<(const Candidate& other) const {
      if (count != other.count) return count < other.count;
      if (left != other.left) return left > other.left;
      return right > other.right;
    }
  };

  void lay_out(const PretokenCounts& pretokens) {
    std::size_t num_words = 0, num_bytes = 0;
    pretokens.for_each([&](Bytes text, std::int64_t) {
      if (text.size() < 2 || text.size() > kLongestShortWord) return;
      num_words += 1;
      num_bytes += text.size();
    });
    short_words_.reserve(num_words, num_bytes);
    pretokens.for_each([&](Bytes text, std::int64_t count) {
      num_tokens_ += count * static_cast<std::int64_t>(text.size());
      if (text.size() > kLongestShortWord) {
        long_words_.add(text, count);
      } else if (text.size() > 1) {
        short_words_.add(text, count);
      }
    });
  }

  // Guesses of the count of the last merge, rather too low: counts fall about as 1 / rank.
  std::int64_t first_threshold() const {
    return num_tokens_ / static_cast<std::int64_t>(std::max<std::size_t>(options_.num_merges, 1) * kFirstGuess);
  }
  std::int64_t next_threshold() const {
    const double learned = static_cast<double>(merges_.size()) / static_cast<double>(options_.num_merges);
    const double share = std::clamp(learned / 2, 1.0 / 16, 1.0 / 2);
    return static_cast<std::int64_t>(static_cast<double>(threshold_) * share);
  }

  // Finds all pairs that occur as often as the threshold demands, and where.
  void post_pairs() {
    pairs_.clear();
    heap_.clear();
    postings_.clear();
    short_words_.compact();
    if (merges_.empty()) {
      post_byte_pairs();
    } else {
      post_by_left_symbol();
    }
  }

  // Calls sink(left, right, count, posting) for each pair of neighbours; words in order, a word's pairs in order.
  template <class Sink>
  void for_each_neighbours(Sink sink) const {
    short_words_.for_each([&](std::span<const Symbol> symbols, std::int64_t count, Posting posting) {
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i) sink(symbols[i], symbols[i + 1], count, posting);
    });
    long_words_.for_each_pair([&](Symbol left, Symbol right, std::int64_t count, Posting posting) {
      sink(left, right, count, kLongMark + posting);
    });
  }

  void post_byte_pairs() {
    std::vector<Change> changes(kNumBytes * kNumBytes);
    for_each_neighbours([&](Symbol left, Symbol right, std::int64_t count, Posting) {
      Change& change = changes[left * kNumBytes + right];
      change.count += count;
      change.postings += 1;
    });
    for (Id left = 0; left < kNumBytes; ++left) {
      for (Id right = 0; right < kNumBytes; ++right) add_pair(left, right, changes[left * kNumBytes + right]);
    }
    for_each_neighbours([&](Symbol left, Symbol right, std::int64_t, Posting posting) {
      Posting*& next = changes[left * kNumBytes + right].next;
      if (next != nullptr) *next++ = posting;
    });
  }

  // There are too many pairs of symbols for a table of all: they are sorted by their left one first.
  void post_by_left_symbol() {
    struct Right {
      Symbol symbol;
      Posting posting;
    };
    const std::size_t num_symbols = kNumBytes + merges_.size();
    std::vector<std::int64_t> as_left(num_symbols), as_right(num_symbols);
    std::vector<std::size_t> sizes(num_symbols);
    for_each_neighbours([&](Symbol left, Symbol right, std::int64_t count, Posting) {
      as_left[left] += count;
      as_right[right] += count;
      sizes[left] += 1;
    });
    std::vector<std::size_t> ends(num_symbols);
    std::size_t total = 0;
    for (std::size_t left = 0; left < num_symbols; ++left) {
      ends[left] = total;
      if (as_left[left] >= threshold_) total += sizes[left];
    }
    std::vector<Right, BigPages<Right>> rights(total);
    for_each_neighbours([&](Symbol left, Symbol right, std::int64_t, Posting posting) {
      if (as_left[left] >= threshold_ && as_right[right] >= threshold_) rights[ends[left]++] = {right, posting};
    });
    right_side_.reset(num_symbols);
    std::size_t start = 0;
    for (std::size_t left = 0; left < num_symbols; ++left) {
      if (as_left[left] < threshold_) continue;
      for (std::size_t i = start; i < ends[left]; ++i) {
        right_side_.note(rights[i].symbol, count_of(rights[i].posting), rights[i].posting);
      }
      right_side_.for_each([&](Symbol right, Change& change) { add_pair(static_cast<Id>(left), right, change); });
      right_side_.write_postings();
      right_side_.reset(num_symbols);
      start += sizes[left];
    }
  }

  std::int64_t count_of(Posting posting) const {
    return posting < kLongMark ? short_words_.count_of(posting) : long_words_.count_of(posting - kLongMark);
  }

  using Change = typename Neighbours<Symbol>::Change;

  void add_pair(Id left, Id right, Change& change) {
    if (change.count < threshold_) return;
    if (options_.max_token_length != 0 && token_lengths_[left] + token_lengths_[right] > options_.max_token_length) return;
    const std::span<Posting> postings = postings_.allocate(change.postings);
    change.next = postings.data();
    push(pairs_.insert({left, right, change.count, postings}));
  }

  void push(std::uint32_t entry) {
    heap_.push_back({pairs_[entry].count, pairs_[entry].left, pairs_[entry].right, entry});
    std::push_heap(heap_.begin(), heap_.end());
  }

  void merge(std::uint32_t entry) {
    const PairCounts::Entry pair = pairs_[entry];
    const auto left = static_cast<Symbol>(pair.left), right = static_cast<Symbol>(pair.right);
    const auto made = static_cast<Symbol>(kNumBytes + merges_.size());
    merges_.push_back({left, right, pair.count});
    token_lengths_.push_back(token_lengths_[left] + token_lengths_[right]);
    left_side_.reset(made + std::size_t{1});
    right_side_.reset(made + std::size_t{1});

    const auto first_long = std::find_if(pair.postings.rbegin(), pair.postings.rend(),
                                         [](Posting posting) { return posting < kLongMark; }).base();
    const auto num_short = static_cast<std::size_t>(first_long - pair.postings.begin());
    num_tokens_ -= short_words_.merge(left, right, made, pair.postings.first(num_short), left_side_, right_side_);
    num_tokens_ -= long_words_.merge(left, right, made, pair.postings.subspan(num_short), kLongMark, left_side_, right_side_);

    left_side_.for_each([&](Symbol before, Change& change) {
      // Two that were merged side by side were joined by (right, left).
      lower(before == made ? right : before, left, change.count);
      add_pair(before, made, change);
    });
    right_side_.for_each([&](Symbol after, Change& change) {
      lower(right, after, change.count);
      add_pair(made, after, change);
    });
    left_side_.write_postings();
    right_side_.write_postings();
    pairs_[entry].count = 0;
  }

  void lower(Id left, Id right, std::int64_t lost) {
    const std::uint32_t entry = pairs_.find(left, right);
    if (entry != PairCounts::kAbsent) pairs_[entry].count -= lost;
  }

  static constexpr std::size_t kLongestShortWord = 100;
  static constexpr std::size_t kFirstGuess = 64;

  TrainerOptions options_;
  std::int64_t threshold_ = 0;  // of the count of a pair that is known

  ShortWords<Symbol> short_words_;
  LongWords<Symbol> long_words_;

  PairCounts pairs_;
  PostingArena postings_;
  std::vector<Candidate> heap_;

  std::vector<std::size_t> token_lengths_;
  std::vector<Merge> merges_;
  std::int64_t num_tokens_ = 0;

  Neighbours<Symbol> left_side_;
  Neighbours<Symbol> right_side_;
};

// With symbols of 16 bits as long as they hold every id: half the memory, and more words in a cache line.
class Trainer {
 public:
  Trainer(const PretokenCounts& pretokens, const TrainerOptions& options) {
    if (options.num_merges <= kMostSmallMerges) {
      trainer_.emplace<Small>(pretokens, options);
    } else {
      trainer_.emplace<Large>(pretokens, options);
    }
  }

  bool step() {
    return small() ? small()->step() : large().step();
  }
  const std::vector<Merge>& merges() {
    return small() ? small()->merges() : large().merges();
  }
  std::int64_t num_tokens() {
    return small() ? small()->num_tokens() : large().num_tokens();
  }

 private:
  using Small = TrainerOf<std::uint16_t>;
  using Large = TrainerOf<std::uint32_t>;
  static constexpr std::size_t kMostSmallMerges = (1 << 16) - 256;

  Small* small() { return std::get_if<Small>(&trainer_); }
  Large& large() { return std::get<Large>(trainer_); }

  std::variant<std::monostate, Small, Large> trainer_;
};

}  // namespace tokbench
