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

struct BytePair {
  Rank rank = PairRanks::kNone;           // of their merge; kNone too, where it must not be done first
  Id made = 0;                            // what it makes
  Rank right_is_taken = PairRanks::kNone;  // the first merge of a symbol that ends in the left byte with the right byte
  Rank left_is_taken = PairRanks::kNone;   // the first merge of the left byte with a symbol that begins with the right byte
};

class BytePairs {
 public:
  BytePairs() : pairs_(kNumPairs) {}

  // Begins anew without pairs, for a vocabulary of this many ids.
  void begin(std::size_t num_ids) {
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
    if (is_left_byte) lower(at(token.front(), token[1]).left_is_taken, pair.rank);
    if (is_right_byte) lower(at(token[token.size() - 2], token.back()).right_is_taken, pair.rank);
    if (!is_left_byte || !is_right_byte || first_use_[made] <= pair.rank) return;
    at(token.front(), token.back()).rank = pair.rank;
    at(token.front(), token.back()).made = made;
  }

  // No more pairs are added.
  void end() { first_use_ = {}; }

  const BytePair& operator()(Byte left, Byte right) const { return pairs_[left * 256u + right]; }

 private:
  static constexpr std::size_t kNumPairs = 256 * 256;

  static void lower(Rank& bound, Rank rank) { bound = std::min(bound, rank); }
  BytePair& at(Byte left, Byte right) { return pairs_[left * 256u + right]; }

  std::vector<BytePair> pairs_;
  std::vector<Rank> first_use_;  // by id, the smallest rank of a pair that it is in
};

}  // namespace tokbench
