// Encodes one pre-token: merges the adjacent pair with the lowest rank, the leftmost of equal ones, until no pair merges. Up to
// 256 bytes, the next pair is found by the minima of groups of eight pairs; for longer pre-tokens, by a heap in O(n log n).
#pragma once

#include <algorithm>

#include "short_merge.hpp"

namespace tokbench {

class Merger {
 public:
  explicit Merger(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  // Writes the ids of a non-empty pre-token to `out`, which has room for one id per byte; returns their number.
  std::size_t merge(Bytes pretoken, Id* out) {
    if (pretoken.size() > kMostGrouped || vocabulary_.num_ranks() >= kMostRanks) {
      if (pretoken.size() >= kNowhere) throw std::length_error("a pre-token of more than 4 GB");
      symbols_.resize(pretoken.size() + 1);
      return merge_by_heap({symbols_.data(), begin(pretoken, symbols_.data())}, out);
    }
    Id symbols[kMostGrouped + 1];
    const std::size_t size = begin(pretoken, symbols);
    return size <= ShortMerge::kMost ? merge_short({symbols, size}, out) : merge_by_groups(symbols, size, out);
  }

  // Writes the initial symbols, which are bytes or pairs of bytes that are certain to merge, to `symbols`, which has room for
  // one more than there are bytes; returns their number. (Branch-free: half of the pairs are certain, so branches would be
  // mispredicted.)
  std::size_t begin(Bytes pretoken, Id* symbols) {
    const std::size_t last = pretoken.size() - 1;
    constexpr BytePair kNoPair{};
    const BytePair* pair = last == 0 ? &kNoPair : &vocabulary_.byte_pair(pretoken[0], pretoken[1]);
    std::uint32_t left_is_taken = BytePair::kNever;
    std::size_t size = 0;
    bool is_taken = false;
    for (std::size_t i = 0; i < last; ++i) {
      const BytePair* const next = i + 1 < last ? &vocabulary_.byte_pair(pretoken[i + 1], pretoken[i + 2]) : &kNoPair;
      const std::uint32_t rank = vocabulary_.rounded_down(pair->rank);
      const bool is_certain = (rank < left_is_taken) & (rank < next->left_is_taken);
      const Id made = vocabulary_.made(is_certain ? pair->rank : 0);
      symbols[size] = is_certain ? made : vocabulary_.byte_id(pretoken[i]);
      size += !is_taken;
      is_taken = is_certain;
      left_is_taken = pair->right_is_taken;
      pair = next;
    }
    symbols[size] = vocabulary_.byte_id(pretoken[last]);
    size += !is_taken;
    if (size == 1 && last != 0) last_pair_ = {vocabulary_.byte_id(pretoken[0]), vocabulary_.byte_id(pretoken[1])};
    return size;
  }

  // The last pair that was merged, in the last pre-token with a merge.
  std::array<Id, 2> last_pair() const { return last_pair_; }

 private:
  static constexpr std::size_t kMostGrouped = 256;
  static constexpr std::size_t kGroup = 8;
  static constexpr Rank kMostRanks = 0xFFFFFFu;  // below it, a rank and a position fit into 32 bits
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;
  static constexpr Id kTaken = 0xFFFFFFFFu;  // marks a node that was merged into its left neighbour

  struct Candidate {
    Rank rank;
    std::uint32_t position;
    Id left;
    Id right;
    // std heaps keep the greatest element on top: the lowest rank, then the leftmost.
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };

  struct Node {
    Id id;
    std::uint32_t previous;
    std::uint32_t next;
  };

  static std::uint32_t smallest(const std::uint32_t* group) {
    std::uint32_t best = group[0];
    for (std::size_t i = 1; i < kGroup; ++i) best = std::min(best, group[i]);
    return best;
  }

  std::size_t merge_short(std::span<const Id> symbols, Id* out) {
    ShortMerge merge;
    std::ranges::copy(symbols, merge.symbols());
    merge.begin(vocabulary_, symbols.size());
    for (bool has_next = merge.take_first(vocabulary_); has_next; has_next = merge.take(vocabulary_)) {
      merge.merge(vocabulary_);
      last_pair_ = merge.last_pair();
    }
    return merge.write(out);
  }

  std::size_t merge_by_groups(Id* symbols, std::size_t size, Id* out) {
    const std::size_t num_groups = (size + kGroup - 1) / kGroup;
    std::uint32_t pairs[kMostGrouped];              // PairOrder of each symbol with the next one
    std::uint32_t minima[kMostGrouped / kGroup];    // the minimum of each group of pairs
    std::uint16_t previous[kMostGrouped + 1], next[kMostGrouped];
    for (std::size_t i = 0; i < size; ++i) {
      previous[i] = static_cast<std::uint16_t>(i - 1);
      next[i] = static_cast<std::uint16_t>(i + 1);
    }
    for (std::size_t i = 0; i + 1 < size; ++i) pairs[i] = PairOrder::of(vocabulary_.rank(symbols[i], symbols[i + 1]), i);
    std::fill(pairs + size - 1, pairs + num_groups * kGroup, PairOrder::kNever);
    for (std::size_t i = 0; i < num_groups; ++i) minima[i] = smallest(pairs + i * kGroup);
    const auto update = [&](std::size_t position) { minima[position / kGroup] = smallest(pairs + position / kGroup * kGroup); };
    for (;;) {
      const std::uint32_t best = *std::min_element(minima, minima + num_groups);
      if (best >= PairOrder::kNever) break;
      const std::size_t position = PairOrder::position(best), taken = next[position], after = next[taken];
      last_pair_ = {symbols[position], symbols[taken]};
      const Id made = vocabulary_.made(PairOrder::rank(best));
      symbols[position] = made;
      next[position] = static_cast<std::uint16_t>(after);
      previous[after] = static_cast<std::uint16_t>(position);
      pairs[taken] = PairOrder::kNever;
      pairs[position] = after < size ? PairOrder::of(vocabulary_.rank(made, symbols[after]), position) : PairOrder::kNever;
      if (position != 0) {
        const std::size_t before = previous[position];
        pairs[before] = PairOrder::of(vocabulary_.rank(symbols[before], made), before);
        update(before);
      }
      update(position);
      update(taken);
    }
    std::size_t count = 0;
    for (std::size_t i = 0; i < size; i = next[i]) out[count++] = symbols[i];
    return count;
  }

  std::size_t merge_by_heap(std::span<const Id> symbols, Id* out) {
    const auto size = static_cast<std::uint32_t>(symbols.size());
    nodes_.resize(size);
    heap_.clear();
    for (std::uint32_t i = 0; i < size; ++i) {
      nodes_[i] = {symbols[i], i - 1, i + 1 < size ? i + 1 : kNowhere};  // for i = 0, i - 1 wraps around to kNowhere
    }
    for (std::uint32_t i = 0; i + 1 < size; ++i) collect(i);
    std::make_heap(heap_.begin(), heap_.end());
    while (!heap_.empty()) {
      const Candidate top = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
      Node& node = nodes_[top.position];
      if (node.id != top.left || node.next == kNowhere || nodes_[node.next].id != top.right) continue;
      const std::uint32_t taken = node.next;
      last_pair_ = {top.left, top.right};
      node.id = vocabulary_.made(top.rank);
      node.next = nodes_[taken].next;
      nodes_[taken].id = kTaken;
      if (node.next != kNowhere) {
        nodes_[node.next].previous = top.position;
        if (collect(top.position)) std::push_heap(heap_.begin(), heap_.end());
      }
      if (node.previous != kNowhere && collect(node.previous)) std::push_heap(heap_.begin(), heap_.end());
    }
    std::size_t count = 0;
    for (std::uint32_t i = 0; i != kNowhere; i = nodes_[i].next) out[count++] = nodes_[i].id;
    return count;
  }

  // Appends the pair that starts at `position` to the array of the heap if it merges.
  bool collect(std::uint32_t position) {
    const Id left = nodes_[position].id, right = nodes_[nodes_[position].next].id;
    const Rank rank = vocabulary_.rank(left, right);
    if (rank == Vocabulary::kNoRank) return false;
    heap_.push_back({rank, position, left, right});
    return true;
  }

  const Vocabulary& vocabulary_;
  std::array<Id, 2> last_pair_{};
  std::vector<Id> symbols_;
  std::vector<Node> nodes_;
  std::vector<Candidate> heap_;
};

}  // namespace tokbench
