// Normalized text → the pieces of the highest sum of scores, in time linear in the text, times how many pieces end at a place.
//
// The definition is BestPath::at(): sums as the library makes them, in its order and precision, from the sum that stands before
// the text. Where two sums are the same, the piece that begins first stays. What is added to what is rounded, so that a word can
// be cut in another way after other words.
//
// BestPath::after() gives the same by looking at each place for the pieces that end there, all at once. It leaves to at() what
// may have sums that begin again.
//
// BestPath::anywhere() does so in double precision from 0, and tells for which sums before the word that is what at()
// gives. On the longest way to a place, that of single characters, there are as many additions as characters, n: the sums that
// are compared there differ from the true ones by n half units in the last place of the largest sum at most. Where the best way
// leads ahead of the second by more than 2n such, it stays.
#pragma once

#include "walked_texts.hpp"

namespace tokbench {

// The amounts that the sum before a word must stay below, by level. The largest sum in the word is then below 2 to the power of
// level + 12. Of level 0 there is no such sum: at() has to be asked.
inline constexpr unsigned kLevels = 6;
inline constexpr double kMostExtent = 2000;  // of the largest amount of a sum in a word alone

template <class Real>
inline constexpr std::array<Real, kLevels> kSteadyBelow = {0, 4096, 12288, 28672, 61440, 95900};
template <>
inline constexpr std::array<double, kLevels> kSteadyBelow<double> = {0, 1e9, 1e9, 1e9, 1e9, 1e9};

template <class Real>
class BestPath {
 public:
  explicit BestPath(const UnigramModel<Real>& model) : model_(model), automaton_(model.automaton()) {}

  // Writes the ids of the text to `out`, which has room for one a byte; returns how many. `sum` becomes what stands after it.
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

  // The same, as use(ids, start, stop) for each token, in bytes of the text; several ids are the bytes of unknown characters.
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

  // Looks for the best ways through texts from 0, for anywhere(). A processor begins with the next text while the sums of one
  // wait for each other; ways are walked back later.
  void look_at(const WalkedTexts<Real>& texts) {
    if (const std::size_t most = texts.num_places() + kPlacesBefore; sums_.size() < most) {
      sums_.resize(most * 2);
      leads_.resize(most * 2);
      steps_.resize(most * 2);
    }
    extents_.clear();
    for (std::size_t i = 0; i < texts.size(); ++i) extents_.push_back(look_at(texts[i]));
  }

  // The ids of one of them, as words are remembered: with its level in the first id, and with unknown characters counted. They
  // stay until the next call.
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
  static constexpr std::uint32_t kUnknown = 0;  // the number of the ending that is no piece

  // At each place between characters: the best sum, and what ends there.
  struct Exact {
    Real sum;
    std::uint32_t ending;
  };
  // What is best at a place.
  struct Step {
    Id id;
    std::uint32_t length;
  };
  struct Best {
    double sum;
    double second;  // the best of the other sums
    Step step;
  };
  static constexpr std::size_t kPlacesBefore = 1;  // where an ending that is none may begin
  struct Found {
    std::size_t start, stop;
    Id id;
  };

  // Returns a bound of the amounts of its sums.
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
      // Nobody foretells which is the better one: there is no branch.
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
    // Sums that lost are below those that won, and no further than a piece's score from one that is known.
    return extent + static_cast<double>(model_.largest_step());
  }

  // One more ending.
  static void add(const double* sums, std::size_t stop, const Ending& ending, Best& best) {
    const double sum = sums[stop - ending.length()] + static_cast<double>(ending.score);
    best.second = std::max(best.second, std::min(best.sum, sum));
    best.step = sum > best.sum ? Step{ending.id, ending.length()} : best.step;
    best.sum = std::max(best.sum, sum);
  }

  // Whether some sum after this one may, with all that was rounded.
  bool reaches_reset(Real sum, std::size_t size) const {
    const double most = std::abs(static_cast<double>(sum)) + static_cast<double>(size) * static_cast<double>(model_.largest_step());
    return most * 1.01 >= static_cast<double>(model_.rules().reset);
  }

  void offer(std::size_t stop, Real sum, std::uint32_t ending) {
    Exact& there = exact_[stop];
    if (there.ending == kUnreached || sum > there.sum) there = {sum, ending};
  }

  // Sums from `start` on, as far as there are any, become smaller by the one there.
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

  // Writes the ids of the best way at the end of ids_. None where written() has to be asked, as that is about unknown characters.
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

  // Writes the ids of the best way, which is walked from its end; use(place) is called for each place on it.
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

  // Calls use(start, stop, tokens, id) for each token that was found, with unknown ones side by side as one where they are.
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

  // The ids of unknown characters.
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
  std::vector<double> sums_, leads_;  // at the places of all texts
  std::vector<Step> steps_;
  std::vector<double> extents_;       // of each text
  std::vector<Found> found_;
  std::vector<Id> ids_;
  bool is_sum_known_ = true;  // whether what is remembered of the last text tells its sum
};

}  // namespace tokbench
