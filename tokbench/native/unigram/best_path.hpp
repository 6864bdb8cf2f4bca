// Normalised text → the pieces of the highest sum of scores, in time linear in the text, times how many pieces end at a place.
//
// The definition is BestPath::at(): sums as the library makes them, in its order and precision, from the sum that stands before
// the text. Where two sums are the same, the piece that begins first stays. What is added to what is rounded, so that a word can
// be cut in another way after other words.
//
// BestPath::behind() gives the same by looking at each place for the pieces that end there, all at once. It leaves to at() what
// may have sums that begin again.
//
// BestPath::anywhere() does so in double precision from 0, and tells for which sums before the word that is what at()
// gives. With n additions on the longest way to a place, the sums that are compared there differ from the true ones by n half
// units in the last place of the largest sum at most: where the best way leads ahead of the second by more than 2n such, it stays.
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
    return written<false>(text, exact_, out, [](std::size_t) {});
  }

  std::size_t behind(Real& sum, const WalkedText& text, Id* out) {
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
        const Real other = exact_[stop - ending->length()].sum + ending->score;
        best.ending = other > best.sum ? number : best.ending;
        best.sum = other > best.sum ? other : best.sum;
      }
      exact_[stop] = best;
    }
    sum = exact_[size].sum;
    return written<false>(text, exact_, out, [](std::size_t) {});
  }

  // The same, as use(ids, start, stop) for each token, in bytes of the text; several ids are the bytes of unknown characters.
  template <class Use>
  void place(Real& sum, const WalkedText& text, Use use) {
    const std::size_t most = text.stops[text.numbers.size()];
    if (ids_.size() < most) ids_.resize(most * 2);
    behind(sum, text, ids_.data());
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

  // The same from 0, as words are remembered: with its level in the first id, and with unknown characters counted.
  std::size_t anywhere(const WalkedText& text, Id* out) {
    const std::size_t size = text.numbers.size();
    if (places_.size() < size + 1) places_.resize(size * 2 + 1);
    places_[0] = {0, 0, 0, 0};
    double extent = 0;
    for (std::size_t stop = 1; stop <= size; ++stop) {
      std::uint32_t number = text.endings[stop - 1];
      const auto* ending = &automaton_.ending(number);
      const Place* before = &places_[stop - ending->length()];
      Place best{before->sum + static_cast<double>(ending->score), -std::numeric_limits<double>::infinity(), before->additions, number};
      while (!ending->is_last()) {
        ending = &automaton_.ending(++number);
        before = &places_[stop - ending->length()];
        const double other = before->sum + static_cast<double>(ending->score);
        best.additions = std::max(best.additions, before->additions);
        best.second = std::max(best.second, std::min(best.sum, other));
        best.ending = other > best.sum ? number : best.ending;
        best.sum = std::max(best.sum, other);
      }
      ++best.additions;
      extent = std::max(extent, std::abs(best.sum));
      places_[stop] = best;
    }
    // Sums that lost are below those that won, and no further than a piece's score from one that is known.
    extent += static_cast<double>(model_.largest_step());
    double margin = std::numeric_limits<double>::infinity();
    const std::size_t count = written<true>(text, places_, out, [&](std::size_t stop) {
      margin = std::min(margin, (places_[stop].sum - places_[stop].second) / (2 * places_[stop].additions));
    });
    if (count != 0 && is_told_) out[0] |= level_for(margin, extent) << packed::kLevelShift;
    return count;
  }

 private:
  using Automaton = PieceAutomaton<Real>;
  static constexpr std::uint32_t kUnreached = 0xFFFFFFFFu;
  static constexpr std::uint32_t kUnknown = 0;  // the number of the ending that is no piece

  // At each place between characters: the best sum, and what ends there.
  struct Exact {
    Real sum;
    std::uint32_t ending;
  };
  struct Place {
    double sum;
    double second;  // the best of the other sums
    std::uint32_t additions;  // on the way of most pieces
    std::uint32_t ending;
  };
  struct Found {
    std::size_t start, stop;
    Id id;
  };

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

  // Writes the ids of the best way, which is walked from its end; use(place) is told of each place on it.
  template <bool kPacked, class Places, class Use>
  std::size_t written(const WalkedText& text, const Places& places, Id* out, Use use) {
    found_.clear();
    for (std::size_t stop = text.numbers.size(); stop > 0;) {
      use(stop);
      const auto& ending = automaton_.ending(places[stop].ending);
      found_.push_back({stop - ending.length(), stop, ending.id});
      stop -= ending.length();
    }
    is_told_ = true;
    Id* const first = out;
    for_each_token([&](std::size_t start, std::size_t stop, std::size_t tokens, Id id) {
      if (id != model_.rules().unknown) {
        *out++ = id;
        return;
      }
      const auto characters = static_cast<Id>(tokens);
      if (characters > packed::kMostUnknown || model_.has_doubtful_unknown()) is_told_ = false;
      Id* const first_of_run = out;
      out = write_unknown(text, start, stop, out);
      if constexpr (kPacked) {
        if (is_told_) *first_of_run |= characters << packed::kUnknownShift;
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
  std::vector<Place> places_;
  std::vector<Found> found_;
  std::vector<Id> ids_;
  bool is_told_ = true;  // whether what is remembered of the last text tells its sum
};

}  // namespace tokbench
