// The pairs of a vocabulary of ranks, found out once there is enough text to encode: until then two neighbours merge where
// their bytes together are a token, which takes less to begin with and more for each word.
//
// Of all pairs that could make an entry only one ever does: whatever stands around its bytes, no merge reaches across
// them before the entry is made, so that they go through the same steps as by themselves, and the last step is the
// same. (Vocabularies of ranks have four times as many pairs; the others are left out.) So what an entry takes to be made
// tells all that merging needs, and nothing but whole pre-tokens is looked up by bytes any more.
#pragma once

#include <memory>

#include "merger.hpp"

namespace tokbench {

// Pairs are found token by token. With those of smaller ranks alone, merging does to a token what it does at first in any
// case; if two symbols are left, they are the last pair. Else merges of greater ranks come before, and the token is merged
// by bytes, as the definition has it.
inline Vocabulary completed_ranks(const Vocabulary& by_bytes) {
  Vocabulary by_pairs = by_bytes;
  by_pairs.begin_pairs();
  Merger merger(by_pairs), defining(by_bytes);
  std::vector<Id> made;
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
    by_pairs.add_pair({pair[0], pair[1], id});
  }
  by_pairs.end_pairs();
  return by_pairs;
}

// A vocabulary of the same results, and faster; where merges were given, there is none. (To find out which of its tokens
// merging makes of their own bytes takes longer than to merge those that occur: each is, once.)
inline std::shared_ptr<const Vocabulary> completed(std::shared_ptr<const Vocabulary> vocabulary) {
  if (!vocabulary->merges_by_bytes()) return vocabulary;
  return std::make_shared<const Vocabulary>(completed_ranks(*vocabulary));
}

}  // namespace tokbench
