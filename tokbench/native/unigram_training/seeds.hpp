// The pieces that training begins with, and where they stand in the segments.
#pragma once

#include "suffixes.hpp"

namespace tokbench::unigram {

// A substring that is not always followed by the same character: the suffixes of the ranks [left, right) begin with it.
struct Substring {
  std::uint64_t score;  // occurrences × characters
  std::uint32_t left, right;
  std::uint16_t length;
};

// What a piece is, and one place where it stands in the codes.
struct Piece {
  std::uint32_t position;
  std::uint16_t length;
};

// For each position of the codes, the pieces that begin there, shorter ones first. A piece's number is its index.
struct Lattice {
  std::vector<std::uint32_t> begins;  // of the edges of each position, and the end of all
  std::vector<std::uint32_t> pieces;  // of each edge
  std::vector<std::uint16_t> lengths;
};

struct Seeds {
  std::vector<Piece> pieces;
  std::vector<std::uint64_t> scores;
  Lattice lattice;
};

class SeedFinder {
 public:
  SeedFinder(const Segments& segments, const PieceRules& rules, unsigned threads, const StopSign& sign)
      : segments_(segments), rules_(rules), threads_(threads), sign_(sign), suffixes_(segments, rules.options().longest, threads, sign) {
    segment_of_.resize(segments.codes.size());
    for (std::size_t i = 0; i < segments.size(); ++i) {
      std::fill(segment_of_.begin() + segments.starts[i], segment_of_.begin() + segments.starts[i + 1], static_cast<std::uint32_t>(i));
    }
  }

  // All characters, and of the substrings that may be pieces `most`: those of the highest score, of the same score the
  // alphabetically first.
  Seeds find(std::size_t most) {
    std::vector<Substring> chosen = substrings();
    const auto is_better = [](const Substring& a, const Substring& b) {
      if (a.score != b.score) return a.score > b.score;
      return a.left != b.left ? a.left < b.left : a.length < b.length;
    };
    if (chosen.size() > most) {
      std::nth_element(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(most), chosen.end(), is_better);
      chosen.resize(most);
      chosen.shrink_to_fit();
    }
    for (std::size_t code = 1; code < segments_.alphabet.size(); ++code) {
      const auto left = static_cast<std::uint32_t>(suffixes_.first(code)), right = static_cast<std::uint32_t>(suffixes_.first(code + 1));
      if (left != right) chosen.push_back({segments_.occurrences[code], left, right, 1});
    }
    sign_.check();
    std::sort(chosen.begin(), chosen.end(), is_better);
    sign_.check();
    Seeds seeds;
    for (const Substring& each : chosen) {
      seeds.pieces.push_back({suffixes_.position(each.left), each.length});
      seeds.scores.push_back(each.score);
    }
    seeds.lattice = lattice(chosen);
    return seeds;
  }

 private:
  struct Open {
    std::size_t length, left;
    std::uint64_t occurrences;
  };

  std::vector<Substring> substrings() {
    std::vector<std::vector<Substring>> found(std::max(threads_, 1u));
    std::atomic<std::size_t> next{0};
    Turns turns(segments_.alphabet.size());
    run_on(threads_, [&] {
      std::vector<Substring>& mine = found[next.fetch_add(1)];
      for (std::size_t code; turns.take(code);) {
        sign_.check();
        if (code != 0) find_in(suffixes_.first(code), suffixes_.first(code + 1), mine);
      }
    });
    for (std::size_t i = 1; i < found.size(); ++i) {
      found[0].insert(found[0].end(), found[i].begin(), found[i].end());
      found[i] = {};
    }
    return std::move(found[0]);
  }

  // The substrings of the suffixes of some ranks, which begin with the same character as no others do.
  // Source: Abouelhoda et al. 2004, "Replacing suffix trees with enhanced suffix arrays", algorithm 4.4.
  void find_in(std::size_t first, std::size_t end, std::vector<Substring>& found) {
    std::vector<Open> open;
    for (std::size_t rank = first; rank < end; ++rank) {
      if (rank != first) close(open, suffixes_.common(rank), rank, found);
      const std::uint32_t position = suffixes_.position(rank), segment = segment_of_[position];
      const std::size_t length = std::min<std::size_t>(segments_.starts[segment + 1] - 1 - position, rules_.options().longest + 1);
      const auto count = static_cast<std::uint64_t>(segments_.counts[segment]);
      if (!open.empty() && open.back().length == length) {
        open.back().occurrences += count;
      } else {
        open.push_back({length, rank, count});
      }
    }
    if (first != end) close(open, 0, end, found);
  }

  // Ends the substrings that are longer than what the next suffix has in common with the one before.
  void close(std::vector<Open>& open, std::size_t common, std::size_t right, std::vector<Substring>& found) {
    while (!open.empty() && open.back().length > common) {
      const Open closed = open.back();
      open.pop_back();
      note(closed, right, found);
      if (!open.empty() && open.back().length >= common) {
        open.back().occurrences += closed.occurrences;
      } else if (common != 0) {
        open.push_back({common, closed.left, closed.occurrences});
      }
    }
  }

  void note(const Open& closed, std::size_t right, std::vector<Substring>& found) const {
    if (closed.length < 2 || closed.length > rules_.options().longest || closed.occurrences < 2) return;
    const std::uint32_t* const codes = segments_.codes.data() + suffixes_.position(closed.left);
    std::uint32_t characters[512];
    for (std::size_t i = 0; i < closed.length; ++i) characters[i] = segments_.alphabet[codes[i]];
    if (!rules_.allow({characters, closed.length})) return;
    found.push_back({closed.occurrences * closed.length, static_cast<std::uint32_t>(closed.left), static_cast<std::uint32_t>(right),
                     static_cast<std::uint16_t>(closed.length)});
  }

  // Where the chosen ones stand: those around a rank are nested, and are its edges from the outermost on.
  Lattice lattice(const std::vector<Substring>& chosen) const {
    std::vector<std::uint32_t> order(chosen.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return chosen[a].left != chosen[b].left ? chosen[a].left < chosen[b].left : chosen[a].length < chosen[b].length;
    });
    Lattice made;
    made.begins.assign(segments_.codes.size() + 1, 0);
    std::uint64_t total = 0;
    for_each_rank(chosen, order, [&](std::uint32_t position, std::span<const std::uint32_t> around) {
      made.begins[position + 1] = static_cast<std::uint32_t>(around.size());
      total += around.size();
    });
    if (total > 0xFFFFFFFFu) throw std::length_error("the text has too many distinct words");
    for (std::size_t i = 1; i < made.begins.size(); ++i) made.begins[i] += made.begins[i - 1];
    made.pieces.resize(total);
    made.lengths.resize(total);
    for_each_rank(chosen, order, [&](std::uint32_t position, std::span<const std::uint32_t> around) {
      std::uint32_t edge = made.begins[position];
      for (const std::uint32_t piece : around) {
        made.lengths[edge] = chosen[piece].length;
        made.pieces[edge++] = piece;
      }
    });
    return made;
  }

  template <class Sink>
  void for_each_rank(const std::vector<Substring>& chosen, const std::vector<std::uint32_t>& order, Sink sink) const {
    std::vector<std::uint32_t> around;
    std::size_t next = 0;
    for (std::size_t rank = 0; rank < suffixes_.size(); ++rank) {
      while (!around.empty() && chosen[around.back()].right <= rank) around.pop_back();
      for (; next < order.size() && chosen[order[next]].left == rank; ++next) around.push_back(order[next]);
      sink(suffixes_.position(rank), std::span<const std::uint32_t>(around));
    }
  }

  const Segments& segments_;
  const PieceRules& rules_;
  unsigned threads_;
  const StopSign& sign_;
  Suffixes suffixes_;
  std::vector<std::uint32_t> segment_of_;  // of each position
};

}  // namespace tokbench::unigram
