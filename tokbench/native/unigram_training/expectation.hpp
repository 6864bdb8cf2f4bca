// The sums over all segmentations of a segment, and its best one.
#pragma once

#include <array>
#include <cmath>
#include <limits>

#include "seeds.hpp"

namespace tokbench::unigram {

// What the pieces are worth: of those that were dropped, characters are as probable as an unknown one, others impossible.
struct Weights {
  std::vector<double> probabilities;
  std::vector<double> scores;  // their logarithms
};

// Expected counts are added up as whole numbers of 2^-24: in whatever order, and on whatever threads, the sum is the same.
inline constexpr double kUnit = 16777216.0;

inline std::int64_t in_units(double value) { return static_cast<std::int64_t>(value * kUnit + 0.5); }

// A product of many probabilities falls below what a double holds. In long segments each position's sum has an exponent of
// its own, a multiple of 2^200; powers of two change no digit of a sum.
struct Scaled {
  double value = 0;
  int exponent = 0;  // the sum is value × 2^(200 × exponent)
};

inline constexpr double kTiny = 0x1p-200, kHuge = 0x1p200;

// value × 2^(200 × exponent); 0 or infinite where no double holds it.
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

// One thread's room for segments.
class SegmentSums {
 public:
  SegmentSums(const Lattice& lattice, const Weights& weights) : lattice_(lattice), weights_(weights) {}

  // Adds how often each piece is expected in `count` occurrences of the segment of the positions [start, start + length).
  void add_expected(std::size_t start, std::size_t length, std::int64_t count, std::vector<std::int64_t>& expected) {
    forward_.assign(length + 1, 0.0);
    backward_.resize(length + 1);
    forward_[0] = 1;
    for (std::size_t i = 0; i < length; ++i) {
      const double before = forward_[i];
      for_each_edge(start + i, [&](std::uint32_t piece, std::size_t size) { forward_[i + size] += before * weights_.probabilities[piece]; });
    }
    const double weight = static_cast<double>(count) / forward_[length];
    backward_[length] = 1;
    for (std::size_t i = length; i-- > 0;) {
      const double before = forward_[i] * weight;
      double behind = 0;
      for_each_edge(start + i, [&](std::uint32_t piece, std::size_t size) {
        const double both = weights_.probabilities[piece] * backward_[i + size];
        expected[piece] += in_units(before * both);
        behind += both;
      });
      backward_[i] = behind;
    }
  }

  // The same where the probability of a segmentation may be too small for a double.
  void add_expected_of_long(std::size_t start, std::size_t length, std::int64_t count, std::vector<std::int64_t>& expected) {
    scaled_forward_.assign(length + 1, {});
    scaled_backward_.resize(length + 1);
    scaled_forward_[0] = {1, 0};
    for (std::size_t i = 0; i < length; ++i) {
      normalize(scaled_forward_[i]);
      const Scaled before = scaled_forward_[i];
      for_each_edge(start + i, [&](std::uint32_t piece, std::size_t size) {
        add(scaled_forward_[i + size], before.value * weights_.probabilities[piece], before.exponent);
      });
    }
    const Scaled all = scaled_forward_[length];
    const double weight = static_cast<double>(count) / all.value;
    scaled_backward_[length] = {1, 0};
    for (std::size_t i = length; i-- > 0;) {
      const Scaled before = {scaled_forward_[i].value * weight, scaled_forward_[i].exponent - all.exponent};
      Scaled behind;
      for_each_edge(start + i, [&](std::uint32_t piece, std::size_t size) {
        const Scaled& rest = scaled_backward_[i + size];
        const double both = weights_.probabilities[piece] * rest.value;
        expected[piece] += in_units(scaled(before.value * both, before.exponent + rest.exponent));
        add(behind, both, rest.exponent);
      });
      normalize(behind);
      scaled_backward_[i] = behind;
    }
  }

  // Calls sink(piece) for the pieces of the best segmentation of the positions [start, start + length), the last one
  // first; of equally good ones, that whose last pieces are longer. Returns its score. `is_whole_left_out`: the piece
  // that is all of it is none of them.
  template <class Sink>
  double best(std::size_t start, std::size_t length, bool is_whole_left_out, Sink sink) {
    scores_.assign(length + 1, -std::numeric_limits<double>::infinity());
    scores_[0] = 0;
    last_.resize(length + 1);
    for (std::size_t i = 0; i < length; ++i) {
      for_each_edge(start + i, [&](std::uint32_t piece, std::size_t size) {
        if (i + size > length || (is_whole_left_out && size == length)) return;
        const double score = scores_[i] + weights_.scores[piece];
        if (score > scores_[i + size]) {
          scores_[i + size] = score;
          last_[i + size] = {piece, static_cast<std::uint32_t>(size)};
        }
      });
    }
    for (std::size_t i = length; i > 0; i -= last_[i].length) sink(last_[i].piece);
    return scores_[length];
  }

 private:
  struct Last {
    std::uint32_t piece, length;
  };

  template <class Sink>
  void for_each_edge(std::size_t position, Sink sink) const {
    const std::uint32_t end = lattice_.begins[position + 1];
    for (std::uint32_t edge = lattice_.begins[position]; edge < end; ++edge) sink(lattice_.pieces[edge], lattice_.lengths[edge]);
  }

  const Lattice& lattice_;
  const Weights& weights_;
  std::vector<double> forward_, backward_, scores_;
  std::vector<Scaled> scaled_forward_, scaled_backward_;
  std::vector<Last> last_;
};

}  // namespace tokbench::unigram
