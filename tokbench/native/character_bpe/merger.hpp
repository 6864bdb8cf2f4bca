// Merges the adjacent pair with the lowest rank, the leftmost of equal ones, until no pair merges. Up to 32 symbols, all pairs
// are scanned for each merge (short_merge.hpp); for more, a heap gives O(n log n). Longer words are cut where no merge joins two
// characters (joints.hpp): each part is merged by itself, as a text without spaces to split at is one word.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "short_merge.hpp"

namespace tokbench {

class CharacterMerger {
 public:
  explicit CharacterMerger(const CharacterPieces& pieces) : pieces_(pieces) {}

  // Merges the characters of a word in place; returns the number of remaining symbols.
  std::size_t merge(std::span<PlacedSymbol> symbols) {
    std::size_t count;
    merge_together({&symbols, 1}, {&count, 1});
    return count;
  }

  // Merges the characters of several words in place, short parts of them side by side; sets the numbers of remaining symbols.
  void merge_together(std::span<const std::span<PlacedSymbol>> words, std::span<std::size_t> counts) {
    parts_.clear();
    for (std::size_t i = 0; i < words.size(); ++i) add_parts(words[i], i);
    for (std::size_t i = 0; i < parts_.size(); i += kSideBySide) merge_some(std::span(parts_).subspan(i, std::min(kSideBySide, parts_.size() - i)));
    std::ranges::fill(counts, std::size_t{0});
    for (const Part& part : parts_) {
      std::size_t& count = counts[part.word];
      PlacedSymbol* const out = words[part.word].data() + count;
      if (out != part.symbols.data()) std::copy_n(part.symbols.data(), part.count, out);
      count += part.count;
    }
  }

 private:
  static constexpr std::size_t kSideBySide = 16;
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;

  // A part of a word that merges by itself, and the number of symbols left of it.
  struct Part {
    std::span<PlacedSymbol> symbols;
    std::size_t word, count;
  };

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

  void add_parts(std::span<PlacedSymbol> symbols, std::size_t word) {
    if (symbols.size() <= ShortCharacterMerge::kMost) {
      parts_.push_back({symbols, word, symbols.size()});
      return;
    }
    for (std::size_t start = 0, stop; start < symbols.size(); start = stop) {
      stop = start + 1;
      while (stop < symbols.size() && pieces_.may_join(symbols[stop - 1].symbol, symbols[stop].symbol)) ++stop;
      parts_.push_back({symbols.subspan(start, stop - start), word, stop - start});
    }
  }

  void merge_some(std::span<Part> parts) {
    std::size_t active[kSideBySide], num_active = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].symbols.size() < 2) continue;
      if (parts[i].symbols.size() > ShortCharacterMerge::kMost) {
        parts[i].count = merge_by_heap(parts[i].symbols);
        continue;
      }
      if (!pieces_.has_many_merges()) {  // side by side, small tables were 7 % slower
        parts[i].count = ShortCharacterMerge::merge_alone(pieces_, parts[i].symbols);
        continue;
      }
      merges_[i].begin(pieces_, parts[i].symbols);
      active[num_active++] = i;
    }
    std::size_t num_left = 0;
    const auto keep = [&](std::size_t i, bool has_more) {
      active[num_left] = i;
      num_left += has_more;
      if (!has_more) parts[i].count = merges_[i].finish();
    };
    for (std::size_t k = 0; k < num_active; ++k) keep(active[k], merges_[active[k]].take_first(pieces_));
    while (num_left != 0) {
      num_active = std::exchange(num_left, 0);
      for (std::size_t k = 0; k < num_active; ++k) merges_[active[k]].merge(pieces_);
      for (std::size_t k = 0; k < num_active; ++k) keep(active[k], merges_[active[k]].take(pieces_));
    }
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
  std::vector<Part> parts_;
  ShortCharacterMerge merges_[kSideBySide];
  std::vector<Node> nodes_;
  std::vector<Candidate> heap_;
};

}  // namespace tokbench
