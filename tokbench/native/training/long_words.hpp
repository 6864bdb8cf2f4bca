// Pre-tokens that are too long to be scanned for every merge, as doubly linked lists of symbols.
//
// A posting is the position of a pair's left symbol, so that a merge costs its occurrences however long the pre-token is. Most
// texts have no such pre-tokens.
#pragma once

#include <span>
#include <stdexcept>
#include <vector>

#include "neighbours.hpp"

namespace tokbench {

template <class Symbol>
class LongWords {
 public:
  template <class Unit>
  void add(std::span<const Unit> symbols, std::int64_t count) {
    if (nodes_.size() + symbols.size() >= kNowhere) throw std::length_error("too many long pre-tokens");
    const auto word = static_cast<std::uint32_t>(counts_.size());
    const Position start = static_cast<Position>(nodes_.size());
    for (const Unit symbol : symbols) {
      const Position here = static_cast<Position>(nodes_.size());
      nodes_.push_back({static_cast<Symbol>(symbol), false, word, here == start ? kNowhere : here - 1, here + 1});
    }
    nodes_.back().next = kNowhere;
    counts_.push_back(count);
  }

  // Calls sink(left, right, count, posting) for each pair of neighbours.
  template <class Sink>
  void for_each_pair(Sink sink) const {
    for (Position position = 0; position < nodes_.size(); ++position) {
      const Node& node = nodes_[position];
      if (node.is_gone || node.next == kNowhere) continue;
      sink(node.symbol, nodes_[node.next].symbol, counts_[node.word], position);
    }
  }

  Symbol right_of(Posting position) const { return nodes_[nodes_[position].next].symbol; }
  std::int64_t count_of(Posting position) const { return counts_[nodes_[position].word]; }

  // See ShortWords::merge(). Postings ascend within each word; `mark` is added to the postings that are recorded.
  std::int64_t merge(Symbol left, Symbol right, Symbol made, std::span<const Posting> postings, Posting mark,
                     Neighbours<Symbol>& left_side, Neighbours<Symbol>& right_side) {
    std::int64_t merged = 0;
    for (const Posting posting : postings) {
      const Position position = posting - mark;
      if (!matches(position, left, right)) continue;
      Node& node = nodes_[position];
      const std::int64_t times = counts_[node.word];
      if (node.previous != kNowhere) left_side.note(nodes_[node.previous].symbol, true, times, mark + node.previous);
      nodes_[node.next].is_gone = true;
      node.next = nodes_[node.next].next;
      node.symbol = made;
      if (node.next != kNowhere) {
        nodes_[node.next].previous = position;
        if (!matches(node.next, left, right)) right_side.note(nodes_[node.next].symbol, true, times, posting);
      }
      merged += times;
    }
    return merged;
  }

 private:
  using Position = std::uint32_t;
  static constexpr Position kNowhere = 0x7FFFFFFFu;

  struct Node {
    Symbol symbol;
    bool is_gone;  // merged into its left neighbour
    std::uint32_t word;
    Position previous;
    Position next;
  };

  bool matches(Position position, Symbol left, Symbol right) const {
    const Node& node = nodes_[position];
    return !node.is_gone && node.symbol == left && node.next != kNowhere && nodes_[node.next].symbol == right;
  }

  std::vector<Node> nodes_;
  std::vector<std::int64_t> counts_;  // by word
};

}  // namespace tokbench
