// Finds the segmentation of a normalized text with the highest sum of scores (Viterbi). Time is linear in the length of the text
// times the number of pieces that end at a position.
//
// at() is the definition: it adds scores in the library's order and precision, starting from the sum of all text before. Of equal
// sums, the one whose last piece begins first wins. Because every addition rounds, the same word can be segmented differently
// after different text.
//
// after() computes the same, but visits each position once with all the pieces that end there. It falls back to at() where the
// running sum may reach the limit at which the library starts again from 0.
//
// anywhere() works in double precision from a sum of 0, and reports for which preceding sums at() gives the same segmentation.
// A path to a position has at most n additions, n being the number of characters before it, so rounding moves a sum by at most
// n half units in the last place of the largest sum. A best path that leads by more than 2n of these remains the best one.
#pragma once

#include "walked_texts.hpp"

namespace tokbench {

// For each level, the bound below which the absolute value of the preceding sum must lie for a remembered segmentation to hold.
// All sums within the word are then below 2^(level + 12). Level 0 holds for no sum: at() must be called.
inline constexpr unsigned kLevels = 6;
inline constexpr double kMostExtent = 2000;  // largest absolute sum within a word that starts at 0

template <class Real>
inline constexpr std::array<Real, kLevels> kSteadyBelow = {0, 4096, 12288, 28672, 61440, 95900};
template <>
inline constexpr std::array<double, kLevels> kSteadyBelow<double> = {0, 1e9, 1e9, 1e9, 1e9, 1e9};

template <class Real>
class BestPath {
 public:
  explicit BestPath(const UnigramModel<Real>& model) : model_(model), automaton_(model.automaton()) {}

  // Writes the ids of the text to `out`, which must have room for one id per byte, and returns their number. `sum` is the sum
  // before the text, and is updated to the sum after it.
  std::size_t at(Real& sum, const WalkedText& text, Id* out) {
    const std::size_t size = text.numbers.size();
    if (exact_.size() < size + 1) exact_.resize(size * 2 + 1);
    for (std::size_t i = 1; i <= size; ++i) exact_[i].ending = kUnreached;
    exact_[0].sum = sum;
    const Real reset = model_.rules().reset, unknown_score = model_.rules().unknown_score;
    std::size_t frontier = 0;
    for (std::size_t start = 0; start < size; ++start) {
      if (std::abs(exact_[start].sum) > reset) [[unlikely]] begin_again(start, frontier);
      const Real before = exact_[start].sum;
      bool is_piece = false;
      automaton_.for_each_at(text.numbers.subspan(start), [&](std::uint32_t ending, std::uint32_t length) {
        offer(start + length, before + automaton_.ending(ending).score, ending);
        frontier = std::max(frontier, start + length);
        is_piece |= length == 1;
      });
      if (!is_piece) offer(start + 1, before + unknown_score, kUnknown);
      frontier = std::max(frontier, start + 1);
    }
    sum = exact_[size].sum;
    return written<false>(text, exact_.data(), out, [](std::size_t) {});
  }

  std::size_t after(Real& sum, const WalkedText& text, Id* out) {
    const std::size_t size = text.numbers.size();
    if (reaches_reset(sum, size)) return at(sum, text, out);
    if (exact_.size() < size + 1) exact_.resize(size * 2 + 1);
    exact_[0].sum = sum;
    for (std::size_t stop = 1; stop <= size; ++stop) {
      std::uint32_t number = text.endings[stop - 1];
      const auto* ending = &automaton_.ending(number);
      Exact best{exact_[stop - ending->length()].sum + ending->score, number};
      while (!ending->is_last()) {
        ending = &automaton_.ending(++number);
        if (!ending->is_real()) break;
        const Real other = exact_[stop - ending->length()].sum + ending->score;
        best.ending = other >= best.sum ? number : best.ending;
        best.sum = other >= best.sum ? other : best.sum;
      }
      exact_[stop] = best;
    }
    sum = exact_[size].sum;
    return written<false>(text, exact_.data(), out, [](std::size_t) {});
  }

  // Like after(), but calls use(ids, start, stop) for each token, with byte offsets into the text. A token has several ids where
  // unknown characters fall back to bytes.
  template <class Use>
  void place(Real& sum, const WalkedText& text, Use use) {
    const std::size_t most = text.stops[text.numbers.size()];
    if (ids_.size() < most) ids_.resize(most * 2);
    after(sum, text, ids_.data());
    for_each_token([&](std::size_t start, std::size_t stop, std::size_t, Id id) {
      std::size_t count = 1;
      if (id == model_.rules().unknown) {
        count = static_cast<std::size_t>(write_unknown(text, start, stop, ids_.data()) - ids_.data());
      } else {
        ids_[0] = id;
      }
      use(std::span<const Id>(ids_.data(), count), text.stops[start], text.stops[stop]);
    });
  }

  // Computes the best paths of all texts from a sum of 0, for anywhere(). Each sum depends on the one before it, so the processor
  // overlaps this work with that of the next text; paths are traced back later.
  void look_at(const WalkedTexts<Real>& texts) {
    if (const std::size_t most = texts.num_places() + kPlacesBefore; sums_.size() < most) {
      sums_.resize(most * 2);
      leads_.resize(most * 2);
      steps_.resize(most * 2);
    }
    extents_.clear();
    for (std::size_t i = 0; i < texts.size(); ++i) extents_.push_back(look_at(texts[i]));
  }

  // Returns the ids of one of these texts in the packed form of model.hpp, with the level in the first id. They are valid until
  // the next call.
  std::span<const Id> anywhere(const WalkedTexts<Real>& texts, std::size_t number) {
    const WalkedText text = texts[number];
    const Step* const steps = steps_.data() + kPlacesBefore + text.first;
    const double* const leads = leads_.data() + kPlacesBefore + text.first;
    double margin = std::numeric_limits<double>::infinity();
    const auto use = [&](std::size_t stop) { margin = std::min(margin, leads[stop] / static_cast<double>(2 * stop)); };
    if (const std::size_t most = text.stops.back() + kSpaceMark.size(); ids_.size() < most) ids_.resize(most * 2);
    std::span<Id> ids = written_backwards(text, steps, use);
    if (ids.empty()) ids = {ids_.data(), written<true>(text, steps, ids_.data(), use)};
    if (!ids.empty() && is_sum_known_) ids[0] |= level_for(margin, extents_[number]) << packed::kLevelShift;
    return ids;
  }

 private:
  using Automaton = PieceAutomaton<Real>;
  using Ending = typename Automaton::Ending;
  static constexpr std::uint32_t kUnreached = 0xFFFFFFFFu;
  static constexpr std::uint32_t kUnknown = 0;  // index of the ending that stands for an unknown character

  // The best sum at a position between characters, and the ending that gives it.
  struct Exact {
    Real sum;
    std::uint32_t ending;
  };
  // The last token of the best path to a position.
  struct Step {
    Id id;
    std::uint32_t length;
  };
  struct Best {
    double sum;
    double second;  // the second best sum
    Step step;
  };
  static constexpr std::size_t kPlacesBefore = 1;  // padding: the dummy ending may begin before the text
  struct Found {
    std::size_t start, stop;
    Id id;
  };

  // Computes the best path of one text; returns a bound on the absolute value of its sums.
  double look_at(const WalkedText& text) {
    const std::size_t first = kPlacesBefore + text.first;
    double* const sums = sums_.data() + first;
    double* const leads = leads_.data() + first;
    Step* const steps = steps_.data() + first;
    sums[0] = 0;
    double sum = 0, extent = 0;
    for (std::size_t stop = 1; stop <= text.numbers.size(); ++stop) {
      const Ending *const one = &automaton_.ending(text.endings[stop - 1]), *other = one + 1;
      const double with_one = sum + static_cast<double>(one->score);
      const double with_other = sums[stop - other->length()] + static_cast<double>(other->score);
      // Branch-free, because the winner cannot be predicted.
      const std::uint32_t if_other = 0 - static_cast<std::uint32_t>(with_other > with_one);
      Best best{std::max(with_one, with_other), std::min(with_one, with_other),
                {one->id ^ ((one->id ^ other->id) & if_other), 1 + ((other->length() - 1) & if_other)}};
      while (!other->is_last()) [[unlikely]] {
        add(sums, stop, *++other, best);
        add(sums, stop, *++other, best);
      }
      sums[stop] = sum = best.sum;
      leads[stop] = best.sum - best.second;
      steps[stop] = best.step;
      extent = std::max(extent, std::abs(sum));
    }
    // A losing sum is below the winning one, and at most one piece's score away from a winning sum.
    return extent + static_cast<double>(model_.largest_step());
  }

  // Takes one more ending into account.
  static void add(const double* sums, std::size_t stop, const Ending& ending, Best& best) {
    const double sum = sums[stop - ending.length()] + static_cast<double>(ending.score);
    best.second = std::max(best.second, std::min(best.sum, sum));
    best.step = sum > best.sum ? Step{ending.id, ending.length()} : best.step;
    best.sum = std::max(best.sum, sum);
  }

  // Whether any sum within the text may reach the reset limit; 1 % covers the rounding.
  bool reaches_reset(Real sum, std::size_t size) const {
    const double most = std::abs(static_cast<double>(sum)) + static_cast<double>(size) * static_cast<double>(model_.largest_step());
    return most * 1.01 >= static_cast<double>(model_.rules().reset);
  }

  void offer(std::size_t stop, Real sum, std::uint32_t ending) {
    Exact& there = exact_[stop];
    if (there.ending == kUnreached || sum > there.sum) there = {sum, ending};
  }

  // Subtracts the sum at `start` from all sums from there on, as the library does to keep its precision.
  void begin_again(std::size_t start, std::size_t frontier) {
    const Real offset = exact_[start].sum;
    exact_[start].sum = 0;
    for (std::size_t i = start + 1; i <= frontier; ++i) {
      if (exact_[i].ending != kUnreached) exact_[i].sum -= offset;
    }
  }

  static Id level_for(double margin, double extent) {
    if (!(extent < kMostExtent)) return 0;
    Id level = kLevels - 1;
    while (level > 0 && !(std::ldexp(1.0, static_cast<int>(level) - 13) + 1e-9 < margin)) --level;
    return level;
  }

  Step step_of(const Exact& place) const {
    const Ending& ending = automaton_.ending(place.ending);
    return {ending.id, ending.length()};
  }
  static Step step_of(const Step& step) { return step; }

  // Writes the ids of the best path at the end of ids_, last one first. Returns nothing where unknown characters need written().
  template <class Use>
  std::span<Id> written_backwards(const WalkedText& text, const Step* steps, const Use& use) {
    const Id unknown = model_.rules().unknown;
    Id* const after = ids_.data() + ids_.size();
    Id* first = after;
    for (std::size_t stop = text.numbers.size(); stop > 0;) {
      use(stop);
      const Id id = steps[stop].id;
      stop -= steps[stop].length;
      *--first = id;
      if (id != unknown) [[likely]] continue;
      if (!model_.has_plain_unknown()) return {};
      Id characters = 1;
      for (; stop > 0 && steps[stop].id == unknown; --stop) {
        use(stop);
        ++characters;
      }
      if (characters > packed::kMostUnknown) return {};
      *first |= characters << packed::kUnknownShift;
    }
    is_sum_known_ = true;
    return {first, after};
  }

  // Traces the best path back from its end and writes its ids to `out`; calls use(position) for each token boundary on it.
  template <bool kPacked, class Place, class Use>
  std::size_t written(const WalkedText& text, const Place* places, Id* out, Use use) {
    found_.clear();
    for (std::size_t stop = text.numbers.size(); stop > 0;) {
      use(stop);
      const Step step = step_of(places[stop]);
      found_.push_back({stop - step.length, stop, step.id});
      stop -= step.length;
    }
    is_sum_known_ = true;
    Id* const first = out;
    for_each_token([&](std::size_t start, std::size_t stop, std::size_t tokens, Id id) {
      if (id != model_.rules().unknown) {
        *out++ = id;
        return;
      }
      const auto characters = static_cast<Id>(tokens);
      if (characters > packed::kMostUnknown || model_.has_doubtful_unknown()) is_sum_known_ = false;
      Id* const first_of_run = out;
      out = write_unknown(text, start, stop, out);
      if constexpr (kPacked) {
        if (is_sum_known_) *first_of_run |= characters << packed::kUnknownShift;
      }
    });
    return static_cast<std::size_t>(out - first);
  }

  // Calls use(start, stop, tokens, id) for each token of the traced path. Adjacent unknown tokens are joined where the model
  // encodes them as one.
  template <class Use>
  void for_each_token(Use use) const {
    const Id unknown = model_.rules().unknown;
    for (auto token = found_.rbegin(); token != found_.rend(); ++token) {
      auto last = token;
      if (token->id == unknown && (!model_.rules().has_byte_fallback || model_.rules().looks_up_unknown)) {
        while (last + 1 != found_.rend() && (last + 1)->id == unknown) ++last;
      }
      use(token->start, last->stop, static_cast<std::size_t>(last - token) + 1, token->id);
      token = last;
    }
  }

  // Writes the ids of a run of unknown characters: one piece, their bytes, or the unknown token.
  Id* write_unknown(const WalkedText& text, std::size_t start, std::size_t stop, Id* out) const {
    const auto& rules = model_.rules();
    if (rules.looks_up_unknown) {
      if (const Id id = automaton_.find(text.numbers.subspan(start, stop - start)); id != Automaton::kNone) {
        *out++ = id;
        return out;
      }
    }
    if (rules.has_byte_fallback) {
      for (std::size_t i = text.stops[start]; i < text.stops[stop]; ++i) *out++ = rules.bytes[text.bytes[i]];
    } else {
      *out++ = rules.unknown;
    }
    return out;
  }

  const UnigramModel<Real>& model_;
  const Automaton& automaton_;
  std::vector<Exact> exact_;
  std::vector<double> sums_, leads_;  // per position, of all texts
  std::vector<Step> steps_;
  std::vector<double> extents_;       // per text: the largest absolute sum
  std::vector<Found> found_;
  std::vector<Id> ids_;
  bool is_sum_known_ = true;  // whether the packed ids of the last text determine its sum
};

}  // namespace tokbench
