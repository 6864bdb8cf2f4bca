// BPE over the characters of words, as a `tokenizer.json` has it whose pre-tokenizers cut texts into words. Characters inside
// words, and those at their ends, may be letters of their own.
//
// Source: models/bpe/model.rs of tokenizers 0.23.
#pragma once

#include <optional>

#include "encoding/encoder.hpp"
#include "merger.hpp"

namespace tokbench {

class WordBpe {
 public:
  struct Options {
    std::string_view prefix;    // of the letters that begin no word
    std::string_view suffix;    // of those that end one
    std::optional<Id> unknown;  // what characters without a letter are; without it, and without bytes, they are left out
    bool joins_unknown;         // whether unknown characters side by side are one token
    std::optional<std::array<Id, 256>> bytes;
    bool whole_words_first;  // whether a word that is a token becomes it without merging
  };

  // Token i has the id i; those that no text becomes are empty.
  WordBpe(std::span<const std::string_view> tokens, std::span<const CharacterPieces::ListedMerge> merges, const Options& options)
      : pieces_(tokens, merges, options.unknown.value_or(0), options.joins_unknown, options.bytes),
        leaves_out_unknown_(!options.unknown && !options.bytes),
        has_affixes_(!options.prefix.empty() || !options.suffix.empty()),
        letters_(has_affixes_ ? kNumPlaces : 1, CharacterTable<Symbol>(kOther)) {
    for (Id id = 0; id < tokens.size(); ++id) {
      for (unsigned place = 0; place < letters_.size(); ++place) add_letter(place, tokens[id], id, options);
    }
    texts_.assign(tokens.begin(), tokens.end());
    whole_ = WholeTokens(tokens.size());
    for (Id id = 0; id < texts_.size(); ++id) {
      if (!options.whole_words_first && texts_[id].ends_with(options.suffix)) texts_[id].resize(texts_[id].size() - options.suffix.size());
      const bool is_whole = !texts_[id].empty() && (options.whole_words_first || merges_to(id));
      if (is_whole) whole_.insert(text_of(id), hash_of(text_of(id)), id, [this](Id other) { return text_of(other); });
    }
  }

  const CharacterPieces& pieces() const { return pieces_; }

  // The letters that merging begins with: kOther for characters without one, where these are not left out.
  void begin(Bytes word, std::vector<PlacedSymbol>& symbols) const {
    if (word.size() >= UINT32_MAX) throw std::length_error("a word of more than 4 GB");
    const Byte* const end = word.data() + word.size();
    symbols.clear();
    for (const Byte* p = word.data(); p != end;) {
      const CodePoint character = code_point_at(p, end);
      const unsigned place = has_affixes_ ? (p == word.data() ? 0 : kInside) | (p + character.length == end ? kLast : 0) : 0;
      const Symbol letter = letters_[place][character.value];
      const auto start = static_cast<std::uint32_t>(p - word.data());
      if (letter != kOther || !leaves_out_unknown_) symbols.push_back({letter, start});
      p += character.length;
    }
  }

  // The token that a word becomes, where that is known without merging.
  std::optional<Id> whole_word(Bytes word, std::uint64_t hash) const {
    return whole_.find(word, hash, [this](Id id) { return text_of(id); });
  }

 private:
  static constexpr unsigned kInside = 1, kLast = 2, kNumPlaces = 4;

  Bytes text_of(Id id) const { return {reinterpret_cast<const Byte*>(texts_[id].data()), texts_[id].size()}; }

  void add_letter(unsigned place, std::string_view token, Id id, const Options& options) {
    const std::string_view prefix = place & kInside ? options.prefix : "", suffix = place & kLast ? options.suffix : "";
    if (token.size() <= prefix.size() + suffix.size() || !token.starts_with(prefix) || !token.ends_with(suffix)) return;
    token = token.substr(prefix.size(), token.size() - prefix.size() - suffix.size());
    const Byte* const text = reinterpret_cast<const Byte*>(token.data());
    const CodePoint character = code_point_at(text, text + token.size());
    if (character.length == token.size()) letters_[place].at(character.value) = id;
  }

  // Whether the word that a token is spelled as becomes it.
  bool merges_to(Id id) const {
    std::vector<PlacedSymbol> symbols;
    begin(text_of(id), symbols);
    return CharacterMerger(pieces_).merge(symbols) == 1 && symbols[0].symbol == id;
  }

  CharacterPieces pieces_;
  bool leaves_out_unknown_;
  bool has_affixes_;
  std::vector<CharacterTable<Symbol>> letters_;  // by the place in a word
  std::vector<std::string> texts_;               // the words that tokens are spelled as
  WholeTokens whole_;
};

class WordBpeFamily {
 public:
  using Model = WordBpe;

  class Solver {
   public:
    explicit Solver(const WordBpe& model) : model_(model), merger_(model.pieces()) {}

    std::size_t solve(Bytes word, std::uint64_t hash, Id* out) {
      if (const auto whole = model_.whole_word(word, hash)) {
        *out = *whole;
        return 1;
      }
      model_.begin(word, symbols_);
      Id* const first = out;
      const std::size_t count = merger_.merge(symbols_);
      const bool joins_unknown = model_.pieces().joins_unknown();
      for (std::size_t i = 0; i < count; ++i) {
        const bool is_joined = joins_unknown && i != 0 && symbols_[i].symbol == kOther && symbols_[i - 1].symbol == kOther;
        if (is_joined) continue;
        const std::size_t start = symbols_[i].start, stop = i + 1 < count ? symbols_[i + 1].start : word.size();
        model_.pieces().emit(symbols_[i].symbol, word.subspan(start, stop - start), [&](Id id) { *out++ = id; });
      }
      return static_cast<std::size_t>(out - first);
    }

   private:
    const WordBpe& model_;
    CharacterMerger merger_;
    std::vector<PlacedSymbol> symbols_;
  };

  // Texts are cut into words elsewhere.
  SplitWords split_words() const { return nullptr; }
  std::size_t first_safe_cut(const Text& text, std::size_t) const { return text.size; }
};

}  // namespace tokbench
