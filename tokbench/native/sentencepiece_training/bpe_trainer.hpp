// Trains BPE over the characters of segments as SentencePiece does: merges the most frequent pair that may be a piece; of
// equally frequent pairs the shorter, then the alphabetically smaller one. A pair whose spelling is already a piece is not
// merged.
//
// Once no pair is left in the text, pairs that no longer occur become pieces as well, including pairs that existed only for a
// moment, while the occurrences of a pair were merged from left to right.
//
// Source: bpe_model_trainer.cc of sentencepiece 0.2.3. It leaves to chance which of two equally frequent pairs with the same
// spelling is merged, such as "a" + "bc" and "ab" + "c"; here it is the one whose left part was learned first.
#pragma once

#include <compare>
#include <string>
#include <unordered_set>

#include "segments.hpp"
#include "stopping.hpp"
#include "training/frequency_trainer.hpp"

namespace tokbench::sentencepiece {

// The characters of all symbols.
class Spellings {
 public:
  explicit Spellings(const std::vector<std::uint32_t>& alphabet) {
    for (const std::uint32_t c : alphabet) {
      characters_.push_back(c);
      ends_.push_back(characters_.size());
    }
  }

  Id joined(Id left, Id right) {
    for (const Id part : {left, right}) {
      for (std::size_t i = start(part); i < ends_[part]; ++i) characters_.push_back(characters_[i]);
    }
    ends_.push_back(characters_.size());
    return static_cast<Id>(ends_.size() - 1);
  }

  Characters of(Id symbol) const { return {characters_.data() + start(symbol), ends_[symbol] - start(symbol)}; }

  void write(Id left, Id right, std::vector<std::uint32_t>& characters) const {
    const Characters first = of(left), second = of(right);
    characters.assign(first.begin(), first.end());
    characters.insert(characters.end(), second.begin(), second.end());
  }

  // Compares the concatenated characters of two pairs of symbols.
  std::strong_ordering compare(Id left, Id right, Id other_left, Id other_right) const {
    const Characters parts[] = {of(left), of(right)}, others[] = {of(other_left), of(other_right)};
    std::size_t i = 0, j = 0;  // index of the part, and position in it
    std::size_t at = 0, other_at = 0;
    for (;;) {
      if (i < 2 && at == parts[i].size()) ++i, at = 0;
      if (j < 2 && other_at == others[j].size()) ++j, other_at = 0;
      if (i == 2 || j == 2) return (i == 2 ? 0 : 1) <=> (j == 2 ? 0 : 1);
      const auto order = parts[i][at++] <=> others[j][other_at++];
      if (order != 0) return order;
    }
  }

 private:
  std::size_t start(Id symbol) const { return symbol == 0 ? 0 : ends_[symbol - 1]; }

  std::vector<std::uint32_t> characters_;
  std::vector<std::size_t> ends_;
};

using Pair = std::pair<Id, Id>;

// The Preference of FrequencyTrainer: which pairs may be pieces, and the order of equally frequent ones.
struct PiecePreference {
  const Spellings* spellings;
  const PieceRules* rules;
  std::vector<Pair>* met;  // collects every pair that may be a piece; may be null
  mutable std::vector<std::uint32_t> characters{};

  bool is_first(Id left, Id right, Id other_left, Id other_right) const {
    const std::size_t size = spellings->of(left).size() + spellings->of(right).size();
    const std::size_t other_size = spellings->of(other_left).size() + spellings->of(other_right).size();
    if (size != other_size) return size < other_size;
    const auto order = spellings->compare(left, right, other_left, other_right);
    return order != 0 ? order < 0 : SmallestIds().is_first(left, right, other_left, other_right);
  }

  bool wants(Id left, Id right) const {
    spellings->write(left, right, characters);
    const bool is_piece = rules->allow(characters);
    if (is_piece && met != nullptr) met->emplace_back(left, right);
    return is_piece;
  }
};

struct BpeOptions {
  std::size_t num_pieces;  // not counting characters
  unsigned threads;        // does not affect the result
};

class BpeTrainer {
 public:
  BpeTrainer(const Segments& segments, const PieceRules& rules, BpeOptions options, const StopSign& sign)
      : segments_(segments), rules_(rules), options_(options), sign_(sign), spellings_(segments.alphabet) {}

  // Returns the pieces in the order in which they are learned; calls report(number of pieces) at intervals.
  template <class Report>
  std::vector<std::vector<std::uint32_t>> train(const Report& report) {
    if (segments_.alphabet.size() + options_.num_pieces <= (std::size_t{1} << 16)) {
      train_with<std::uint16_t>(report);
    } else {
      train_with<std::uint32_t>(report);
    }
    report(pieces_.size());
    return std::move(pieces_);
  }

 private:
  static constexpr std::size_t kReportedTogether = 128;
  static constexpr std::uint64_t kSeedOfPairs = 0xB9E;
  static constexpr std::size_t kSoMany = std::size_t{1} << 40;  // as the expected number of merges: no pair is too rare then

  template <class Symbol, class Report>
  void train_with(const Report& report) {
    std::vector<Symbol> symbols;
    const auto source = [&](const auto& sink) {
      for (std::size_t segment = 0; segment < segments_.size(); ++segment) {
        symbols.clear();
        for (std::size_t i = segments_.starts[segment]; i + 1 < segments_.starts[segment + 1]; ++i) {
          symbols.push_back(static_cast<Symbol>(segments_.codes[i]));
        }
        sink(std::span<const Symbol>(symbols), segments_.counts[segment]);
      }
    };
    if (PairMerger<Symbol>::has_room_for(source, segments_.size())) {
      train_on<Symbol, 1>(source, report);
    } else {
      train_on<Symbol, kWideStep>(source, report);
    }
  }

  template <class Symbol, std::size_t kStep, class Source, class Report>
  void train_on(const Source& source, const Report& report) {
    using Trainer = FrequencyTrainer<Symbol, kStep, PiecePreference>;
    const auto learn_all = [&](std::size_t guess, std::vector<Pair>* met) {
      learn(Trainer(source, {segments_.alphabet.size(), guess, 1, rules_.options().longest, kSeedOfPairs, options_.threads},
                    std::vector<std::size_t>(segments_.alphabet.size(), 1), PiecePreference{&spellings_, &rules_, met}),
            report);
    };
    learn_all(options_.num_pieces, nullptr);
    if (pieces_.size() == options_.num_pieces) return;
    // No pair is left in the text. Start again with all rare pairs followed from the beginning, so that none is missed.
    spellings_ = Spellings(segments_.alphabet);
    pieces_.clear();
    taken_.clear();
    std::vector<Pair> met;
    learn_all(kSoMany, &met);
    std::ranges::sort(met);
    met.erase(std::ranges::unique(met).begin(), met.end());
    const PiecePreference preference{&spellings_, &rules_, nullptr};
    std::ranges::sort(met, [&](const Pair& one, const Pair& other) {
      return preference.is_first(one.first, one.second, other.first, other.second);
    });
    for (const auto& [left, right] : met) {
      if (pieces_.size() == options_.num_pieces) return;
      if (take(left, right)) pieces_.push_back(spelled(left, right));
    }
  }

  template <class Trainer, class Report>
  void learn(Trainer trainer, const Report& report) {
    const auto make = [&](Id left, Id right, std::int64_t) {
      pieces_.push_back(spelled(left, right));
      return MadeSymbol{spellings_.joined(left, right), true};
    };
    while (pieces_.size() < options_.num_pieces && trainer.step(make, [&](Id left, Id right) { return take(left, right); })) {
      if (pieces_.size() % kReportedTogether == 0) {
        sign_.check();
        report(pieces_.size());
      }
    }
  }

  // Registers the spelling of a pair as a piece; returns false if it already is one.
  bool take(Id left, Id right) {
    const std::vector<std::uint32_t> characters = spelled(left, right);
    return taken_.emplace(characters.begin(), characters.end()).second;
  }

  std::vector<std::uint32_t> spelled(Id left, Id right) const {
    std::vector<std::uint32_t> characters;
    spellings_.write(left, right, characters);
    return characters;
  }

  const Segments& segments_;
  const PieceRules& rules_;
  BpeOptions options_;
  const StopSign& sign_;
  Spellings spellings_;
  std::vector<std::vector<std::uint32_t>> pieces_;
  std::unordered_set<std::u32string> taken_;
};

}  // namespace tokbench::sentencepiece
