// The pairs of bytes that are certain to merge, given the two bytes and their neighbours. Merging starts with all of these at
// once, which are half of all merges, instead of finding them one by one.
//
// Merges are applied in the order of their ranks. Let (a, b) be a pair of bytes of rank r, with x before and y after it. Only
// two kinds of merges can prevent it: one of a symbol that ends in x with a, and one of b with a symbol that starts with y. If
// all of these have ranks above r, none of them comes first while the pair exists, so that the pair merges whatever else is in
// the text. Merging it early changes nothing if its result merges only at ranks above r: until then, the next merges are the
// same.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "common/utf8.hpp"
#include "pair_ranks.hpp"

namespace tokbench {

// Bounds are rounded down to multiples of 2^shift, so that a pair takes 8 bytes and the table half a megabyte. Ranks that are
// compared with them are rounded as well: this may miss a pair, but never takes a wrong one.
struct BytePair {
  static constexpr std::size_t kNumBounds = 0xFFFF;
  static constexpr std::uint16_t kNever = kNumBounds;

  Rank rank = PairRanks::kNone;           // rank of their merge; kNone also if it must not be done early
  std::uint16_t right_is_taken = kNever;  // lowest rank at which a symbol that ends in the left byte merges with the right byte
  std::uint16_t left_is_taken = kNever;   // lowest rank at which the left byte merges with a symbol that starts with the right one
};

class BytePairs {
 public:
  BytePairs() : pairs_(kNumPairs) {}

  // Clears the table, for a vocabulary of `num_ids` ids and ranks below `num_ranks`.
  void begin(std::size_t num_ids, std::size_t num_ranks) {
    shift_ = 0;
    while (num_ranks >> shift_ >= BytePair::kNumBounds) ++shift_;
    pairs_.assign(kNumPairs, BytePair{});
    first_use_.assign(num_ids, PairRanks::kNone);
  }

  // Adds a pair; pairs are added in the order of their ranks, and at any time those that were added are all that merge. It
  // merges into `made`, whose bytes are `token`; `byte_ids` are the ids of single bytes.
  void add(const PairRank& pair, Id made, Bytes token, std::span<const Id, 256> byte_ids) {
    lower(first_use_[pair.left], pair.rank);
    lower(first_use_[pair.right], pair.rank);
    if (token.size() < 2) return;  // one side is an empty token, which no symbol is
    const bool is_left_byte = pair.left == byte_ids[token.front()], is_right_byte = pair.right == byte_ids[token.back()];
    if (is_left_byte) lower(at(token.front(), token[1]).left_is_taken, bound(pair.rank));
    if (is_right_byte) lower(at(token[token.size() - 2], token.back()).right_is_taken, bound(pair.rank));
    if (!is_left_byte || !is_right_byte || first_use_[made] <= pair.rank) return;
    at(token.front(), token.back()).rank = pair.rank;
  }

  // Frees what only add() needs.
  void end() { first_use_ = {}; }

  // A rank rounded for comparison with bounds. kNone is not below any bound.
  std::uint32_t rounded_down(Rank rank) const { return rank >> shift_; }

  const BytePair& operator()(Byte left, Byte right) const { return pairs_[left * 256u + right]; }

 private:
  static constexpr std::size_t kNumPairs = 256 * 256;

  template <class Number>
  static void lower(Number& bound, Number number) { bound = std::min(bound, number); }
  std::uint16_t bound(Rank rank) const { return static_cast<std::uint16_t>(rank >> shift_); }
  BytePair& at(Byte left, Byte right) { return pairs_[left * 256u + right]; }

  std::vector<BytePair> pairs_;
  unsigned shift_ = 0;
  std::vector<Rank> first_use_;  // by id: the lowest rank of a pair that contains it
};

}  // namespace tokbench
