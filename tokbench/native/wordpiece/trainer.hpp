// Trains a WordPiece from counted words: starts from characters, with the prefix inside words, and joins pairs of pieces.
//
// The spelling of two joined pieces may already exist, as a special token or because words contain the characters of the
// prefix. The existing piece then keeps its id, and does not count as a new piece.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "characters.hpp"
#include "training/likelihood_trainer.hpp"
#include "training/pretoken_counts.hpp"

namespace tokbench {

enum class Objective : std::uint8_t { Frequency, Likelihood };

struct PieceOptions {
  std::size_t num_pieces;  // wanted number of pieces in total
  Objective objective;
  std::int64_t min_frequency;  // at least 1
  std::string prefix;
  std::uint64_t seed;
};

class PieceTrainer {
 public:
  // `pieces` are the initial, distinct pieces in the order of their ids. Each of `letters` is a piece by itself, and with the
  // prefix inside words; all other characters are removed from words.
  PieceTrainer(std::vector<std::string> pieces, const std::vector<std::string>& letters, PieceOptions options)
      : options_(std::move(options)), pieces_(std::move(pieces)), first_(kNumCodePoints, kNone), inside_(kNumCodePoints, kNone) {
    for (const std::string& piece : pieces_) ids_.emplace(piece, static_cast<Id>(ids_.size()));
    if (ids_.size() != pieces_.size()) throw std::invalid_argument("a piece occurs twice");
    for (const std::string& letter : letters) {
      const std::uint32_t code_point = code_point_of(letter);
      first_[code_point] = id_or_none(letter);
      inside_[code_point] = id_or_none(options_.prefix + letter);
    }
  }

  // Calls report(number of pieces) after each piece.
  template <class Report>
  void train(const PretokenCounts& words, const Report& report) {
    if (std::max(options_.num_pieces, pieces_.size()) <= (std::size_t{1} << 16)) {
      train_with<std::uint16_t>(words, report);
    } else {
      train_with<std::uint32_t>(words, report);
    }
  }

  const std::vector<std::string>& pieces() const { return pieces_; }

 private:
  static constexpr std::size_t kNumCodePoints = 0x110000;
  static constexpr Id kNone = 0xFFFFFFFFu;

  template <class Symbol, class Report>
  void train_with(const PretokenCounts& words, const Report& report) {
    std::vector<Symbol> symbols;
    const auto source = [&](const auto& sink) {
      words.for_each([&](Bytes word, std::int64_t count) {
        write_symbols(word, symbols);
        sink(std::span<const Symbol>(symbols), count);
      });
    };
    if (pieces_.size() >= options_.num_pieces) return;
    if (PairMerger<Symbol>::has_room_for(source, words.size())) {
      train_on<Symbol, 1>(source, report);
    } else {
      train_on<Symbol, kWideStep>(source, report);
    }
  }

  template <class Symbol, std::size_t kStep, class Source, class Report>
  void train_on(const Source& source, const Report& report) {
    if (options_.objective == Objective::Frequency) {
      const std::size_t num_merges = options_.num_pieces - pieces_.size();
      run(FrequencyTrainer<Symbol, kStep>(source, {pieces_.size(), num_merges, options_.min_frequency, 0, options_.seed}), report);
    } else {
      run(LikelihoodTrainer<Symbol, kStep>(source, {pieces_.size(), options_.min_frequency, options_.seed}), report);
    }
  }

  template <class Trainer, class Report>
  void run(Trainer trainer, const Report& report) {
    const auto make = [&](Id left, Id right, std::int64_t) { return joined(left, right); };
    while (pieces_.size() < options_.num_pieces && trainer.step(make)) report(pieces_.size());
  }

  MadeSymbol joined(Id left, Id right) {
    std::string_view rest = pieces_[right];
    if (rest.starts_with(options_.prefix)) rest.remove_prefix(options_.prefix.size());
    std::string spelling = pieces_[left] + std::string(rest);
    const auto [place, is_new] = ids_.emplace(std::move(spelling), static_cast<Id>(pieces_.size()));
    if (is_new) pieces_.push_back(place->first);
    return {place->second, is_new};
  }

  template <class Symbol>
  void write_symbols(Bytes word, std::vector<Symbol>& symbols) const {
    symbols.clear();
    const Byte* const end = word.data() + word.size();
    for (const Byte* p = word.data(); p != end;) {
      const TextCharacter character = text_character_at(p, end);
      if (first_[character.code_point] != kNone) {
        const Id id = (p == word.data() ? first_ : inside_)[character.code_point];
        if (id == kNone) throw std::invalid_argument("a letter stands inside words, and no piece is it with the prefix");
        symbols.push_back(static_cast<Symbol>(id));
      }
      p += character.length;
    }
  }

  static std::uint32_t code_point_of(const std::string& letter) {
    const Bytes bytes{reinterpret_cast<const Byte*>(letter.data()), letter.size()};
    const bool is_one = !bytes.empty() && text_character_at(bytes.data(), bytes.data() + bytes.size()).length == bytes.size();
    if (!is_one) throw std::invalid_argument("a letter is not one character");
    return text_character_at(bytes.data(), bytes.data() + bytes.size()).code_point;
  }

  Id id_or_none(const std::string& piece) const {
    const auto found = ids_.find(piece);
    return found == ids_.end() ? kNone : found->second;
  }

  PieceOptions options_;
  std::vector<std::string> pieces_;
  std::unordered_map<std::string, Id> ids_;
  std::vector<Id> first_;   // by code point: the piece of a letter that starts a word
  std::vector<Id> inside_;  // by code point: the piece of a letter inside words
};

}  // namespace tokbench
