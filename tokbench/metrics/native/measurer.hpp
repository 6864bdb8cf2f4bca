// What was counted in documents, by group.
#pragma once

#include "batch.hpp"
#include "layout.hpp"
#include "runs.hpp"

namespace tokbench::metrics {

struct Group {
  explicit Group(std::uint64_t seed) : words(seed) {}
  Counts counts{};
  NumbersByLength numbers{};
  WordTable words;
};

class Measurer {
 public:
  // `classes` holds the class of each code point; the seed changes no result.
  Measurer(std::span<const std::uint8_t> classes, std::size_t num_groups, std::uint64_t seed)
      : table_(classes) {
    groups_.reserve(num_groups);
    for (std::size_t i = 0; i < num_groups; ++i) groups_.emplace_back(seed);
  }

  const std::vector<Group>& groups() const { return groups_; }

  // Counts documents; calls sink(counts) for each. Throws what check() throws before anything is counted.
  template <class Batch, class Sink>
  void add(const Documents& documents, const Batch& batch, Sink sink) {
    check(documents, groups_.size());
    check(batch, documents, boundaries_);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      Counts counts{};
      counts[kTokens] = static_cast<std::int64_t>(documents.last_token(i) - documents.first_token(i));
      measure(documents, i, place(batch, documents, i, counts), counts);
      sink(counts);
    }
    for (const std::int32_t group : documents.groups) groups_[static_cast<std::size_t>(group)].words.settle();
  }

 private:
  TiledTokens place(const TiledBatch&, const Documents& documents, std::size_t document, Counts&) {
    boundaries_.go_to(documents.start(document));
    return TiledTokens(boundaries_);
  }

  PlacedTokens place(const PlacedBatch& batch, const Documents& documents, std::size_t document, Counts& counts) {
    std::uint8_t* const is_boundary = boundaries_.clear(documents.document(document).size());
    spans_.starts.clear();
    spans_.stops.clear();
    std::size_t uncovered = 0;  // up to where bytes are known to be in a token that covers none
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
    }
    spans_.starts.push_back(kBehindAll);
    spans_.stops.push_back(kBehindAll);
    return PlacedTokens(boundaries_, spans_);
  }

  template <class Tokens>
  void measure(const Documents& documents, std::size_t i, const Tokens& tokens, Counts& counts) {
    Group& group = groups_[static_cast<std::size_t>(documents.groups[i])];
    const Byte* const readable = documents.text.data() + documents.text.size();
    const Bytes text = documents.document(i);
    LayoutMeasurer(table_, text, boundaries_, tokens, counts).measure();
    RunMeasurer(table_, text, readable, boundaries_, tokens, group.words, group.numbers, counts).measure();
    for (std::size_t each = 0; each < kNumCounts; ++each) group.counts[each] += counts[each];
  }

  static constexpr std::size_t kBehindAll = std::numeric_limits<std::size_t>::max();

  CharacterTable table_;
  std::vector<Group> groups_;
  Boundaries boundaries_;
  Spans spans_;
};

}  // namespace tokbench::metrics
