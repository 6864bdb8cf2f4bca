// Merges adjacent pairs of symbols in words, and keeps the counts and postings of the pairs that are followed.
//
// All occurrences of a pair are created by the one merge that creates its younger symbol, so its postings are written once, at
// their exact size, and its count only falls from then on. This requires that every merge creates a new symbol; after a merge
// into an existing symbol, all pairs must be posted again.
//
// A Follower is notified of pairs, and has
//
//   bool wants(Id left, Id right) const;   // whether the pair may ever be merged
//   void follow(std::uint32_t entry);      // the pair is followed from now on
//   void passed(Id left, Id right);        // the pair existed only between two adjacent occurrences of the merge
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "long_words.hpp"
#include "second_thread.hpp"
#include "short_words.hpp"

namespace tokbench {

// Symbol must be able to hold every id. kWideStep (short_words.hpp) makes room for eight times as many words.
template <class Symbol, std::size_t kStep = 1>
class PairMerger {
  using Short = ShortWords<Symbol, kStep>;

 public:
  // The initial symbols of words are below `num_first`. With `threads` > 1, a second thread takes half of each large merge.
  PairMerger(std::size_t num_first, std::uint64_t seed, unsigned threads = 1)
      : num_symbols_(num_first), pairs_(seed), has_second_thread_(threads > 1) {}

  // Loads the words: source(sink) must call sink(symbols, count) for each word, with a span of symbols, or of bytes that are
  // symbols. It is called twice.
  template <class Source>
  void lay_out(const Source& source) {
    short_words_.reserve(units_of(source));
    source([&](const auto& word, std::int64_t count) {
      num_tokens_ += count * static_cast<std::int64_t>(word.size());
      if (word.size() > kLongestShortWord) {
        long_words_.add(word, count);
      } else if (word.size() > 1) {
        short_words_.add(word, count);
      }
    });
  }

  // Whether the words of a source, `num_words` of them, are few enough for postings that count units.
  template <class Source>
  static bool has_room_for(const Source& source, std::size_t num_words) {
    static_assert(kStep == 1);
    return num_words < Short::kMostSteps / Short::units_of(kLongestShortWord) || units_of(source) < Short::kMostSteps;
  }

  // Counts all pairs anew, and follows those with a count of at least `threshold`.
  template <class Follower>
  void post_pairs(std::int64_t threshold, Follower& follower) {
    pairs_.clear();
    postings_.clear();
    short_words_.compact();
    if (num_symbols_ <= kMostInTable) {
      post_by_table(threshold, follower);
    } else {
      post_by_left_symbol(threshold, follower);
    }
  }

  // Merges all occurrences of a pair, and follows the new pairs with a count of at least `threshold`. Returns the number of
  // occurrences.
  template <class Follower>
  std::int64_t merge(std::uint32_t entry, Symbol made, std::int64_t threshold, Follower& follower) {
    const PairCounts::Entry pair = pairs_[entry];
    const auto left = static_cast<Symbol>(pair.left), right = static_cast<Symbol>(pair.right);
    num_symbols_ = std::max(num_symbols_, made + std::size_t{1});
    left_side_.reset(num_symbols_, pair.postings.size());
    right_side_.reset(num_symbols_, pair.postings.size());

    const auto first_long = std::find_if(pair.postings.rbegin(), pair.postings.rend(),
                                         [](Posting posting) { return posting < kLongMark; }).base();
    const auto num_short = static_cast<std::size_t>(first_long - pair.postings.begin());
    const std::int64_t merged =
        merge_short(left, right, made, pair.postings.first(num_short)) +
        long_words_.merge(left, right, made, pair.postings.subspan(num_short), kLongMark, left_side_, right_side_);
    num_tokens_ -= merged;

    postings_.reuse(pair.postings);
    left_side_.for_each(
        [&](Symbol before, std::int64_t count, std::size_t postings) {
          // Between two adjacent occurrences there was the pair (right, left).
          lower(before == made ? right : before, left, count);
          if (before == made) follower.passed(made, left);
          return add_pair(before, made, count, postings, threshold, follower);
        },
        [&](Symbol before) { pairs_.prefetch(before, left); });
    right_side_.for_each(
        [&](Symbol after, std::int64_t count, std::size_t postings) {
          lower(right, after, count);
          return add_pair(made, after, count, postings, threshold, follower);
        },
        [&](Symbol after) { pairs_.prefetch(right, after); });
    left_side_.write_postings();
    right_side_.write_postings();
    pairs_[entry].count = 0;
    return merged;
  }

  const PairCounts::Entry& operator[](std::uint32_t entry) const { return pairs_[entry]; }

  // The entry of a pair that is followed, or PairCounts::kAbsent.
  std::uint32_t find(Id left, Id right) const { return pairs_.find(left, right); }

  // The number of symbols of all words, weighted by their counts.
  std::int64_t num_tokens() const { return num_tokens_; }

 private:
  static constexpr Posting kLongMark = Short::kPostingsEnd;  // added to postings of long words
  static constexpr std::size_t kLongestShortWord = 100;
  static constexpr std::size_t kWorthSharing = 2048;  // postings from which on a second thread helps: it takes time to respond
  static constexpr std::size_t kMostInTable = 256;    // symbols for which all pairs are counted in a table

  // Merges a pair in the words of these postings; if there are many, the second thread takes half. No word is in both halves,
  // and neighbours are recorded in the order of the postings, so that the result is the same.
  std::int64_t merge_short(Symbol left, Symbol right, Symbol made, std::span<const Posting> postings) {
    std::size_t cut = postings.size() / 2;
    while (cut > 0 && postings[cut] == postings[cut - 1]) --cut;
    if (!has_second_thread_ || postings.size() < kWorthSharing || cut == 0) {
      return short_words_.merge(left, right, made, postings, left_side_, right_side_);
    }
    begin_second();
    second_->left_side.reset(num_symbols_, postings.size() - cut);
    second_->right_side.reset(num_symbols_, postings.size() - cut);
    std::int64_t ours = 0, theirs = 0;
    second_->thread.run(
        [&] { ours = short_words_.merge(left, right, made, postings.first(cut), left_side_, right_side_); },
        [&] {
          theirs = short_words_.merge(left, right, made, postings.subspan(cut), second_->left_side, second_->right_side);
        });
    left_side_.append(second_->left_side);
    right_side_.append(second_->right_side);
    return ours + theirs;
  }

  // Calls work(half) for both halves of the words, in parallel if there is a second thread.
  template <class Work>
  void in_halves(const Work& work) {
    if (has_second_thread_) {
      begin_second();
      second_->thread.run([&] { work(Half::First); }, [&] { work(Half::Second); });
    } else {
      work(Half::First);
      work(Half::Second);
    }
  }

  void begin_second() {
    if (!second_) second_ = std::make_unique<Second>();
  }

  // The number of units that the words of a source take.
  template <class Source>
  static std::size_t units_of(const Source& source) {
    std::size_t units = 0;
    source([&](const auto& word, std::int64_t) {
      if (word.size() > 1 && word.size() <= kLongestShortWord) units += Short::units_of(word.size());
    });
    return units;
  }

  // Calls sink(left, right, count, posting) for each adjacent pair, in the order of the words and within them.
  template <class Sink>
  void for_each_neighbours(Sink sink) const {
    for_each_neighbours(Half::First, sink);
    for_each_neighbours(Half::Second, sink);
  }

  template <class Sink>
  void for_each_neighbours(Half half, Sink sink) const {
    short_words_.for_each(half, [&](std::span<const Symbol> symbols, std::int64_t count, Posting posting) {
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i) sink(symbols[i], symbols[i + 1], count, posting);
    });
    if (half == Half::First) return;
    long_words_.for_each_pair([&](Symbol left, Symbol right, std::int64_t count, Posting posting) {
      sink(left, right, count, kLongMark + posting);
    });
  }

  template <class Follower>
  void post_by_table(std::int64_t threshold, Follower& follower) {
    struct Found {
      std::int64_t count = 0;
      std::size_t postings = 0;
      Posting* next = nullptr;
    };
    std::vector<Found> of_first(kMostInTable * kMostInTable), of_second(kMostInTable * kMostInTable);
    in_halves([&](Half half) {
      Found* const all = half == Half::First ? of_first.data() : of_second.data();
      for_each_neighbours(half, [&](Symbol left, Symbol right, std::int64_t count, Posting) {
        Found& found = all[left * kMostInTable + right];
        found.count += count;
        found.postings += 1;
      });
    });
    for (Id left = 0; left < num_symbols_; ++left) {
      for (Id right = 0; right < num_symbols_; ++right) {
        Found &first = of_first[left * kMostInTable + right], &second = of_second[left * kMostInTable + right];
        first.next = add_pair(left, right, first.count + second.count, first.postings + second.postings, threshold, follower);
        if (first.next != nullptr) second.next = first.next + first.postings;
      }
    }
    in_halves([&](Half half) {
      Found* const all = half == Half::First ? of_first.data() : of_second.data();
      for_each_neighbours(half, [&](Symbol left, Symbol right, std::int64_t, Posting posting) {
        Posting*& next = all[left * kMostInTable + right].next;
        if (next != nullptr) *next++ = posting;
      });
    });
  }

  // Posts pairs when there are too many symbols for a table of all pairs, by sorting occurrences by their left symbol.
  template <class Follower>
  void post_by_left_symbol(std::int64_t threshold, Follower& follower) {
    struct Right {
      Symbol symbol;
      Posting posting;
    };
    std::vector<std::int64_t> as_left(num_symbols_), as_right(num_symbols_);
    std::vector<std::size_t> sizes(num_symbols_);
    for_each_neighbours([&](Symbol left, Symbol right, std::int64_t count, Posting) {
      as_left[left] += count;
      as_right[right] += count;
      sizes[left] += 1;
    });
    std::vector<std::size_t> ends(num_symbols_);
    std::size_t total = 0;
    for (std::size_t left = 0; left < num_symbols_; ++left) {
      ends[left] = total;
      if (as_left[left] >= threshold) total += sizes[left];
    }
    std::vector<Right, BigPages<Right>> rights(total);
    for_each_neighbours([&](Symbol left, Symbol right, std::int64_t, Posting posting) {
      if (as_left[left] >= threshold && as_right[right] >= threshold) rights[ends[left]++] = {right, posting};
    });
    std::size_t start = 0;
    for (std::size_t left = 0; left < num_symbols_; ++left) {
      if (as_left[left] < threshold) continue;
      right_side_.reset(num_symbols_, sizes[left]);
      for (std::size_t i = start; i < ends[left]; ++i) {
        right_side_.note(rights[i].symbol, true, count_of(rights[i].posting), rights[i].posting);
      }
      right_side_.for_each(
          [&](Symbol right, std::int64_t count, std::size_t postings) {
            return add_pair(static_cast<Id>(left), right, count, postings, threshold, follower);
          },
          [](Symbol) {});
      right_side_.write_postings();
      start += sizes[left];
    }
  }

  std::int64_t count_of(Posting posting) const {
    return posting < kLongMark ? short_words_.count_of(posting) : long_words_.count_of(posting - kLongMark);
  }

  // Follows a pair if it is frequent enough, and returns where to write its postings; otherwise nullptr.
  template <class Follower>
  Posting* add_pair(Id left, Id right, std::int64_t count, std::size_t num_postings, std::int64_t threshold, Follower& follower) {
    if (count < threshold || !follower.wants(left, right)) return nullptr;
    const std::span<Posting> postings = postings_.allocate(num_postings);
    follower.follow(pairs_.insert({left, right, count, postings}));
    return postings.data();
  }

  void lower(Id left, Id right, std::int64_t lost) {
    const std::uint32_t entry = pairs_.find(left, right);
    if (entry != PairCounts::kAbsent) pairs_[entry].count -= lost;
  }

  std::size_t num_symbols_;  // all symbols of the words are below it
  Short short_words_;
  LongWords<Symbol> long_words_;
  std::int64_t num_tokens_ = 0;

  PairCounts pairs_;
  PostingArena postings_;

  Neighbours<Symbol> left_side_;
  Neighbours<Symbol> right_side_;

  // The second thread, started when it is first needed.
  struct Second {
    Neighbours<Symbol> left_side;
    Neighbours<Symbol> right_side;
    SecondThread thread;
  };
  bool has_second_thread_;
  std::unique_ptr<Second> second_;
};

}  // namespace tokbench
