// Collects the neighbours on one side of a merged pair: for each symbol its count and its postings, in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pair_counts.hpp"

namespace tokbench {

// Indexed by symbol instead of hashed: the inner loop of training records one neighbour per occurrence, and the table of pairs
// is then asked once per distinct neighbour. Whether an occurrence has a neighbour, whether that is new, and whether its pair
// gets postings are all hard to predict, so nothing branches on them.
template <class Symbol>
class Neighbours {
 public:
  // Clears everything, and makes room for `most` neighbours with symbols below `num_symbols`.
  void reset(std::size_t num_symbols, std::size_t most) {
    for (std::size_t i = 0; i < num_different_; ++i) changes_[places_[i]] = {};
    changes_[kNone] = {};
    num_different_ = num_noted_ = 0;
    if (changes_.size() <= num_symbols) changes_.resize(num_symbols + 1);
    if (places_.size() <= num_symbols + 1) places_.resize(num_symbols + 2);
    if (noted_.size() <= most) noted_.resize(std::max(most + 1, noted_.size() * 2));
  }

  // Records the neighbour of an occurrence. Without `is_there`, there is none, and `symbol` is ignored.
  void note(Symbol symbol, bool is_there, std::int64_t count, Posting posting) {
    const Place place = (symbol + Place{1}) & -Place{is_there};  // compilers turn a conditional into a branch
    Change& change = changes_[place];
    places_[num_different_] = place;
    num_different_ += Place{is_there} & Place{change.postings == 0};
    change.postings += 1;
    change.count += count;
    noted_[num_noted_] = {place, posting};
    num_noted_ += is_there;
  }

  // Appends the records of another one, as if they had been recorded here. There must be room for them.
  void append(const Neighbours& other) {
    for (std::size_t i = 0; i < other.num_different_; ++i) {
      const Place place = other.places_[i];
      Change& change = changes_[place];
      if (change.postings == 0) places_[num_different_++] = place;
      change.count += other.changes_[place].count;
      change.postings += other.changes_[place].postings;
    }
    std::copy_n(other.noted_.data(), other.num_noted_, noted_.data() + num_noted_);
    num_noted_ += other.num_noted_;
  }

  // Calls sink(symbol, count, number of postings) for each distinct neighbour; it returns where to write its postings, or
  // nullptr. Calls ahead(symbol) some steps earlier, for prefetching.
  template <class Sink, class Ahead>
  void for_each(Sink sink, Ahead ahead) {
    rooms_.assign(1, nullptr);
    for (std::size_t i = 0; i < num_different_; ++i) {
      if (i + kAhead < num_different_) ahead(symbol_at(places_[i + kAhead]));
      Change& change = changes_[places_[i]];
      Posting* const room = sink(symbol_at(places_[i]), change.count, change.postings);
      if (room == nullptr) continue;
      change.room = static_cast<std::uint32_t>(rooms_.size());
      rooms_.push_back(room);
    }
  }

  // Writes the postings in the order in which they were recorded.
  void write_postings() {
    if (rooms_.size() == 1) return;
    Posting nowhere;
    rooms_[0] = &nowhere;
    for (std::size_t i = 0; i < num_noted_; ++i) {
      const std::uint32_t room = changes_[noted_[i].place].room;
      *rooms_[room] = noted_[i].posting;
      rooms_[room] += room != 0;
    }
  }

 private:
  using Place = std::uint32_t;  // symbol + 1; kNone for no neighbour

  static constexpr Place kNone = 0;
  static constexpr std::size_t kAhead = 8;

  struct Change {
    std::int64_t count = 0;
    std::uint32_t postings = 0;  // 0 if the symbol is not a neighbour
    std::uint32_t room = 0;      // index into rooms_ for its next posting; 0 to discard it
  };

  struct Noted {
    Place place;
    Posting posting;
  };

  static Symbol symbol_at(Place place) { return static_cast<Symbol>(place - 1); }

  std::vector<Change> changes_{1};
  std::vector<Place> places_;  // the distinct neighbours
  std::vector<Noted, BigPages<Noted>> noted_;
  std::vector<Posting*> rooms_;
  std::size_t num_different_ = 0;
  std::size_t num_noted_ = 0;
};

}  // namespace tokbench
