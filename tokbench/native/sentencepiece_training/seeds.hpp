// The initial pieces of Unigram training, and their positions in the segments.
#pragma once

#include "segment_places.hpp"
#include "substrings.hpp"
#include "suffixes.hpp"

namespace tokbench::sentencepiece {

// The data of a piece that sums over segmentations need.
struct Edge {
  double worth;           // its probability, or its score, the logarithm of that
  std::uint32_t shorter;  // the longest proper prefix that is a piece, or kNone
  std::uint16_t length;
};

inline constexpr std::uint32_t kNone = ~std::uint32_t{0};

// The pieces at each position: all of them are prefixes of the longest one.
struct Lattice {
  std::vector<std::uint32_t> longest;  // by position in the codes: the longest piece that starts there
  std::vector<Edge> edges;             // by piece
};

struct Seeds {
  Lattice lattice;
  std::vector<std::uint32_t> positions;  // by piece: one of its positions in the codes
  std::vector<std::uint64_t> scores;
};

class SeedFinder {
 public:
  SeedFinder(const Segments& segments, const PieceRules& rules, unsigned threads, const StopSign& sign)
      : segments_(segments), rules_(rules), threads_(threads), sign_(sign), suffixes_(segments, rules.options().longest, threads, sign) {}

  // Returns all characters, and the `most` substrings with the highest scores that may be pieces; of equal scores, the
  // alphabetically first.
  Seeds find(std::size_t most) {
    std::vector<Substring> chosen = substrings(most);
    suffixes_.forget_common();
    for (std::size_t code = 1; code < segments_.alphabet.size(); ++code) {
      const std::size_t left = suffixes_.first(code), right = suffixes_.first(code + 1);
      if (left != right) chosen.emplace_back(segments_.occurrences[code], 1, left, right);
    }
    sign_.check();
    std::sort(chosen.begin(), chosen.end(), [](const Substring& a, const Substring& b) { return a.is_better_than(b); });
    sign_.check();
    Seeds seeds;
    seeds.lattice = lattice(chosen);
    seeds.positions.reserve(chosen.size());
    for (const Substring& each : chosen) seeds.positions.push_back(suffixes_.position(each.left()));
    suffixes_.forget_order();
    seeds.scores.reserve(chosen.size());
    for (const Substring& each : chosen) seeds.scores.push_back(each.score());
    return seeds;
  }

 private:
  struct Open {
    std::size_t length, left;
    std::uint64_t occurrences;
  };

  // The state of one thread.
  struct Search {
    const SegmentPlaces& places;
    BestSubstrings& best;
    std::vector<Open> open;
    std::vector<Substring> found;
  };

  static constexpr std::size_t kFoundAtOnce = 1 << 10;

  std::vector<Substring> substrings(std::size_t most) const {
    const SegmentPlaces places(segments_);
    BestSubstrings best(most, 2 * suffixes_.size());
    Turns turns(segments_.alphabet.size());
    run_on(threads_, [&] {
      Search search{places, best, {}, {}};
      for (std::size_t code; turns.take(code);) {
        sign_.check();
        if (code != 0) find_in(suffixes_.first(code), suffixes_.first(code + 1), search);
      }
      best.take(search.found);
    });
    return best.finish();
  }

  // Finds the substrings of the suffixes of ranks [first, end), which must be all suffixes with a certain first character.
  // Source: Abouelhoda et al. 2004, "Replacing suffix trees with enhanced suffix arrays", algorithm 4.4.
  void find_in(std::size_t first, std::size_t end, Search& search) const {
    std::vector<Open>& open = search.open;
    for (std::size_t rank = first; rank < end; ++rank) {
      if (rank != first) close(suffixes_.common(rank), rank, search);
      const std::size_t position = suffixes_.position(rank), segment = search.places.segment_of(position);
      const std::size_t length = std::min<std::size_t>(segments_.starts[segment + 1] - 1 - position, rules_.options().longest + 1);
      const auto count = static_cast<std::uint64_t>(segments_.counts[segment]);
      if (!open.empty() && open.back().length == length) {
        open.back().occurrences += count;
      } else {
        open.push_back({length, rank, count});
      }
    }
    if (first != end) close(0, end, search);
  }

  // Completes the substrings that are longer than the common prefix of the next suffix and the one before.
  void close(std::size_t common, std::size_t right, Search& search) const {
    std::vector<Open>& open = search.open;
    while (!open.empty() && open.back().length > common) {
      const Open closed = open.back();
      open.pop_back();
      note(closed, right, search);
      if (!open.empty() && open.back().length >= common) {
        open.back().occurrences += closed.occurrences;
      } else if (common != 0) {
        open.push_back({common, closed.left, closed.occurrences});
      }
    }
  }

  void note(const Open& closed, std::size_t right, Search& search) const {
    if (closed.length < 2 || closed.length > rules_.options().longest || closed.occurrences < 2) return;
    const std::uint64_t score = closed.occurrences * closed.length;
    if (!search.best.may_take(score)) return;
    const std::size_t position = suffixes_.position(closed.left);
    std::uint32_t characters[kLongestPiece];
    for (std::size_t i = 0; i < closed.length; ++i) characters[i] = segments_.alphabet[segments_.codes[position + i]];
    if (!rules_.allow({characters, closed.length})) return;
    search.found.emplace_back(score, closed.length, closed.left, right);
    if (search.found.size() == kFoundAtOnce) search.best.take(search.found);
  }

  // Finds the positions of the chosen substrings; those that contain a given rank are nested.
  Lattice lattice(const std::vector<Substring>& chosen) const {
    std::vector<std::uint32_t> order(chosen.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return chosen[a].left() != chosen[b].left() ? chosen[a].left() < chosen[b].left() : chosen[a].length() < chosen[b].length();
    });
    sign_.check();
    Lattice made;
    made.longest.assign(segments_.codes.size(), kNone);
    made.edges.resize(chosen.size());
    Turns turns(segments_.alphabet.size());
    run_on(threads_, [&] {
      for (std::size_t code; turns.take(code);) {
        if (code != 0) place(chosen, order, suffixes_.first(code), suffixes_.first(code + 1), made);
      }
    });
    return made;
  }

  // The same for the suffixes of ranks [first, end), which must be all suffixes with a certain first character.
  void place(const std::vector<Substring>& chosen, const std::vector<std::uint32_t>& order, std::size_t first, std::size_t end, Lattice& made) const {
    const auto is_before = [&](std::uint32_t piece, std::size_t rank) { return chosen[piece].left() < rank; };
    auto next = std::lower_bound(order.begin(), order.end(), first, is_before);
    std::uint32_t around = kNone;
    for (std::size_t rank = first; rank < end; ++rank) {
      while (around != kNone && chosen[around].right() <= rank) around = made.edges[around].shorter;
      for (; next != order.end() && chosen[*next].left() == rank; ++next) {
        made.edges[*next] = {0, around, chosen[*next].length()};
        around = *next;
      }
      made.longest[suffixes_.position(rank)] = around;
    }
  }

  const Segments& segments_;
  const PieceRules& rules_;
  unsigned threads_;
  const StopSign& sign_;
  Suffixes suffixes_;
};

}  // namespace tokbench::sentencepiece
