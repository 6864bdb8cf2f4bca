// A Unigram vocabulary: its pieces and scores, and how its library treats unknown characters.
#pragma once

#include <cmath>
#include <limits>
#include <optional>

#include "part_cuts.hpp"
#include "piece_automaton.hpp"

namespace tokbench {

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // ▁
inline constexpr std::uint32_t kMark = 0x2581;

// The packed form in which the ids of a word are remembered, with all that the sum of scores needs.
//
//   bits    0-22    23-28                                29-31
//           id      number of unknown characters that    first id of a word: level up to which its segmentation
//                   the token stands for (0: a piece)    holds (kSteadyBelow); other ids: 0
namespace packed {
inline constexpr unsigned kUnknownShift = 23, kLevelShift = 29;
inline constexpr Id kMostIds = Id{1} << kUnknownShift;
inline constexpr Id kIdMask = kMostIds - 1;
inline constexpr Id kLevelMask = ~Id{0} << kLevelShift;
inline constexpr Id kMostUnknown = (Id{1} << (kLevelShift - kUnknownShift)) - 1;
inline Id id_of(Id number) { return number & kIdMask; }
inline Id unknown_of(Id number) { return number >> kUnknownShift & kMostUnknown; }
inline unsigned level_of(Id number) { return number >> kLevelShift; }
}  // namespace packed

template <class Real>
struct UnigramRules {
  Id unknown = 0;                        // id of the unknown token
  Real unknown_score = 0;                // score of an unknown character
  bool has_byte_fallback = false;
  std::array<Id, 256> bytes{};           // ids of the byte tokens, with byte fallback
  bool looks_up_unknown = false;         // a run of unknown characters is looked up as one piece
  Real reset = std::numeric_limits<Real>::infinity();  // absolute sum at which the library starts again from 0
};

template <class Real>
class UnigramModel {
 public:
  using Rules = UnigramRules<Real>;
  using Automaton = PieceAutomaton<Real>;
  using Piece = typename Automaton::Piece;
  static constexpr typename Automaton::Number kRewritten = 0xFFFFFFFFu;

  // `rewritten` lists the characters that normalization may change. Words without them are segmented as they stand in the text;
  // without the list, every word is normalized first.
  UnigramModel(std::span<const Piece> pieces, const Rules& rules, const std::optional<std::vector<std::uint32_t>>& rewritten)
      : rules_(rules), automaton_((check(pieces), pieces), rules.unknown, rules.unknown_score) {
    Id most = rules.unknown;
    for (const auto& piece : pieces) most = std::max(most, piece.id);
    if (rules.has_byte_fallback) most = std::max(most, *std::ranges::max_element(rules.bytes));
    if (most >= packed::kMostIds) throw std::length_error("an id is too large");
    scores_.resize(std::size_t{most} + 1);
    sizes_.resize(scores_.size());
    largest_step_ = std::abs(rules.unknown_score);
    for (const auto& piece : pieces) {
      scores_[piece.id] = piece.score;
      sizes_[piece.id] = static_cast<std::uint32_t>(piece.text.size());
      largest_step_ = std::max(largest_step_, std::abs(piece.score));
      has_doubtful_unknown_ |= piece.id == rules.unknown;
    }
    has_doubtful_unknown_ |= rules.looks_up_unknown && rules.has_byte_fallback;
    const std::uint32_t mark[] = {automaton_.number_of(kMark)};
    if (!rewritten || automaton_.find(mark) == Automaton::kNone) return;
    raw_numbers_ = automaton_.numbers();
    raw_numbers_.at(' ') = mark[0];
    raw_numbers_.at(kMark) = raw_numbers_.at(CodePoint::kNoCharacter) = kRewritten;
    for (const std::uint32_t one : *rewritten) raw_numbers_.at(one) = kRewritten;
    std::vector<std::string_view> texts;
    texts.reserve(pieces.size());
    for (const Piece& piece : pieces) texts.push_back(piece.text);
    part_cuts_ = PartCuts(texts);
  }

  const Rules& rules() const { return rules_; }
  const Automaton& automaton() const { return automaton_; }

  // The number of a character of raw text, in which a space stands for ▁; kRewritten if normalization may change it.
  typename Automaton::Number raw_number_of(std::uint32_t code_point) const { return raw_numbers_[code_point]; }

  const PartCuts& part_cuts() const { return part_cuts_; }

  // The largest absolute score of a token.
  Real largest_step() const { return largest_step_; }

  // The number of bytes of a piece; 0 for an id without a piece.
  std::uint32_t piece_size(Id id) const { return id < sizes_.size() ? sizes_[id] : 0; }

  // Whether the ids of unknown characters do not determine their score.
  bool has_doubtful_unknown() const { return has_doubtful_unknown_; }

  // Whether a run of unknown characters is a single unknown token whose packed id determines its score.
  bool has_plain_unknown() const { return !has_doubtful_unknown_ && !rules_.has_byte_fallback && !rules_.looks_up_unknown; }

  // The sum after adding the score of a packed id.
  Real added(Real sum, Id number) const {
    const Id unknown = packed::unknown_of(number);
    if (unknown == 0) [[likely]] return sum + scores_[packed::id_of(number)];
    for (Id i = 0; i < unknown; ++i) sum += rules_.unknown_score;
    return sum;
  }

 private:
  static void check(std::span<const Piece> pieces) {
    for (const auto& piece : pieces) {
      if (!std::isfinite(piece.score)) throw std::invalid_argument("a score is no number");
    }
  }

  Rules rules_;
  Automaton automaton_;
  CharacterTable<typename Automaton::Number> raw_numbers_{kRewritten};
  PartCuts part_cuts_;
  Real largest_step_ = 0;
  bool has_doubtful_unknown_ = false;
  std::vector<std::uint32_t> sizes_;
  std::vector<Real> scores_;  // by id; 0 for ids without a piece
};

}  // namespace tokbench
