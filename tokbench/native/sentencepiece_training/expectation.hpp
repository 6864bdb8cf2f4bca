// Sums over all segmentations of a segment (forward-backward), and its best segmentation (Viterbi).
#pragma once

#include <array>
#include <cmath>
#include <limits>

#include "seeds.hpp"

namespace tokbench::sentencepiece {

// Expected counts are added up in fixed point, in units of 2^-24, so that the sum does not depend on the order or on threads.
inline constexpr double kUnit = 16777216.0;

inline std::int64_t in_units(double value) { return static_cast<std::int64_t>(value * kUnit + 0.5); }

// A product of many probabilities underflows a double. In long segments, the sum at each position therefore has an additional
// exponent, in steps of 2^200; scaling by powers of two does not affect the digits.
struct Scaled {
  double value = 0;
  int exponent = 0;  // the sum is value × 2^(200 × exponent)
};

inline constexpr double kTiny = 0x1p-200, kHuge = 0x1p200;

// value × 2^(200 × exponent); 0 or infinite if a double cannot represent it.
inline double scaled(double value, int exponent) {
  for (; exponent < 0 && value != 0; ++exponent) value *= kTiny;
  for (; exponent > 0 && value != 0 && !std::isinf(value); --exponent) value *= kHuge;
  return value;
}

inline void add(Scaled& sum, double value, int exponent) {
  if (sum.value == 0) {
    sum = {value, exponent};
  } else if (exponent > sum.exponent) {
    sum = {scaled(sum.value, sum.exponent - exponent) + value, exponent};
  } else {
    sum.value += scaled(value, exponent - sum.exponent);
  }
}

inline void normalize(Scaled& sum) {
  for (; sum.value < kTiny && sum.value != 0; --sum.exponent) sum.value *= kHuge;
}

// The buffers of one thread for computing these sums.
class SegmentSums {
 public:
  explicit SegmentSums(const Lattice& lattice) : lattice_(lattice) {}

  // Adds the expected count of each piece in `count` occurrences of the segment at positions [start, start + length). The
  // worths of edges must be probabilities.
  void add_expected(std::size_t start, std::size_t length, std::int64_t count, std::vector<std::int64_t>& expected) {
    forward_.assign(length + 1, 0.0);
    forward_[0] = 1;
    note_steps(start, length, [&](std::size_t i, const Edge& edge) { forward_[i + edge.length] += forward_[i] * edge.worth; });
    const double weight = static_cast<double>(count) / forward_[length];
    backward_.resize(length + 1);
    backward_[length] = 1;
    for (std::size_t i = length; i-- > 0;) {
      const double before = forward_[i] * weight;
      double after = 0;
      for_each_step_back(i, [&](const Step& step) {
        const double both = step.worth * backward_[i + step.length];
        expected[step.piece] += in_units(before * both);
        after += both;
      });
      backward_[i] = after;
    }
  }

  // The same for long segments, whose probabilities may underflow a double.
  void add_expected_of_long(std::size_t start, std::size_t length, std::int64_t count, std::vector<std::int64_t>& expected) {
    scaled_forward_.assign(length + 1, {});
    scaled_forward_[0] = {1, 0};
    note_steps(start, length, [&](std::size_t i, const Edge& edge) {
      normalize(scaled_forward_[i]);
      add(scaled_forward_[i + edge.length], scaled_forward_[i].value * edge.worth, scaled_forward_[i].exponent);
    });
    const Scaled all = scaled_forward_[length];
    const double weight = static_cast<double>(count) / all.value;
    scaled_backward_.resize(length + 1);
    scaled_backward_[length] = {1, 0};
    for (std::size_t i = length; i-- > 0;) {
      const Scaled before = {scaled_forward_[i].value * weight, scaled_forward_[i].exponent - all.exponent};
      Scaled after;
      for_each_step_back(i, [&](const Step& step) {
        const Scaled& rest = scaled_backward_[i + step.length];
        const double both = step.worth * rest.value;
        expected[step.piece] += in_units(scaled(before.value * both, before.exponent + rest.exponent));
        add(after, both, rest.exponent);
      });
      normalize(after);
      scaled_backward_[i] = after;
    }
  }

  // Calls sink(piece) for the pieces of the best segmentation of positions [start, start + length), last one first; of equally
  // good ones, the one with longer last pieces. Returns its score. `is_whole_left_out` excludes the piece that covers the whole
  // segment. The worths of edges must be scores.
  template <class Sink>
  double best(std::size_t start, std::size_t length, bool is_whole_left_out, Sink sink) {
    best_.assign(length + 1, {-std::numeric_limits<double>::infinity(), kNone, 0});
    best_[0].score = 0;
    for (std::size_t i = 0; i < length; ++i) {
      for_each_edge(start + i, [&](std::uint32_t piece, const Edge& edge) {
        if (i + edge.length > length || (is_whole_left_out && edge.length == length)) return;
        const double score = best_[i].score + edge.worth;
        if (score > best_[i + edge.length].score) best_[i + edge.length] = {score, piece, edge.length};
      });
    }
    for (std::size_t i = length; i > 0; i -= best_[i].length) sink(best_[i].piece);
    return best_[length].score;
  }

 private:
  struct Step {
    double worth;
    std::uint32_t piece, length;
  };

  struct Best {
    double score;
    std::uint32_t piece, length;  // the last piece
  };

  // Calls sink(piece, edge) for each piece that starts at a position, longest first.
  template <class Sink>
  void for_each_edge(std::size_t position, Sink sink) const {
    for (std::uint32_t piece = lattice_.longest[position]; piece != kNone; piece = lattice_.edges[piece].shorter) {
      sink(piece, lattice_.edges[piece]);
    }
  }

  // Calls sink(i, edge) for all edges of a segment, and stores them so that the backward pass needs no lookups.
  template <class Sink>
  void note_steps(std::size_t start, std::size_t length, Sink sink) {
    steps_.clear();
    firsts_.resize(length + 1);
    for (std::size_t i = 0; i < length; ++i) {
      firsts_[i] = steps_.size();
      for_each_edge(start + i, [&](std::uint32_t piece, const Edge& edge) {
        steps_.push_back({edge.worth, piece, edge.length});
        sink(i, edge);
      });
    }
    firsts_[length] = steps_.size();
  }

  // Calls sink(step) for the stored edges from position i, shortest first, which defines the order of summation.
  template <class Sink>
  void for_each_step_back(std::size_t i, Sink sink) const {
    const Step* const first = steps_.data() + firsts_[i];
    const Step* step = steps_.data() + firsts_[i + 1];
    while (step != first) sink(*--step);
  }

  const Lattice& lattice_;
  std::vector<Step> steps_;          // the edges of a segment
  std::vector<std::size_t> firsts_;  // by position: its first edge in steps_; and their end
  std::vector<double> forward_, backward_;
  std::vector<Scaled> scaled_forward_, scaled_backward_;
  std::vector<Best> best_;
};

}  // namespace tokbench::sentencepiece
