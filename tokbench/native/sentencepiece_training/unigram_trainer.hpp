// Unigram training: alternates expectation-maximization and pruning until few enough pieces are left.
//
// Source: Kudo 2018, "Subword Regularization", section 3.2; details that it leaves open are as in SentencePiece's
// unigram_model_trainer.cc. Sums are in double precision, or in fixed point where their order could affect the result.
#pragma once

#include "expectation.hpp"

namespace tokbench::sentencepiece {

struct UnigramOptions {
  std::size_t size;  // wanted number of pieces, characters included
  std::size_t most_seeds;
  std::size_t pruned_to;  // number of pieces at which pruning ends; the best `size` of them are then taken
  double kept_share;      // share of the pieces that each pruning keeps
  unsigned rounds;        // rounds of expectation-maximization before each pruning
  unsigned threads;
};

struct TrainedPiece {
  std::vector<std::uint32_t> characters;
  double score;
};

// The digamma function, the derivative of the logarithm of the gamma function, for x > 0.
// Source: Bernardo 1976, "Algorithm AS 103: Psi (digamma) function", with the expansion around x - 1/2.
inline double digamma(double x) {
  double result = 0;
  for (; x < 7; ++x) result -= 1 / x;
  x -= 0.5;
  const double inverse = 1 / x, square = inverse * inverse, fourth = square * square;
  return result + std::log(x) + square * (1.0 / 24.0) - fourth * (7.0 / 960.0) + fourth * square * (31.0 / 8064.0) -
         fourth * fourth * (127.0 / 30720.0);
}

class UnigramTrainer {
 public:
  UnigramTrainer(const Segments& segments, const PieceRules& rules, UnigramOptions options, const StopSign& sign)
      : segments_(segments), options_(options), sign_(sign) {
    Seeds seeds = SeedFinder(segments, rules, options.threads, sign).find(options.most_seeds);
    lattice_ = std::move(seeds.lattice);
    positions_ = std::move(seeds.positions);
    std::uint64_t total = 0;
    for (const std::uint64_t score : seeds.scores) total += score;
    is_dropped_.assign(positions_.size(), false);
    scores_.reserve(positions_.size());
    for (const std::uint64_t score : seeds.scores) {
      scores_.push_back(std::log(static_cast<double>(score)) - std::log(static_cast<double>(total)));
    }
    weigh();
  }

  // The number of pieces that are left.
  std::size_t size() const { return static_cast<std::size_t>(std::count(is_dropped_.begin(), is_dropped_.end(), false)); }

  // Performs one round; returns false if it was the last one.
  bool step() {
    maximize(expect());
    if (++round_ % options_.rounds != 0) return true;
    if (size() <= options_.pruned_to) return false;
    prune();
    return true;
  }

  // Takes all characters and the best other pieces (of equal scores, the first ones in the order of the seeds), and estimates
  // their scores again by their expected counts, except for pieces that are hardly expected.
  std::vector<TrainedPiece> finish() {
    take_best();
    for (unsigned round = 0; round < kLastRounds; ++round) {
      const std::vector<std::int64_t> expected = expect();
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < scores_.size(); ++i) {
        if (!is_dropped_[i]) sum += std::max(expected[i], kLeastUnits);
      }
      for (std::size_t i = 0; i < scores_.size(); ++i) {
        scores_[i] = std::log(static_cast<double>(std::max(expected[i], kLeastUnits)) / static_cast<double>(sum));
      }
      weigh();
    }
    std::vector<TrainedPiece> made;
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      if (!is_dropped_[i]) made.push_back({characters_of(i), scores_[i]});
    }
    for (std::size_t code = 1; code < segments_.alphabet.size(); ++code) {
      if (segments_.occurrences[code] == 0) made.push_back({{segments_.alphabet[code]}, lowest_});
    }
    std::sort(made.begin(), made.end(), [](const TrainedPiece& a, const TrainedPiece& b) {
      return a.score != b.score ? a.score > b.score : a.characters < b.characters;
    });
    return made;
  }

 private:
  static constexpr double kLeastExpected = 0.5;
  static constexpr std::int64_t kLeastUnits = std::int64_t{1} << 23;  // the same in fixed-point units
  static constexpr unsigned kLastRounds = 2;
  static constexpr double kUnknownPenalty = 10;
  static constexpr double kMostExponent = 600;  // e^600 is far from overflowing a double
  static constexpr std::size_t kTurn = 2048;    // segments, or pieces, that a thread takes at a time

  // Determines the score of dropped characters.
  void weigh() {
    lowest_ = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      if (!is_dropped_[i]) lowest_ = std::min(lowest_, scores_[i]);
    }
    unknown_ = lowest_ - kUnknownPenalty;
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      if (is_dropped_[i]) scores_[i] = unknown_;
    }
  }

  // Sets the worth of each edge to worth_of(score of the piece), for the sums that follow.
  template <class WorthOf>
  void let_edges_be_worth(WorthOf worth_of) {
    for (std::size_t i = 0; i < scores_.size(); ++i) lattice_.edges[i].worth = worth_of(scores_[i]);
  }

  // Calls work(sums, segment, counts) for each segment, on all threads; returns the sum of the counts of all threads.
  template <class Work>
  std::vector<std::int64_t> over_segments(Work work) {
    std::vector<std::vector<std::int64_t>> counts(std::max(options_.threads, 1u));
    std::atomic<std::size_t> next{0};
    Turns turns((segments_.size() + kTurn - 1) / kTurn);
    run_on(options_.threads, [&] {
      std::vector<std::int64_t>& mine = counts[next.fetch_add(1)];
      mine.assign(scores_.size(), 0);
      SegmentSums sums(lattice_);
      for (std::size_t turn; turns.take(turn);) {
        sign_.check();
        for (std::size_t i = turn * kTurn; i < std::min(segments_.size(), (turn + 1) * kTurn); ++i) work(sums, i, mine);
      }
    });
    for (std::size_t t = 1; t < counts.size(); ++t) {
      for (std::size_t i = 0; i < counts[t].size(); ++i) counts[0][i] += counts[t][i];
    }
    return std::move(counts[0]);
  }

  std::size_t length_of(std::size_t segment) const { return segments_.starts[segment + 1] - 1 - segments_.starts[segment]; }

  std::vector<std::int64_t> expect() {
    const auto longest = static_cast<std::size_t>(kMostExponent / -unknown_);
    let_edges_be_worth([](double score) { return std::exp(score); });
    return over_segments([&](SegmentSums& sums, std::size_t i, std::vector<std::int64_t>& expected) {
      if (const std::size_t length = length_of(i); length <= longest) {
        sums.add_expected(segments_.starts[i], length, segments_.counts[i], expected);
      } else {
        sums.add_expected_of_long(segments_.starts[i], length, segments_.counts[i], expected);
      }
    });
  }

  // Estimates scores from expected counts with a sparse prior, which makes rare pieces even rarer.
  void maximize(const std::vector<std::int64_t>& expected) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      if (static_cast<double>(expected[i]) / kUnit < kLeastExpected) is_dropped_[i] = true;
      if (!is_dropped_[i]) sum += expected[i];
    }
    const double of_sum = digamma(static_cast<double>(sum) / kUnit);
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      if (!is_dropped_[i]) scores_[i] = digamma(static_cast<double>(expected[i]) / kUnit) - of_sum;
    }
    forget_dropped();
    weigh();
  }

  // Drops the pieces whose removal costs the least likelihood, and keeps a share of them.
  void prune() {
    let_edges_be_worth([](double score) { return score; });
    const std::vector<std::int64_t> uses = over_segments([&](SegmentSums& sums, std::size_t i, std::vector<std::int64_t>& counts) {
      sums.best(segments_.starts[i], length_of(i), false, [&](std::uint32_t piece) { counts[piece] += segments_.counts[i]; });
    });
    const std::vector<double> losses = losses_by(uses);
    const std::size_t size_before = size();
    std::vector<std::uint32_t> candidates;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      if (is_dropped_[i]) continue;
      if (losses[i] == kWithout) {
        is_dropped_[i] = true;
      } else if (losses[i] == kIndispensable) {
        ++kept;
      } else {
        candidates.push_back(static_cast<std::uint32_t>(i));
      }
    }
    const std::size_t wanted = std::max(options_.pruned_to, static_cast<std::size_t>(options_.kept_share * static_cast<double>(size_before)));
    const std::size_t room = wanted > kept ? wanted - kept : 0;
    if (candidates.size() > room) {
      std::sort(candidates.begin(), candidates.end(), [&](std::uint32_t a, std::uint32_t b) {
        return losses[a] != losses[b] ? losses[a] > losses[b] : a < b;
      });
      for (std::size_t i = room; i < candidates.size(); ++i) is_dropped_[candidates[i]] = true;
    }
    forget_dropped();
    weigh();
  }

  // Drops all but the best pieces. Dropped characters return with the lowest score of all pieces.
  void take_best() {
    std::vector<std::uint32_t> others;
    std::size_t num_characters = segments_.alphabet.size() - 1;
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      if (is_character(i)) {
        if (is_dropped_[i]) scores_[i] = lowest_;
        is_dropped_[i] = false;
      } else {
        others.push_back(static_cast<std::uint32_t>(i));
      }
    }
    const std::size_t room = options_.size - num_characters;
    if (others.size() > room) {
      std::sort(others.begin(), others.end(), [&](std::uint32_t a, std::uint32_t b) {
        return scores_[a] != scores_[b] ? scores_[a] > scores_[b] : a < b;
      });
      for (std::size_t i = room; i < others.size(); ++i) is_dropped_[others[i]] = true;
    }
    forget_dropped();
    weigh();
  }

  static constexpr double kIndispensable = std::numeric_limits<double>::infinity();
  static constexpr double kWithout = -kIndispensable;

  // The loss of log-likelihood without each piece, if all of its uses were replaced by the best alternative segmentation.
  std::vector<double> losses_by(const std::vector<std::int64_t>& uses) const {
    double sum = 0;
    std::int64_t total = 0;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (!is_dropped_[i]) total += uses[i];
    }
    sum = static_cast<double>(total);
    const double log_sum = std::log(sum);
    std::vector<double> losses(scores_.size(), kWithout);
    Turns turns((scores_.size() + kTurn - 1) / kTurn);
    run_on(options_.threads, [&] {
      SegmentSums sums(lattice_);
      std::vector<std::uint32_t> others;
      for (std::size_t turn; turns.take(turn);) {
        sign_.check();
        for (std::size_t i = turn * kTurn; i < std::min(scores_.size(), (turn + 1) * kTurn); ++i) {
          if (is_dropped_[i] || uses[i] == 0) continue;
          if (is_character(i)) {
            losses[i] = kIndispensable;
            continue;
          }
          others.clear();
          const double score = sums.best(positions_[i], lattice_.edges[i].length, true, [&](std::uint32_t piece) { others.push_back(piece); });
          if (score > scores_[i]) continue;
          const auto used = static_cast<double>(uses[i]);
          const double log_sum_without = std::log(sum + used * static_cast<double>(others.size() - 1));
          double without = 0;
          for (std::size_t k = others.size(); k-- > 0;) {
            const double of_other = is_dropped_[others[k]] ? 0 : static_cast<double>(uses[others[k]]);
            without += std::log(of_other + used) - log_sum_without;
          }
          losses[i] = used * (std::log(used) - log_sum - without);
        }
      }
    });
    return losses;
  }

  bool is_character(std::size_t piece) const { return lattice_.edges[piece].length == 1; }

  // Renumbers the remaining pieces. Where the longest piece of a position is gone, the next shorter one takes its place.
  // Characters stay, as unknown ones.
  void forget_dropped() {
    const auto is_gone = [&](std::size_t piece) { return is_dropped_[piece] && !is_character(piece); };
    std::vector<std::uint32_t> number(scores_.size());
    std::uint32_t left = 0;
    for (std::size_t i = 0; i < number.size(); ++i) {
      if (!is_gone(i)) number[i] = left++;
    }
    if (left == number.size()) return;
    for (std::size_t i = 0; i < number.size(); ++i) {
      std::uint32_t piece = static_cast<std::uint32_t>(i);
      while (is_gone(piece)) piece = lattice_.edges[piece].shorter;  // ends at a character
      number[i] = number[piece];
    }
    const auto renumber = [&](std::uint32_t& piece) {
      if (piece != kNone) piece = number[piece];
    };
    for (Edge& edge : lattice_.edges) renumber(edge.shorter);
    for (std::uint32_t& piece : lattice_.longest) renumber(piece);
    for (std::size_t i = 0; i < number.size(); ++i) {
      if (is_gone(i)) continue;
      lattice_.edges[number[i]] = lattice_.edges[i];
      positions_[number[i]] = positions_[i];
      scores_[number[i]] = scores_[i];
      is_dropped_[number[i]] = is_dropped_[i];
    }
    lattice_.edges.resize(left);
    positions_.resize(left);
    scores_.resize(left);
    is_dropped_.resize(left);
  }

  std::vector<std::uint32_t> characters_of(std::size_t piece) const {
    std::vector<std::uint32_t> characters(lattice_.edges[piece].length);
    for (std::size_t i = 0; i < characters.size(); ++i) characters[i] = segments_.alphabet[segments_.codes[positions_[piece] + i]];
    return characters;
  }

  const Segments& segments_;
  UnigramOptions options_;
  const StopSign& sign_;
  Lattice lattice_;
  std::vector<std::uint32_t> positions_;  // by piece, like the members below
  std::vector<double> scores_;
  std::vector<std::uint8_t> is_dropped_;
  double lowest_ = 0, unknown_ = 0;
  unsigned round_ = 0;
};

}  // namespace tokbench::sentencepiece
