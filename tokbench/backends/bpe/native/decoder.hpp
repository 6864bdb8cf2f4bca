// Ids → bytes.
#pragma once

#include <optional>

#include "vocabulary.hpp"

namespace tokbench {

// Position of the first id that the vocabulary does not have, if there is one.
inline std::optional<std::size_t> first_unknown(const Vocabulary& vocabulary, std::span<const Id> ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= vocabulary.size()) return i;
  }
  return std::nullopt;
}

inline std::size_t decoded_size(const Vocabulary& vocabulary, std::span<const Id> ids) {
  std::size_t size = 0;
  for (const Id id : ids) size += vocabulary.token_length(id);
  return size;
}

// Writes the bytes of known ids to `out`, which has room for decoded_size() of them.
inline void decode(const Vocabulary& vocabulary, std::span<const Id> ids, Byte* out) {
  for (const Id id : ids) {
    const Bytes token = vocabulary.token(id);
    std::memcpy(out, token.data(), token.size());
    out += token.size();
  }
}

}  // namespace tokbench
