// Computes the table of pairs of a vocabulary that has only ranks, once there is enough text to encode. Until then, two symbols
// merge if their concatenated bytes are a token, which needs no preparation but takes longer for each word.
//
// Of all pairs that concatenate to a token, only one ever merges into it: whatever surrounds the bytes, no merge crosses their
// ends before the token is complete, so they go through the same steps as alone, with the same last step. (Vocabularies of
// ranks have four times as many pairs; the others are left out.) So the pair by which each token is built is all that merging
// needs, and only whole pre-tokens are looked up by their bytes from then on.
#pragma once

#include <memory>

#include "merger.hpp"

namespace tokbench {

// Finds the pairs token by token, in the order of ranks. Merging the bytes of a token with the pairs of lower ranks performs
// the same first steps as the definition; if two symbols are left, they are the last pair. Otherwise merges of higher ranks
// come first, and the token is merged by bytes, as the definition says.
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

// A faster vocabulary with the same results; the vocabulary itself if it has merges. (Determining which tokens merging builds
// from their own bytes takes longer than merging those that occur, which happens once for each.)
inline std::shared_ptr<const Vocabulary> completed(std::shared_ptr<const Vocabulary> vocabulary) {
  if (!vocabulary->merges_by_bytes()) return vocabulary;
  return std::make_shared<const Vocabulary>(completed_ranks(*vocabulary));
}

}  // namespace tokbench
