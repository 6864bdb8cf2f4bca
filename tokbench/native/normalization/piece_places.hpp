// The spans of pieces in the original text, where the pieces cover the normalized text without gaps.
//
// As SentencePiece reports them, a span extends from the origin of the first byte of a piece to the origin of the byte after it.
#pragma once

#include "character_table.hpp"
#include "normalizer.hpp"

namespace tokbench {

// The size of an unknown token: it extends to the next known character, or to the end.
inline constexpr std::int64_t kUnknownRun = -1;

// Writes the span of each piece of a text, given the sizes of the pieces in bytes of its normalized form; `is_known` tells for a
// code point whether it is a piece. Returns false if pieces of these sizes do not cover the text.
template <class IsKnown>
bool place_pieces(const NormalizedText& normal, std::span<const std::int64_t> sizes, const IsKnown& is_known, std::int64_t* starts,
                  std::int64_t* stops) {
  if (normal.bytes.empty()) return sizes.empty();  // it has no origins
  const Byte* const first = normal.bytes.data();
  const Byte* const end = first + normal.bytes.size();
  const Byte* p = first;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Byte* const start = p;
    if (sizes[i] == kUnknownRun) {
      while (p != end) {
        const CodePoint character = code_point_at(p, end);
        if (is_known(character.value)) break;
        p += character.length;
      }
    } else {
      if (sizes[i] < 0 || sizes[i] > end - p) return false;
      p += sizes[i];
    }
    starts[i] = normal.origins[static_cast<std::size_t>(start - first)];
    stops[i] = normal.origins[static_cast<std::size_t>(p - first)];
  }
  return p == end;
}

}  // namespace tokbench
