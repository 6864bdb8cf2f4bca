// Normalised text → the pieces of the highest sum of scores, in time linear in the text, times the length of the longest piece.
//
// The definition is BestPath::at(): sums as the library makes them, in its order and precision, from the sum that stands before
// the text. Where two sums are the same, the piece that begins first stays. What is added to what is rounded, so that a word can
// be cut in another way behind other words.
//
// BestPath::anywhere() does the same in double precision from 0, and tells for which sums before the word that is what at()
// gives. With n additions on the longest way to a place, the sums that are compared there differ from the true ones by n half
// units in the last place of the largest sum at most: where the best way leads ahead of the second by more than 2n such, it stays.
#pragma once

#include "model.hpp"

namespace tokbench {

// The amounts that the sum before a word must stay below, by level. The largest sum in the word is then below 2 to the power of
// level + 12. Of level 0 there is no such sum: at() has to be asked.
inline constexpr unsigned kLevels = 6;
inline constexpr double kMostExtent = 2000;  // of the largest amount of a sum in a part of a word alone, and of those before it

template <class Real>
inline constexpr std::array<Real, kLevels> kSteadyBelow = {0, 4096, 12288, 28672, 61440, 95900};
template <>
inline constexpr std::array<double, kLevels> kSteadyBelow<double> = {0, 1e9, 1e9, 1e9, 1e9, 1e9};

template <class Real>
class BestPath {
 public:
  explicit BestPath(const UnigramModel<Real>& model) : model_(model) {}

  // Writes the ids of a text to `out`, which has room for one a byte; returns how many. `sum` becomes what stands behind it.
  std::size_t at(Real& sum, Bytes text, Id* out) {
    if (text.empty()) return 0;
    const std::size_t size = text.size();
    if (exact_.size() < size + 1) exact_.resize(size * 2 + 1);
    for (std::size_t i = 1; i <= size; ++i) exact_[i].start = kUnreached;
    exact_[0] = {sum, 0, 0};
    const Real reset = model_.rules().reset, unknown_score = model_.rules().unknown_score;
    const Byte* const first = text.data();
    const Byte* const end = first + size;
    std::size_t frontier = 0, length;
    for (std::size_t start = 0; start < size; start += length) {
      if (std::abs(exact_[start].sum) > reset) [[unlikely]] begin_again(start, frontier);
      const Real before = exact_[start].sum;
      length = std::min(character_length(first[start]), size - start);
      bool is_piece = false;
      std::size_t longest = 0;
      model_.tree().for_each_at(first + start, end, [&](Piece piece, Real score, std::size_t bytes) {
        offer(start, bytes, before + score, piece);
        is_piece |= bytes == length;
        longest = bytes;
      });
      frontier = std::max(frontier, start + longest);
      if (!is_piece) {
        offer(start, length, before + unknown_score, kUnknown);
        frontier = std::max(frontier, start + length);
      }
    }
    sum = exact_[size].sum;
    return written<false>(text, exact_, out, [](std::size_t) {});
  }

  // The same from 0, as words are remembered: with its level in the first id, and with unknown characters counted.
  std::size_t anywhere(Bytes text, Id* out) {
    if (text.empty()) return 0;
    const std::size_t size = text.size();
    if (places_.size() < size + 1) places_.resize(size * 2 + 1);
    for (std::size_t i = 1; i <= size; ++i) places_[i].start = kUnreached;
    places_[0] = {0, 0, 0, 0, 0};
    const double unknown_score = static_cast<double>(model_.rules().unknown_score);
    const Byte* const first = text.data();
    const Byte* const end = first + size;
    double extent = 0;
    std::size_t length;
    for (std::size_t start = 0; start < size; start += length) {
      const double before = places_[start].sum;
      const std::uint32_t additions = places_[start].additions + 1;
      length = std::min(character_length(first[start]), size - start);
      extent = std::max(extent, std::abs(before));
      bool is_piece = false;
      model_.tree().for_each_at(first + start, end, [&](Piece piece, Real score, std::size_t bytes) {
        offer(start, bytes, before + static_cast<double>(score), piece, additions);
        is_piece |= bytes == length;
      });
      if (!is_piece) offer(start, length, before + unknown_score, kUnknown, additions);
    }
    // Sums that lost are below those that won, and no further than a piece's score from one that is known.
    extent = std::max(extent, std::abs(places_[size].sum)) + static_cast<double>(model_.largest_step());
    double margin = std::numeric_limits<double>::infinity();
    const std::size_t count = written<true>(text, places_, out, [&](std::size_t place) {
      margin = std::min(margin, (places_[place].sum - places_[place].second) / (2 * places_[place].additions));
    });
    if (count != 0 && is_told_) out[0] |= level_for(margin, extent) << packed::kLevelShift;
    return count;
  }

 private:
  using Piece = typename PieceTree<Real>::Place;
  static constexpr std::uint32_t kUnreached = 0xFFFFFFFFu;
  static constexpr Piece kUnknown = 0;  // where no piece ends

  struct Exact {
    Real sum;
    std::uint32_t start;  // of the best piece that ends here
    Piece piece;
  };
  struct Place {
    double sum;
    double second;  // the best of the other sums
    std::uint32_t start;
    Piece piece;
    std::uint32_t additions;  // on the way of most pieces
  };
  struct Found {
    std::uint32_t start, stop;
    Id id;
  };

  // The bytes of the character that begins with `lead`, in well-formed text.
  static std::size_t character_length(Byte lead) { return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

  void offer(std::size_t start, std::size_t length, Real sum, Piece piece) {
    Exact& behind = exact_[start + length];
    if (behind.start == kUnreached || sum > behind.sum) behind = {sum, static_cast<std::uint32_t>(start), piece};
  }

  void offer(std::size_t start, std::size_t length, double sum, Piece piece, std::uint32_t additions) {
    Place& behind = places_[start + length];
    if (behind.start == kUnreached) {
      behind = {sum, -std::numeric_limits<double>::infinity(), static_cast<std::uint32_t>(start), piece, additions};
      return;
    }
    behind.additions = std::max(behind.additions, additions);
    if (sum > behind.sum) {
      behind.second = behind.sum;
      behind.sum = sum;
      behind.start = static_cast<std::uint32_t>(start);
      behind.piece = piece;
    } else {
      behind.second = std::max(behind.second, sum);
    }
  }

  // Sums from `start` on, as far as there are any, become smaller by the one there.
  void begin_again(std::size_t start, std::size_t frontier) {
    const Real offset = exact_[start].sum;
    exact_[start].sum = 0;
    for (std::size_t i = start + 1; i <= frontier; ++i) {
      if (exact_[i].start != kUnreached) exact_[i].sum -= offset;
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
  std::size_t written(Bytes text, const Places& places, Id* out, Use use) {
    found_.clear();
    for (auto stop = static_cast<std::uint32_t>(text.size()); stop > 0;) {
      use(stop);
      const auto& place = places[stop];
      if (place.start == kUnreached) throw std::logic_error("no piece ends where a text does");
      const Id id = place.piece == kUnknown ? model_.rules().unknown : model_.tree().id_at(place.piece);
      found_.push_back({place.start, stop, id});
      stop = place.start;
    }
    is_told_ = true;
    Id* const first = out;
    const Id unknown = model_.rules().unknown;
    for (auto token = found_.rbegin(); token != found_.rend(); ++token) {
      if (token->id != unknown) {
        *out++ = token->id;
        continue;
      }
      auto last = token;
      if (!model_.rules().has_byte_fallback || model_.rules().looks_up_unknown) {
        while (last + 1 != found_.rend() && (last + 1)->id == unknown) ++last;
      }
      const auto characters = static_cast<Id>(last - token) + 1;
      if (characters > packed::kMostUnknown || model_.has_doubtful_unknown()) is_told_ = false;
      Id* const first_of_run = out;
      out = write_unknown(text.subspan(token->start, last->stop - token->start), out);
      if constexpr (kPacked) {
        if (is_told_) *first_of_run |= characters << packed::kUnknownShift;
      }
      token = last;
    }
    return static_cast<std::size_t>(out - first);
  }

  // The ids of unknown characters.
  Id* write_unknown(Bytes text, Id* out) const {
    const auto& rules = model_.rules();
    if (rules.looks_up_unknown) {
      if (const Id id = model_.tree().find(text); id != PieceTree<Real>::kNone) {
        *out++ = id;
        return out;
      }
    }
    if (rules.has_byte_fallback) {
      for (const Byte byte : text) *out++ = rules.bytes[byte];
    } else {
      *out++ = rules.unknown;
    }
    return out;
  }

  const UnigramModel<Real>& model_;
  std::vector<Exact> exact_;
  std::vector<Place> places_;
  std::vector<Found> found_;
  bool is_told_ = true;  // whether what is remembered of the last text tells its sum
};

}  // namespace tokbench
