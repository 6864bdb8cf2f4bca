// What merging makes of the vocabulary's own entries, found out once there is enough text to encode.
//
// An entry that merging makes of its own bytes needs no merging when it is met as a pre-token. And of all pairs
// that could make an entry only one ever does: whatever stands around its bytes, no merge reaches
// across them before the entry is made, so that they go through the same steps as by themselves, and the last
// step is the same. (Vocabularies of ranks have four times as many pairs; the others are left out.) So what an entry takes
// to be made tells all that merging needs, and nothing else is looked up by bytes any more.
#pragma once

#include "merger.hpp"

namespace tokbench {

// The same of ranks, whose pairs are found token by token. With the pairs of smaller ranks alone, merging does to a
// token what it does at first in any case; if two symbols are left, they are the last pair. Else merges of greater
// ranks come before, and the token is merged by bytes, as the definition has it.
inline Vocabulary completed_ranks(const Vocabulary& by_bytes) {
  Vocabulary by_pairs = by_bytes;
  by_pairs.begin_pairs();
  Merger merger(by_pairs), defining(by_bytes);
  std::vector<Id> made;
  std::vector<PairRank> pairs;
  pairs.reserve(by_bytes.size());
  for (Id id = 0; id < by_bytes.size(); ++id) {
    const Bytes token = by_bytes.token(id);
    if (token.size() < 2) continue;
    made.resize(std::max(made.size(), token.size()));
    std::array<Id, 2> pair{};
    if (merger.merge(token, made.data()) == 2) {
      pair = {made[0], made[1]};
    } else if (defining.merge(token, made.data()) == 1) {
      pair = defining.last_pair();
    } else {
      continue;
    }
    pairs.push_back({pair[0], pair[1], id});
    by_pairs.add_pair(pairs.back());
  }
  by_pairs.simplify(pairs, {}, {});
  return by_pairs;
}

// A vocabulary of the same results, and faster.
inline Vocabulary completed(Vocabulary vocabulary) {
  if (vocabulary.merges_by_bytes()) return completed_ranks(vocabulary);
  Merger merger(vocabulary);
  std::vector<Id> made;
  std::vector<PairRank> pairs;
  std::vector<Id> tokens, ids;
  for (Id id = 0; id < vocabulary.size(); ++id) {
    const Bytes token = vocabulary.token(id);
    if (token.empty()) continue;
    made.resize(std::max(made.size(), token.size()));
    if (merger.merge(token, made.data()) != 1) continue;
    tokens.push_back(id);
    ids.push_back(made.front());
    if (token.size() == 1) continue;
    const auto [left, right] = merger.last_pair();
    pairs.push_back({left, right, vocabulary.rank(left, right)});
  }
  vocabulary.simplify(pairs, tokens, ids);
  return vocabulary;
}

}  // namespace tokbench
