// Learns merges from pre-token counts: the highest count first, ties to the smallest (left, right).
//
// The symbols of all distinct pre-tokens stand in one array, each knowing its neighbours. Every
// occurrence of a pair comes into being in the one merge that makes its younger symbol, so the
// pair's postings (the places of its left symbol, ascending) are written once, at exact size. From
// then on its count can only fall: a heap whose entries may be too high, and are pushed again with
// their true count when they come up, gives exactly the order of the law. Pairs that begin below
// the minimum frequency can never be merged and get neither postings nor an entry.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <stdexcept>

#include "pair_map.hpp"
#include "pretoken_table.hpp"

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

class Trainer {
 public:
  Trainer(const PretokenTable& pretokens, const TrainerOptions& options)
      : options_(options), pairs_(1 << 16, options.seed), token_lengths_(kNumBytes, 1) {
    lay_out(pretokens);
    post_byte_pairs();
  }

  // Learns the next merge; false when no pair is left that may be merged.
  bool step() {
    if (merges_.size() >= options_.num_merges) return false;
    while (!heap_.empty()) {
      const Candidate top = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
      Pair& pair = pair_entries_[top.entry];
      if (pair.count < top.count) {
        if (pair.count >= options_.min_frequency) push(top.entry);
        continue;
      }
      merge(top.entry);
      return true;
    }
    return false;
  }

  const std::vector<Merge>& merges() const { return merges_; }

  // Tokens that the counted text has become, single-byte pre-tokens included.
  std::int64_t num_tokens() const { return num_tokens_; }

 private:
  static constexpr std::size_t kNumBytes = 256;
  using Place = std::uint32_t;
  static constexpr Place kNowhere = 0xFFFFFFFFu;
  static constexpr Id kMerged = 0xFFFFFFFFu;  // the symbol of a place whose left neighbour took it in

  struct Pair {
    Id left;
    Id right;
    std::int64_t count;
    std::size_t first_posting;
    std::size_t num_postings;
  };

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

  // What one merge changes about the pairs with one neighbouring symbol.
  struct Change {
    std::int64_t lost = 0;    // of the old pair
    std::int64_t gained = 0;  // of the new one
    std::size_t num_postings = 0;
    std::size_t next_posting = 0;
    bool wanted = false;  // whether the new pair gets postings
    bool touched = false;
  };

  // The changes of one side, indexed by symbol, and which symbols have some.
  struct Side {
    std::vector<Change> changes;
    std::vector<Id> symbols;

    Change& at(Id symbol) {
      Change& change = changes[symbol];
      if (!change.touched) {
        change.touched = true;
        symbols.push_back(symbol);
      }
      return change;
    }
    void clear() {
      for (const Id symbol : symbols) changes[symbol] = {};
      symbols.clear();
    }
  };

  void lay_out(const PretokenTable& pretokens) {
    std::size_t num_symbols = 0;
    pretokens.for_each([&](Bytes text, std::int64_t) { num_symbols += text.size() > 1 ? text.size() : 0; });
    if (num_symbols >= kNowhere) throw std::length_error("more than 4 GB of distinct pre-tokens");
    symbols_.reserve(num_symbols);
    word_of_.reserve(num_symbols);
    previous_.reserve(num_symbols);
    next_.reserve(num_symbols);
    pretokens.for_each([&](Bytes text, std::int64_t count) {
      num_tokens_ += count * static_cast<std::int64_t>(text.size());
      if (text.size() < 2) return;
      const Place start = static_cast<Place>(symbols_.size());
      for (const Byte byte : text) {
        const Place here = static_cast<Place>(symbols_.size());
        symbols_.push_back(byte);
        word_of_.push_back(static_cast<std::uint32_t>(counts_.size()));
        previous_.push_back(here == start ? kNowhere : here - 1);
        next_.push_back(here + 1);
      }
      next_.back() = kNowhere;
      counts_.push_back(count);
    });
  }

  void post_byte_pairs() {
    struct BytePair {
      std::int64_t count = 0;
      std::size_t num_postings = 0;
      std::uint32_t entry = PairMap::kAbsent;
      std::size_t next_posting = 0;
    };
    std::vector<BytePair> table(kNumBytes * kNumBytes);
    const auto at = [&](Place place) -> BytePair& { return table[symbols_[place] * kNumBytes + symbols_[next_[place]]]; };
    for (Place place = 0; place < symbols_.size(); ++place) {
      if (next_[place] == kNowhere) continue;
      at(place).count += counts_[word_of_[place]];
      at(place).num_postings += 1;
    }
    for (Id left = 0; left < kNumBytes; ++left) {
      for (Id right = 0; right < kNumBytes; ++right) {
        BytePair& pair = table[left * kNumBytes + right];
        if (!may_be_merged(left, right, pair.count)) continue;
        pair.entry = add_pair(left, right, pair.count, pair.num_postings);
        pair.next_posting = pair_entries_[pair.entry].first_posting;
      }
    }
    for (Place place = 0; place < symbols_.size(); ++place) {
      if (next_[place] == kNowhere) continue;
      BytePair& pair = at(place);
      if (pair.entry != PairMap::kAbsent) postings_[pair.next_posting++] = place;
    }
  }

  bool may_be_merged(Id left, Id right, std::int64_t count) const {
    return count >= options_.min_frequency && count > 0 &&
           (options_.max_token_length == 0 ||
            token_lengths_[left] + token_lengths_[right] <= options_.max_token_length);
  }

  std::uint32_t add_pair(Id left, Id right, std::int64_t count, std::size_t num_postings) {
    const auto entry = static_cast<std::uint32_t>(pair_entries_.size());
    pair_entries_.push_back({left, right, count, postings_.size(), num_postings});
    postings_.resize(postings_.size() + num_postings);
    pairs_.insert(left, right, entry);
    push(entry);
    return entry;
  }

  void push(std::uint32_t entry) {
    const Pair& pair = pair_entries_[entry];
    heap_.push_back({pair.count, pair.left, pair.right, entry});
    std::push_heap(heap_.begin(), heap_.end());
  }

  void merge(std::uint32_t entry) {
    const Pair pair = pair_entries_[entry];
    const Id made = static_cast<Id>(kNumBytes + merges_.size());
    merges_.push_back({pair.left, pair.right, pair.count});
    token_lengths_.push_back(token_lengths_[pair.left] + token_lengths_[pair.right]);
    left_side_.changes.resize(made + std::size_t{1});
    right_side_.changes.resize(made + std::size_t{1});

    replace_occurrences(pair, made);
    count_new_neighbours(made);
    lower_old_pairs(pair);
    add_new_pairs(made);
    write_postings(made);
    pair_entries_[entry].count = 0;
    left_side_.clear();
    right_side_.clear();
  }

  // Merges every occurrence, left to right, and notes what the pairs around it lose. A symbol `made`
  // on the left was merged a moment ago, and the pair between the two is counted already.
  void replace_occurrences(const Pair& pair, Id made) {
    merged_places_.clear();
    for (std::size_t i = pair.first_posting; i < pair.first_posting + pair.num_postings; ++i) {
      const Place place = postings_[i];
      const Place behind = next_[place];
      if (symbols_[place] != pair.left || behind == kNowhere || symbols_[behind] != pair.right) continue;
      const std::int64_t count = counts_[word_of_[place]];
      const Place before = previous_[place];
      const Place after = next_[behind];
      if (before != kNowhere && symbols_[before] != made) left_side_.at(symbols_[before]).lost += count;
      if (after != kNowhere) {
        right_side_.at(symbols_[after]).lost += count;
        previous_[after] = place;
      }
      symbols_[place] = made;
      symbols_[behind] = kMerged;
      next_[place] = after;
      num_tokens_ -= count;
      merged_places_.push_back(place);
    }
  }

  // Calls sink(change, place of the new pair's left symbol, count) for each pair that now stands around
  // a merged place; the one between two merged places belongs to the right one.
  template <class Sink>
  void for_each_new_neighbour(Id made, Sink sink) {
    for (const Place place : merged_places_) {
      const std::int64_t count = counts_[word_of_[place]];
      const Place before = previous_[place];
      const Place after = next_[place];
      if (before != kNowhere) sink(left_side_.at(symbols_[before]), before, count);
      if (after != kNowhere && symbols_[after] != made) sink(right_side_.at(symbols_[after]), place, count);
    }
  }

  void count_new_neighbours(Id made) {
    for_each_new_neighbour(made, [](Change& change, Place, std::int64_t count) {
      change.gained += count;
      change.num_postings += 1;
    });
  }

  void lower_old_pairs(const Pair& pair) {
    const auto lower = [&](Id left, Id right, std::int64_t lost) {
      const std::uint32_t entry = lost == 0 ? PairMap::kAbsent : pairs_.find(left, right);
      if (entry != PairMap::kAbsent) pair_entries_[entry].count -= lost;
    };
    for (const Id symbol : left_side_.symbols) lower(symbol, pair.left, left_side_.changes[symbol].lost);
    for (const Id symbol : right_side_.symbols) lower(pair.right, symbol, right_side_.changes[symbol].lost);
  }

  void add_new_pairs(Id made) {
    const auto add = [&](Id left, Id right, Change& change) {
      change.wanted = may_be_merged(left, right, change.gained);
      if (!change.wanted) return;
      const std::uint32_t entry = add_pair(left, right, change.gained, change.num_postings);
      change.next_posting = pair_entries_[entry].first_posting;
    };
    for (const Id symbol : left_side_.symbols) add(symbol, made, left_side_.changes[symbol]);
    for (const Id symbol : right_side_.symbols) add(made, symbol, right_side_.changes[symbol]);
  }

  void write_postings(Id made) {
    for_each_new_neighbour(made, [this](Change& change, Place place, std::int64_t) {
      if (change.wanted) postings_[change.next_posting++] = place;
    });
  }

  TrainerOptions options_;

  std::vector<Id> symbols_;
  std::vector<std::uint32_t> word_of_;  // place → which distinct pre-token
  std::vector<Place> previous_;
  std::vector<Place> next_;
  std::vector<std::int64_t> counts_;  // of each distinct pre-token

  PairMap pairs_;
  std::vector<Pair> pair_entries_;
  std::vector<Place> postings_;
  std::vector<Candidate> heap_;

  std::vector<std::size_t> token_lengths_;
  std::vector<Merge> merges_;
  std::int64_t num_tokens_ = 0;

  std::vector<Place> merged_places_;
  Side left_side_;
  Side right_side_;
};

}  // namespace tokbench
