// The token spans of a document, and how they overlap runs of text.
#pragma once

#include <vector>

#include "pieces.hpp"

namespace tokbench::metrics {

// The positions at which tokens start or stop.
class Boundaries {
 public:
  // Clears the flags, one per position, for texts of `size` bytes in all.
  std::uint8_t* clear(std::size_t size) {
    flags_.assign(size + kReadAhead, 0);
    document_ = flags_.data();
    return flags_.data();
  }

  // Makes positions relative to `position`.
  void go_to(std::size_t position) { document_ = flags_.data() + position; }

  bool is_at(std::size_t position) const { return document_[position] != 0; }

  // Whether there is a boundary in [first, last].
  bool any_in(std::size_t first, std::size_t last) const { return std::memchr(document_ + first, 1, last + 1 - first) != nullptr; }

  // The number of boundaries strictly inside a run.
  std::int64_t inside(std::size_t start, std::size_t stop) const {
    std::int64_t count = 0;
    std::size_t position = start + 1;
    for (; position + 8 <= stop; position += 8) count += sum_of_bytes(eight_from(position));
    if (position < stop) count += sum_of_bytes(eight_from(position) << (8 * (position + 8 - stop)));
    return count;
  }

 private:
  static constexpr std::size_t kReadAhead = 8;

  std::uint64_t eight_from(std::size_t position) const {
    std::uint64_t word;
    std::memcpy(&word, document_ + position, 8);
    return word;
  }

  static std::int64_t sum_of_bytes(std::uint64_t flags) { return static_cast<std::int64_t>(flags * 0x0101010101010101u >> 56); }

  std::vector<std::uint8_t> flags_;
  const std::uint8_t* document_ = nullptr;
};

// The tokens that tile a batch of documents: where each one stops in the text of the batch, and its flags.
struct Tiles {
  std::vector<std::uint32_t> stops;
  std::vector<std::uint8_t> flags;
  std::vector<std::uint32_t> unknown;  // scratch space
  void resize(std::size_t size) {
    stops.resize(size);
    flags.resize(size);
    unknown.resize(size);
  }
};

// The tokens of a document that they tile; Boundaries has their positions.
class TiledTokens {
 public:
  static constexpr bool kTile = true;

  // `start` is the start of the document in the batch, `first` its first token; occurrences[id] counts how often an id was a
  // whole word.
  TiledTokens(const Boundaries& boundaries, Tiles& tiles, std::size_t start, std::size_t first,
              std::span<const std::uint32_t> ids, std::uint32_t* occurrences)
      : boundaries_(boundaries), stops_(tiles.stops.data() + first), flags_(tiles.flags.data() + first),
        unknown_(tiles.unknown.data() + first), ids_(ids), occurrences_(occurrences), start_(start) {}

  std::size_t start(std::size_t i) const { return i == 0 ? 0 : stop(i - 1); }
  std::size_t stop(std::size_t i) const { return stops_[i] - start_; }

  // Whether a single token that is neither unknown nor a fallback byte contains a character. Must be called in the order of
  // characters.
  bool holds(std::size_t start, std::size_t stop) const { return boundaries_.inside(start, stop) == 0; }

  // Whether token i is a whole word, if everything before it is counted.
  bool is_word(std::size_t i) const { return Piece::is_word(flags_[i], i + 1 < ids_.size() ? flags_[i + 1] : kEnd) != 0; }
  bool is_identifier(std::size_t i) const { return (flags_[i] & Piece::kIdentifier) != 0; }
  void note_word(std::size_t i) const { ++occurrences_[ids_[i]]; }

  struct WholeWords {
    std::int64_t words = 0, identifiers = 0;
  };

  // Records the tokens that are a whole word in any context; unknown() are then those whose bytes must be examined.
  WholeWords note_words() {
    WholeWords found;
    std::size_t num_unknown = 0;
    const auto note = [&](std::size_t i, unsigned next) {
      const unsigned flags = flags_[i], is_word = Piece::is_surely_word(flags, next);
      occurrences_[ids_[i]] += is_word;
      found.words += is_word;
      found.identifiers += is_word & Piece::bit<Piece::kIdentifier>(flags);
      unknown_[num_unknown] = static_cast<std::uint32_t>(i);
      num_unknown += 1 ^ (is_word | Piece::is_nothing(flags, next));
    };
    for (std::size_t i = 0; i + 1 < ids_.size(); ++i) note(i, flags_[i + 1]);
    if (!ids_.empty()) note(ids_.size() - 1, kEnd);
    num_unknown_ = num_unknown;
    return found;
  }
  std::span<const std::uint32_t> unknown() const { return {unknown_, num_unknown_}; }

  // The number of tokens that overlap a non-empty run.
  std::int64_t touching(std::size_t start, std::size_t stop) { return 1 + boundaries_.inside(start, stop); }

  // The number of positions strictly inside a run where a token starts or stops; `touching` tokens overlap it.
  std::int64_t cuts(std::int64_t touching, std::size_t, std::size_t) const { return touching - 1; }

  // Whether the only token that overlaps a run starts, or stops, in [first, last] outside of it.
  bool starts_in(std::size_t first, std::size_t last) const { return boundaries_.any_in(first, last); }
  bool stops_in(std::size_t first, std::size_t last) const { return boundaries_.any_in(first, last); }

 private:
  static constexpr std::uint8_t kEnd = Piece::kEndsWord;  // the end of a document counts as white space

  const Boundaries& boundaries_;
  const std::uint32_t* stops_;
  const std::uint8_t* flags_;
  std::uint32_t* unknown_;
  std::size_t num_unknown_ = 0;
  std::span<const std::uint32_t> ids_;
  std::uint32_t* occurrences_;
  std::size_t start_;
};

// The non-empty spans of tokens, and a sentinel after them.
struct Spans {
  std::vector<std::size_t> starts;
  std::vector<std::size_t> stops;
  // Without unknown tokens and fallback bytes.
  std::vector<std::size_t> entry_starts;
  std::vector<std::size_t> entry_stops;
};

// The same for tokens at arbitrary positions. Moves along the tokens with the runs of one kind, which must come in order and
// must not overlap.
class PlacedTokens {
 public:
  static constexpr bool kTile = false;

  PlacedTokens(const Boundaries& boundaries, const Spans& spans)
      : boundaries_(boundaries), spans_(spans), start_(spans.starts.data()), stop_(spans.stops.data()) {}

  bool holds(std::size_t start, std::size_t stop) {
    while (spans_.entry_starts[next_entry_] <= start) reached_ = spans_.entry_stops[next_entry_++];
    return reached_ >= stop;
  }

  std::int64_t touching(std::size_t start, std::size_t stop) {
    while (*start_ < stop) ++start_;
    while (*stop_ <= start) ++stop_;
    return (start_ - spans_.starts.data()) - (stop_ - spans_.stops.data());
  }

  std::int64_t cuts(std::int64_t, std::size_t start, std::size_t stop) const { return boundaries_.inside(start, stop); }

  // These refer to the run of the last call of touching().
  bool starts_in(std::size_t first, std::size_t last) const { return start_[-1] >= first && start_[-1] <= last; }
  bool stops_in(std::size_t first, std::size_t last) const { return *stop_ >= first && *stop_ <= last; }

 private:
  const Boundaries& boundaries_;
  const Spans& spans_;
  const std::size_t* start_;  // start of the first token after the run
  const std::size_t* stop_;   // stop of the first token that overlaps the run or follows it
  std::size_t next_entry_ = 0;
  std::size_t reached_ = 0;  // furthest stop of the tokens that start before the last requested character
};

}  // namespace tokbench::metrics
