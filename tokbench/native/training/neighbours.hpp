// What one merge changes on one side of the merged pair: per neighbouring symbol, and in order.
#pragma once

#include <cstdint>
#include <vector>

#include "pair_counts.hpp"

namespace tokbench {

// Indexed by symbol rather than hashed: the inner loop of training notes a neighbour of every
// occurrence, and the table of pairs is asked once for each different one.
template <class Symbol>
class Neighbours {
 public:
  struct Change {
    std::int64_t count = 0;       // occurrences that moved from the old pair to the new one
    std::size_t postings = 0;     // where they are; 0 where the symbol is no neighbour
    Posting* next = nullptr;      // where the new pair's next posting goes, if it gets any
  };

  void note(Symbol symbol, std::int64_t count, Posting posting) {
    Change& change = changes_[symbol];
    if (change.postings++ == 0) symbols_.push_back(symbol);
    change.count += count;
    noted_.push_back({symbol, posting});
  }

  // Calls sink(symbol, change) for each different neighbour.
  template <class Sink>
  void for_each(Sink sink) {
    for (const Symbol symbol : symbols_) sink(symbol, changes_[symbol]);
  }

  // Writes the postings of the new pairs that have been given room, in the order in which they were noted.
  void write_postings() {
    for (const Noted& noted : noted_) {
      Posting*& next = changes_[noted.symbol].next;
      if (next != nullptr) *next++ = noted.posting;
    }
  }

  // Nothing is noted any more; symbols below `num_symbols` may be.
  void reset(std::size_t num_symbols) {
    for (const Symbol symbol : symbols_) changes_[symbol] = {};
    symbols_.clear();
    noted_.clear();
    if (changes_.size() < num_symbols) changes_.resize(num_symbols);
  }

 private:
  struct Noted {
    Symbol symbol;
    Posting posting;
  };

  std::vector<Change> changes_;
  std::vector<Symbol> symbols_;
  std::vector<Noted> noted_;
};

}  // namespace tokbench
