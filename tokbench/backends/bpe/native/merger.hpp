// Encodes one pre-token: merges neighbours, the smallest rank first and of equal ones the leftmost,
// until no pair merges. Short ones by scanning an array, longer ones by a heap: n log n at any length.
#pragma once

#include <algorithm>

#include "vocabulary.hpp"

namespace tokbench {

class Merger {
 public:
  explicit Merger(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  // Appends the ids of a pre-token (not empty) to `ids`.
  void append(Bytes pretoken, std::vector<Id>& ids) {
    if (const auto whole = vocabulary_.whole_token(pretoken)) {
      ids.push_back(*whole);
    } else if (pretoken.size() <= kScanLimit) {
      append_scanning(pretoken, ids);
    } else {
      append_by_heap(pretoken, ids);
    }
  }

 private:
  static constexpr std::size_t kScanLimit = 48;
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;
  static constexpr Id kTaken = 0xFFFFFFFFu;  // the id of a node that was merged into its left neighbour

  struct Candidate {
    Rank rank;
    std::uint32_t place;
    Id left;
    Id right;
    // std heaps keep the greatest on top: smallest rank first, then leftmost.
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };

  struct Node {
    Id id;
    std::uint32_t previous;
    std::uint32_t next;
  };

  void append_scanning(Bytes pretoken, std::vector<Id>& ids) {
    Id symbols[kScanLimit];
    Rank ranks[kScanLimit];  // of each symbol with its right neighbour
    std::size_t size = pretoken.size();
    for (std::size_t i = 0; i < size; ++i) symbols[i] = vocabulary_.byte_id(pretoken[i]);
    for (std::size_t i = 0; i + 1 < size; ++i) ranks[i] = vocabulary_.rank(symbols[i], symbols[i + 1]);
    while (size > 1) {
      const std::size_t best = static_cast<std::size_t>(std::min_element(ranks, ranks + size - 1) - ranks);
      if (ranks[best] == Vocabulary::kNoRank) break;
      symbols[best] = vocabulary_.made(ranks[best]);
      std::copy(symbols + best + 2, symbols + size, symbols + best + 1);
      if (best + 2 < size) std::copy(ranks + best + 2, ranks + size - 1, ranks + best + 1);
      --size;
      if (best > 0) ranks[best - 1] = vocabulary_.rank(symbols[best - 1], symbols[best]);
      if (best + 1 < size) ranks[best] = vocabulary_.rank(symbols[best], symbols[best + 1]);
    }
    ids.insert(ids.end(), symbols, symbols + size);
  }

  void append_by_heap(Bytes pretoken, std::vector<Id>& ids) {
    if (pretoken.size() >= kNowhere) throw std::length_error("a pre-token of more than 4 GB");
    const auto size = static_cast<std::uint32_t>(pretoken.size());
    nodes_.resize(size);
    heap_.clear();
    for (std::uint32_t i = 0; i < size; ++i) {
      nodes_[i] = {vocabulary_.byte_id(pretoken[i]), i - 1, i + 1 < size ? i + 1 : kNowhere};  // 0 - 1 is kNowhere
    }
    for (std::uint32_t i = 0; i + 1 < size; ++i) collect(i);
    std::make_heap(heap_.begin(), heap_.end());
    while (!heap_.empty()) {
      const Candidate top = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
      Node& node = nodes_[top.place];
      if (node.id != top.left || node.next == kNowhere || nodes_[node.next].id != top.right) continue;
      const std::uint32_t taken = node.next;
      node.id = vocabulary_.made(top.rank);
      node.next = nodes_[taken].next;
      nodes_[taken].id = kTaken;
      if (node.next != kNowhere) {
        nodes_[node.next].previous = top.place;
        if (collect(top.place)) std::push_heap(heap_.begin(), heap_.end());
      }
      if (node.previous != kNowhere && collect(node.previous)) std::push_heap(heap_.begin(), heap_.end());
    }
    for (std::uint32_t i = 0; i != kNowhere; i = nodes_[i].next) ids.push_back(nodes_[i].id);
  }

  // Adds the pair that begins at `place` to the end of the heap's array, if it merges.
  bool collect(std::uint32_t place) {
    const Id left = nodes_[place].id, right = nodes_[nodes_[place].next].id;
    const Rank rank = vocabulary_.rank(left, right);
    if (rank == Vocabulary::kNoRank) return false;
    heap_.push_back({rank, place, left, right});
    return true;
  }

  const Vocabulary& vocabulary_;
  std::vector<Node> nodes_;
  std::vector<Candidate> heap_;
};

}  // namespace tokbench
