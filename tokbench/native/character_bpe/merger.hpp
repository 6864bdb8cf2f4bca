// Merges the adjacent pair with the lowest rank, the leftmost of equal ones, until no pair merges. Up to 32 symbols, all pairs
// are scanned for each merge; for more, a heap gives O(n log n). Longer words are cut where no merge joins two characters
// (joints.hpp): each part is merged by itself, as a text without spaces to split at is one word.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "pieces.hpp"

namespace tokbench {

// A symbol with its start in the text.
struct PlacedSymbol {
  Symbol symbol;
  std::uint32_t start;
};

class CharacterMerger {
 public:
  explicit CharacterMerger(const CharacterPieces& pieces) : pieces_(pieces) {}

  // Merges the characters of a word in place; returns the number of remaining symbols.
  std::size_t merge(std::span<PlacedSymbol> symbols) {
    if (symbols.size() <= kMostShort) return merge_part(symbols);
    std::size_t count = 0;
    for (std::size_t start = 0, stop; start < symbols.size(); start = stop) {
      stop = start + 1;
      while (stop < symbols.size() && pieces_.may_join(symbols[stop - 1].symbol, symbols[stop].symbol)) ++stop;
      const std::size_t left = merge_part(symbols.subspan(start, stop - start));
      if (count != start) std::copy_n(symbols.begin() + static_cast<std::ptrdiff_t>(start), left, symbols.begin() + static_cast<std::ptrdiff_t>(count));
      count += left;
    }
    return count;
  }

 private:
  std::size_t merge_part(std::span<PlacedSymbol> symbols) {
    if (symbols.size() < 2) return symbols.size();
    return symbols.size() <= kMostShort ? merge_short(symbols) : merge_by_heap(symbols);
  }

  static constexpr std::size_t kMostShort = 32;
  static constexpr std::size_t kGroup = 8;
  static constexpr unsigned kPositionBits = 5;
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;
  static constexpr std::uint32_t kNever = 0xFFFFFFFFu;
  static_assert(kMostShort == 1u << kPositionBits);

  struct Candidate {
    Rank rank;
    std::uint32_t position;
    Symbol left, right, made;
    // std heaps keep the greatest element on top: the lowest rank, then the leftmost.
    bool operator<(const Candidate& other) const { return rank != other.rank ? rank > other.rank : position > other.position; }
  };
  struct Node {
    Symbol symbol;
    std::uint32_t previous, next;
  };

  // Symbols are not moved; a bit mask tells which ones remain. Each pair is one number, and the smallest merges next.
  std::size_t merge_short(std::span<PlacedSymbol> symbols) {
    std::uint32_t pairs[kMostShort];
    Symbol made[kMostShort];
    const std::size_t size = symbols.size(), padded = (size + kGroup - 1) / kGroup * kGroup;
    const auto look = [&](std::size_t left, std::size_t right) {
      const PairMerge merge = pieces_.merge(symbols[left].symbol, symbols[right].symbol);
      pairs[left] = merge.rank == PairMerge::kNever ? kNever : merge.rank << kPositionBits | static_cast<std::uint32_t>(left);
      made[left] = merge.made;
    };
    for (std::size_t i = 0; i + 1 < size; ++i) look(i, i + 1);
    std::fill(pairs + size - 1, pairs + padded, kNever);
    std::uint32_t left = size == 32 ? 0xFFFFFFFFu : (1u << size) - 1;
    for (;;) {
      std::uint32_t best = kNever;
      for (std::size_t i = 0; i < padded; ++i) best = std::min(best, pairs[i]);
      if (best == kNever) break;
      const std::uint32_t position = best & (kMostShort - 1);
      const std::uint32_t after = left & (~1u << position), before = left & ((1u << position) - 1);
      const auto taken = static_cast<std::uint32_t>(std::countr_zero(after));
      symbols[position].symbol = made[position];
      left &= ~(1u << taken);
      pairs[taken] = kNever;
      pairs[position] = kNever;
      if (const std::uint32_t next = after & (after - 1); next != 0) look(position, static_cast<std::size_t>(std::countr_zero(next)));
      if (before != 0) look(static_cast<std::size_t>(std::bit_width(before)) - 1, position);
    }
    std::size_t count = 0;
    for (; left != 0; left &= left - 1) symbols[count++] = symbols[static_cast<std::size_t>(std::countr_zero(left))];
    return count;
  }

  std::size_t merge_by_heap(std::span<PlacedSymbol> symbols) {
    if (symbols.size() >= kNowhere) throw std::length_error("a word of more than 4 GB");
    const auto size = static_cast<std::uint32_t>(symbols.size());
    nodes_.resize(size);
    heap_.clear();
    // For i = 0, i - 1 wraps around to kNowhere.
    for (std::uint32_t i = 0; i < size; ++i) nodes_[i] = {symbols[i].symbol, i - 1, i + 1 < size ? i + 1 : kNowhere};
    for (std::uint32_t i = 0; i + 1 < size; ++i) collect(i);
    std::make_heap(heap_.begin(), heap_.end());
    while (!heap_.empty()) {
      const Candidate top = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
      Node& node = nodes_[top.position];
      if (node.symbol != top.left || node.next == kNowhere || nodes_[node.next].symbol != top.right) continue;
      const std::uint32_t taken = node.next;
      node.symbol = top.made;
      node.next = nodes_[taken].next;
      nodes_[taken].symbol = kTaken;
      if (node.next != kNowhere) {
        nodes_[node.next].previous = top.position;
        if (collect(top.position)) std::push_heap(heap_.begin(), heap_.end());
      }
      if (node.previous != kNowhere && collect(node.previous)) std::push_heap(heap_.begin(), heap_.end());
    }
    std::size_t count = 0;
    for (std::uint32_t i = 0; i != kNowhere; i = nodes_[i].next) symbols[count++] = {nodes_[i].symbol, symbols[i].start};
    return count;
  }

  static constexpr Symbol kTaken = 0xFFFFFFFFu;  // marks a node that was merged into its left neighbour

  // Appends the pair that starts at `position` to the array of the heap if it merges.
  bool collect(std::uint32_t position) {
    const Symbol left = nodes_[position].symbol, right = nodes_[nodes_[position].next].symbol;
    const PairMerge merge = pieces_.merge(left, right);
    if (merge.rank == PairMerge::kNever) return false;
    heap_.push_back({merge.rank, position, left, right, merge.made});
    return true;
  }

  const CharacterPieces& pieces_;
  std::vector<Node> nodes_;
  std::vector<Candidate> heap_;
};

}  // namespace tokbench
