// Counts documents by group.
#pragma once

#include "batch.hpp"
#include "known_words.hpp"
#include "layout.hpp"
#include "runs.hpp"

namespace tokbench::metrics {

struct Group {
  explicit Group(std::uint64_t seed) : words(seed) {}
  Counts counts{};
  NumbersByLength numbers{};
  WordTable words;
};

// The lookup tables for counting.
struct Tables {
  // `classes` are the classes of all code points. The bytes of id i are data[offsets[i]:offsets[i + 1]], validated by
  // check_pieces().
  Tables(std::span<const std::uint8_t> classes, Bytes data, std::span<const std::int64_t> offsets)
      : characters(classes), pieces(characters, data, offsets) {}

  CharacterTable characters;
  Pieces pieces;
};

class Measurer {
 public:
  // The tables must outlive this object. The seed does not affect results.
  Measurer(const Tables& tables, std::size_t num_groups, std::uint64_t seed) : tables_(tables) {
    groups_.reserve(num_groups);
    for (std::size_t i = 0; i < num_groups; ++i) groups_.emplace_back(seed);
  }

  const std::vector<Group>& groups() {
    settle();
    return groups_;
  }

  // Counts documents; calls sink(counts) for each. Validates its arguments with check() before anything is counted.
  template <class Batch, class Sink>
  void add(const Documents& documents, const Batch& batch, Sink sink) {
    check(documents, groups_.size());
    check(batch, documents, tables_.pieces, boundaries_, tiles_);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      Counts counts{};
      counts[kTokens] = static_cast<std::int64_t>(documents.last_token(i) - documents.first_token(i));
      measure(documents, i, place(batch, documents, i, counts), counts);
      sink(counts);
    }
    for (const std::int32_t group : documents.groups) groups_[static_cast<std::size_t>(group)].words.settle();
  }

  // Adds the words of a group from another measurer, without counting documents.
  void join_words(std::size_t group, const KnownWords& known) {
    settle();
    for (std::size_t i = 0; i < known.size(); ++i) {
      groups_[group].words.join(known.word(i), known.occurrences[i], known.fewest[i], known.most[i]);
    }
  }

  // Adds the counts of another measurer with the same number of groups.
  void join(Measurer& other) {
    settle();
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      Group& group = groups_[i];
      const Group& counted = other.groups()[i];
      for (std::size_t each = 0; each < kNumCounts; ++each) group.counts[each] += counted.counts[each];
      for (std::size_t each = 0; each < group.numbers.size(); ++each) {
        group.numbers[each].numbers += counted.numbers[each].numbers;
        group.numbers[each].tokens += counted.numbers[each].tokens;
      }
      group.words.join(counted.words);
    }
  }

 private:
  TiledTokens place(const TiledBatch& batch, const Documents& documents, std::size_t document, Counts&) {
    boundaries_.go_to(documents.start(document));
    const std::size_t first = documents.first_token(document), count = documents.last_token(document) - first;
    return TiledTokens(boundaries_, tiles_, documents.start(document), first, batch.ids.subspan(first, count),
                       occurrences_for(documents.groups[document], count));
  }

  PlacedTokens place(const PlacedBatch& batch, const Documents& documents, std::size_t document, Counts& counts) {
    std::uint8_t* const is_boundary = boundaries_.clear(documents.document(document).size());
    spans_.starts.clear();
    spans_.stops.clear();
    spans_.entry_starts.clear();
    spans_.entry_stops.clear();
    std::size_t uncovered = 0;  // end of the bytes that are known to be in a token that covers no character
    for (std::size_t i = documents.first_token(document); i < documents.last_token(document); ++i) {
      const auto start = static_cast<std::size_t>(batch.starts[i]), stop = static_cast<std::size_t>(batch.stops[i]);
      is_boundary[start] = is_boundary[stop] = 1;
      const auto kind = static_cast<Kind>(batch.kinds[i]);
      if (kind == Kind::Byte || kind == Kind::Unknown) {
        ++counts[kind == Kind::Byte ? kFallbackTokens : kUnknownTokens];
        counts[kUncoveredBytes] += static_cast<std::int64_t>(stop - std::min(stop, std::max(start, uncovered)));
        uncovered = std::max(uncovered, stop);
      }
      if (start == stop) continue;
      spans_.starts.push_back(start);
      spans_.stops.push_back(stop);
      if (kind == Kind::Byte || kind == Kind::Unknown) continue;
      spans_.entry_starts.push_back(start);
      spans_.entry_stops.push_back(stop);
    }
    for (auto* const column : {&spans_.starts, &spans_.stops, &spans_.entry_starts, &spans_.entry_stops}) {
      column->push_back(kAfterAll);
    }
    return PlacedTokens(boundaries_, spans_);
  }

  template <class Tokens>
  void measure(const Documents& documents, std::size_t i, const Tokens& tokens, Counts& counts) {
    Group& group = groups_[static_cast<std::size_t>(documents.groups[i])];
    const Byte* const readable = documents.text.data() + documents.text.size();
    const Bytes text = documents.document(i);
    const CharacterTable& characters = tables_.characters;
    LayoutMeasurer(characters, text, boundaries_, tokens, counts).measure();
    RunMeasurer(characters, text, readable, boundaries_, tokens, group.words, group.numbers, counts).measure();
    for (std::size_t each = 0; each < kNumCounts; ++each) group.counts[each] += counts[each];
  }

  // Occurrences of ids as whole words in a group, with room for `more`. They are added to the group's table later, because the
  // next document usually belongs to the same group.
  std::uint32_t* occurrences_for(std::int32_t group, std::size_t more) {
    if (group != waiting_group_ || more > std::numeric_limits<std::uint32_t>::max() - num_waiting_) settle();
    occurrences_.resize(tables_.pieces.size());
    waiting_group_ = group;
    num_waiting_ += more;
    return occurrences_.data();
  }

  void settle() {
    if (num_waiting_ == 0) return;
    WordTable& words = groups_[static_cast<std::size_t>(waiting_group_)].words;
    for (std::size_t id = 0; id < occurrences_.size(); ++id) {
      if (occurrences_[id] != 0) words.join(tables_.pieces.word(tables_.characters, id), std::exchange(occurrences_[id], 0), 1, 1);
    }
    num_waiting_ = 0;
  }

  static constexpr std::size_t kAfterAll = std::numeric_limits<std::size_t>::max();

  const Tables& tables_;
  std::vector<Group> groups_;
  Boundaries boundaries_;
  Tiles tiles_;
  Spans spans_;
  std::vector<std::uint32_t> occurrences_;
  std::int32_t waiting_group_ = 0;
  std::size_t num_waiting_ = 0;  // tokens since the last call of settle()
};

}  // namespace tokbench::metrics
