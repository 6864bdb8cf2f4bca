// Which pairs of bytes merge for certain, told by the two bytes and the one on either side of them: merging
// begins with what these make, half of all merges, instead of finding one after the other.
//
// Merges are applied in the order of their ranks. A pair of bytes (a, b) of rank r, with x before and y behind
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

  // `token` gives the bytes of an id, `made` the id that a rank makes.
  template <class Token, class Made>
  void fill(std::span<const PairRank> pairs, std::span<const Id, 256> byte_ids, std::size_t num_ids, Token token, Made made) {
    constexpr std::uint16_t kNoByte = 256;
    std::vector<std::uint16_t> byte_of(num_ids, kNoByte);
    for (std::size_t value = 0; value < byte_ids.size(); ++value) byte_of[byte_ids[value]] = static_cast<std::uint16_t>(value);
    pairs_.assign(kNumPairs, BytePair{});
    std::vector<Rank> first_use(num_ids, PairRanks::kNone);
    for (const auto& [left, right, rank] : pairs) {
      first_use[left] = std::min(first_use[left], rank);
      first_use[right] = std::min(first_use[right], rank);
      const std::uint16_t a = byte_of[left], b = byte_of[right];
      if (a != kNoByte) lower(at(static_cast<Byte>(a), token(right).front()).left_is_taken, rank);
      if (b != kNoByte) lower(at(token(left).back(), static_cast<Byte>(b)).right_is_taken, rank);
      if (a != kNoByte && b != kNoByte) lower(at(static_cast<Byte>(a), static_cast<Byte>(b)).rank, rank);
    }
    for (BytePair& pair : pairs_) {
      if (pair.rank == PairRanks::kNone) continue;
      pair.made = made(pair.rank);
      if (first_use[pair.made] <= pair.rank) pair.rank = PairRanks::kNone;
    }
  }

  const BytePair& operator()(Byte left, Byte right) const { return pairs_[left * 256u + right]; }

 private:
  static constexpr std::size_t kNumPairs = 256 * 256;

  static void lower(Rank& bound, Rank rank) { bound = std::min(bound, rank); }
  BytePair& at(Byte left, Byte right) { return pairs_[left * 256u + right]; }

  std::vector<BytePair> pairs_;
};

}  // namespace tokbench
