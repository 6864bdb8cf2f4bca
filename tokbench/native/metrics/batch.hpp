// Batches of documents with their tokens, and their validation before anything is counted.
#pragma once

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "tokens.hpp"

namespace tokbench::metrics {

enum class Kind : std::uint8_t { Normal, Byte, Unknown, Special };  // the order of TokenKind

// Concatenated documents: text_offsets[i] is the start of document i, and the last element their end.
struct Documents {
  Bytes text;
  std::span<const std::int64_t> text_offsets;
  std::span<const std::int64_t> token_offsets;
  std::span<const std::int32_t> groups;

  std::size_t size() const { return groups.size(); }
  std::size_t num_tokens() const { return static_cast<std::size_t>(token_offsets.back()); }
  std::size_t start(std::size_t i) const { return at(text_offsets, i); }
  Bytes document(std::size_t i) const { return text.subspan(start(i), start(i + 1) - start(i)); }
  std::size_t first_token(std::size_t i) const { return at(token_offsets, i); }
  std::size_t last_token(std::size_t i) const { return at(token_offsets, i + 1); }

 private:
  static std::size_t at(std::span<const std::int64_t> offsets, std::size_t i) { return static_cast<std::size_t>(offsets[i]); }
};

struct PlacedBatch {
  std::span<const std::int64_t> starts;
  std::span<const std::int64_t> stops;
  std::span<const std::uint8_t> kinds;
};

struct TiledBatch {
  std::span<const std::uint32_t> ids;
};

inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

inline void check_offsets(std::span<const std::int64_t> offsets, std::size_t documents) {
  require(offsets.size() == documents + 1, "there must be one offset more than documents");
  require(offsets.front() == 0, "offsets do not begin with 0");
  for (std::size_t i = 0; i < documents; ++i) require(offsets[i] <= offsets[i + 1], "offsets decrease");
}

inline void check(const Documents& documents, std::size_t num_groups) {
  check_offsets(documents.text_offsets, documents.size());
  check_offsets(documents.token_offsets, documents.size());
  require(static_cast<std::size_t>(documents.text_offsets.back()) == documents.text.size(),
          "the text's offsets do not end where it ends");
  for (const std::int32_t group : documents.groups) {
    require(group >= 0 && static_cast<std::size_t>(group) < num_groups, "a group is out of range");
  }
  // Numbers of tokens per word are stored in 32 bits.
  require(documents.num_tokens() <= std::numeric_limits<std::uint32_t>::max(), "a batch holds too many tokens");
}

// Validates the bytes of ids: offsets[i] is the start of those of id i, and the last element their end.
inline void check_pieces(Bytes data, std::span<const std::int64_t> offsets) {
  require(!offsets.empty(), "there must be one offset more than ids");
  check_offsets(offsets, offsets.size() - 1);
  require(static_cast<std::size_t>(offsets.back()) == data.size(), "the offsets of the pieces do not end where they do");
  require(data.size() <= std::numeric_limits<std::uint32_t>::max(), "the pieces are too large");
}

// To be called after check(documents).
inline void check(const PlacedBatch& tokens, const Documents& documents, const Pieces&, Boundaries&, Tiles&) {
  const std::size_t size = documents.num_tokens();
  require(tokens.starts.size() == size && tokens.stops.size() == size && tokens.kinds.size() == size,
          "the arrays of tokens do not end where their offsets do");
  for (const std::uint8_t kind : tokens.kinds) {
    require(kind <= static_cast<std::uint8_t>(Kind::Special), "a token's kind is out of range");
  }
  for (std::size_t document = 0; document < documents.size(); ++document) {
    std::int64_t start = 0, stop = 0;
    for (std::size_t i = documents.first_token(document); i < documents.last_token(document); ++i) {
      require(tokens.starts[i] >= start && tokens.stops[i] >= stop, "the spans of tokens decrease");
      start = tokens.starts[i];
      stop = tokens.stops[i];
      require(start <= stop, "a token stops before it starts");
    }
    require(static_cast<std::size_t>(stop) <= documents.document(document).size(), "a token lies outside its document");
  }
}

// To be called after check(documents). Computes the positions of tokens, and throws if they are not their documents byte for
// byte. Stores the table entry of each token on the way, because a second lookup would miss the cache again.
inline void check(const TiledBatch& tokens, const Documents& documents, const Pieces& pieces, Boundaries& boundaries,
                  Tiles& tiles) {
  require(tokens.ids.size() == documents.num_tokens(), "the ids do not end where their offsets do");
  require(tokens.ids.empty() || std::ranges::max(tokens.ids) < pieces.size(), "an id has no bytes");
  require(documents.text.size() <= std::numeric_limits<std::uint32_t>::max(), "a batch of tiles has more than 4 GB");
  const std::span ids = tokens.ids;
  tiles.resize(ids.size());
  // Stores of bytes may alias anything, as far as the compiler knows, so values that should stay in registers are local
  // variables.
  const Piece* const table = pieces.table();
  std::uint8_t* const is_boundary = boundaries.clear(documents.text.size());
  std::uint32_t* const stops = tiles.stops.data();
  std::uint8_t* const flags = tiles.flags.data();
  const Byte* const begin = documents.text.data();
  const Byte* const readable = begin + documents.text.size();
  for (std::size_t document = 0; document < documents.size(); ++document) {
    const std::size_t first = documents.first_token(document), last = documents.last_token(document);
    const std::size_t stop = documents.start(document + 1);
    std::size_t position = documents.start(document);
    if (first != last) is_boundary[position] = 1;
    for (std::size_t i = first; i < last; ++i) {
      const Piece& piece = table[ids[i]];
      const Byte* const p = begin + position;
      const bool is_short = piece.length <= Piece::kFirst && static_cast<std::size_t>(readable - p) >= kKeyPadding;
      const bool is_there =
          is_short ? piece.begins(p)
                   : piece.length <= stop - position && std::ranges::equal(pieces.bytes(ids[i]), Bytes(p, piece.length));
      position += piece.length;
      require(is_there && position <= stop, "the tokens are not the text");
      is_boundary[position] = 1;
      stops[i] = static_cast<std::uint32_t>(position);
      flags[i] = piece.flags;
    }
    require(position == stop, "the tokens are not the text");
  }
}

}  // namespace tokbench::metrics
