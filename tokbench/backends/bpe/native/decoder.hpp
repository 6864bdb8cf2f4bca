// Ids → bytes.
#pragma once

#include <algorithm>
#include <optional>

#include "vocabulary.hpp"

namespace tokbench {

// Position of the first id that the vocabulary does not have, if there is one.
inline std::optional<std::size_t> first_unknown(const Vocabulary& vocabulary, std::span<const Id> ids) {
  Id greatest = 0;
  for (const Id id : ids) greatest = std::max(greatest, id);
  if (greatest < vocabulary.size()) return std::nullopt;
  const auto unknown = std::ranges::find_if(ids, [&](Id id) { return id >= vocabulary.size(); });
  return unknown == ids.end() ? std::nullopt : std::optional(static_cast<std::size_t>(unknown - ids.begin()));
}

inline std::size_t decoded_size(const Vocabulary& vocabulary, std::span<const Id> ids) {
  std::size_t size = 0;
  for (const Id id : ids) size += vocabulary.token_length(id);
  return size;
}

// Writes the bytes of known ids to `out`, which has room for the `size` = decoded_size() of them.
inline void decode(const Vocabulary& vocabulary, std::span<const Id> ids, Byte* out, std::size_t size) {
  // Most tokens are short. A copy of a fixed size is one load and one store, and what it writes too
  // much the next token overwrites.
  constexpr std::size_t kCopy = Vocabulary::kPadding;
  const Byte* const end = out + size;
  for (const Id id : ids) {
    const Bytes token = vocabulary.token(id);
    if (token.size() <= kCopy && static_cast<std::size_t>(end - out) >= kCopy) [[likely]] {
      std::memcpy(out, token.data(), kCopy);
    } else {
      std::copy(token.begin(), token.end(), out);
    }
    out += token.size();
  }
}

}  // namespace tokbench
