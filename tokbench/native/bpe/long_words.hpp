// The pre-tokens that are too long to be looked through for every merge: each symbol knows its neighbours.
//
// A posting is the place of a pair's left symbol, so that a merge costs its occurrences however long
// the pre-token is. Most texts have none of these.
#pragma once

#include <limits>
#include <stdexcept>
#include <vector>

#include "common/utf8.hpp"
#include "neighbours.hpp"

namespace tokbench {

template <class Symbol>
class LongWords {
 public:
  void add(Bytes text, std::int64_t count) {
    if (places_.size() + text.size() >= kNowhere) throw std::length_error("too many long pre-tokens");
    const auto word = static_cast<std::uint32_t>(counts_.size());
    const Place start = static_cast<Place>(places_.size());
    for (const Byte byte : text) {
      const Place here = static_cast<Place>(places_.size());
      places_.push_back({byte, false, word, here == start ? kNowhere : here - 1, here + 1});
    }
    places_.back().next = kNowhere;
    counts_.push_back(count);
  }

  // Calls sink(left, right, count, posting) for each pair of neighbours.
  template <class Sink>
  void for_each_pair(Sink sink) const {
    for (Place place = 0; place < places_.size(); ++place) {
      const Node& node = places_[place];
      if (node.is_gone || node.next == kNowhere) continue;
      sink(node.symbol, places_[node.next].symbol, counts_[node.word], place);
    }
  }

  Symbol right_of(Posting place) const { return places_[places_[place].next].symbol; }
  std::int64_t count_of(Posting place) const { return counts_[places_[place].word]; }

  // As ShortWords does; the postings ascend within each word. `mark` is added to the postings that are noted.
  std::int64_t merge(Symbol left, Symbol right, Symbol made, std::span<const Posting> postings, Posting mark,
                     Neighbours<Symbol>& left_side, Neighbours<Symbol>& right_side) {
    std::int64_t merged = 0;
    for (const Posting posting : postings) {
      const Place place = posting - mark;
      if (!matches(place, left, right)) continue;
      Node& node = places_[place];
      const std::int64_t times = counts_[node.word];
      if (node.previous != kNowhere) left_side.note(places_[node.previous].symbol, times, mark + node.previous);
      places_[node.next].is_gone = true;
      node.next = places_[node.next].next;
      node.symbol = made;
      if (node.next != kNowhere) {
        places_[node.next].previous = place;
        if (!matches(node.next, left, right)) right_side.note(places_[node.next].symbol, times, posting);
      }
      merged += times;
    }
    return merged;
  }

 private:
  using Place = std::uint32_t;
  static constexpr Place kNowhere = 0x7FFFFFFFu;

  struct Node {
    Symbol symbol;
    bool is_gone;  // its left neighbour took it in
    std::uint32_t word;
    Place previous;
    Place next;
  };

  bool matches(Place place, Symbol left, Symbol right) const {
    const Node& node = places_[place];
    return !node.is_gone && node.symbol == left && node.next != kNowhere && places_[node.next].symbol == right;
  }

  std::vector<Node> places_;
  std::vector<std::int64_t> counts_;  // of each word
};

}  // namespace tokbench
