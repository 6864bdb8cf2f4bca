// Which pairs of bytes merge for certain, known from the two bytes and the one on either side of them: merging
// begins with what these make, half of all merges, instead of finding one after the other.
//
// Merges are applied in the order of their ranks. A pair of bytes (a, b) of rank r, with x before and y after
// it, is broken up only by a merge that takes a from the left, of a symbol that ends in x with a, or one that
// takes b from the right, of b with a symbol that begins with y. If all those there are have ranks greater than
// r, none of them is ever the next while the pair is there: the pair is merged, whatever stands further away.
// That this is done first changes nothing, if what it makes merges only at ranks greater than r: until then
// the same merges are the next ones.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "common/utf8.hpp"
#include "pair_ranks.hpp"

namespace tokbench {

// Bounds are rounded down to multiples of 2^shift, so that a pair takes 8 bytes and the table half a megabyte; so are ranks that are
// compared with them: a pair may be left out for that, and none is taken wrongly.
struct BytePair {
  static constexpr std::size_t kNumBounds = 0xFFFF;
  static constexpr std::uint16_t kNever = kNumBounds;

  Rank rank = PairRanks::kNone;           // of their merge; kNone too, where it must not be done first
  std::uint16_t right_is_taken = kNever;  // the first merge of a symbol that ends in the left byte with the right byte
  std::uint16_t left_is_taken = kNever;   // the first merge of the left byte with a symbol that begins with the right byte
};

class BytePairs {
 public:
  BytePairs() : pairs_(kNumPairs) {}

  // Begins anew without pairs, for a vocabulary of this many ids, and of ranks below this.
  void begin(std::size_t num_ids, std::size_t num_ranks) {
    shift_ = 0;
    while (num_ranks >> shift_ >= BytePair::kNumBounds) ++shift_;
    pairs_.assign(kNumPairs, BytePair{});
    first_use_.assign(num_ids, PairRanks::kNone);
  }

  // Adds a pair after those of smaller ranks: at any time, those that were added are all that merge. It makes `made`, whose
  // bytes are `token`; `byte_ids` are the ids that bytes begin as.
  void add(const PairRank& pair, Id made, Bytes token, std::span<const Id, 256> byte_ids) {
    lower(first_use_[pair.left], pair.rank);
    lower(first_use_[pair.right], pair.rank);
    if (token.size() < 2) return;  // one of them is empty, which no symbol is
    const bool is_left_byte = pair.left == byte_ids[token.front()], is_right_byte = pair.right == byte_ids[token.back()];
    if (is_left_byte) lower(at(token.front(), token[1]).left_is_taken, bound(pair.rank));
    if (is_right_byte) lower(at(token[token.size() - 2], token.back()).right_is_taken, bound(pair.rank));
    if (!is_left_byte || !is_right_byte || first_use_[made] <= pair.rank) return;
    at(token.front(), token.back()).rank = pair.rank;
  }

  // No more pairs are added.
  void end() { first_use_ = {}; }

  // A rank as it is compared with bounds: that of no merge is below none of them.
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
  std::vector<Rank> first_use_;  // by id, the smallest rank of a pair that it is in
};

}  // namespace tokbench
