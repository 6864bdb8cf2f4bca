// BPE over the characters of words that the pre-tokenizers of a `tokenizer.json` split. Characters may be distinguished by
// their position in the word: a prefix for all but the first (continuing_subword_prefix), a suffix for the last
// (end_of_word_suffix).
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
    std::string_view prefix;    // prefix of symbols that do not start a word
    std::string_view suffix;    // suffix of the symbol that ends a word
    std::optional<Id> unknown;  // unknown token; without it and without `bytes`, unknown characters are dropped
    bool joins_unknown;         // whether adjacent unknown characters are one token
    std::optional<std::array<Id, 256>> bytes;
    bool whole_words_first;  // whether a word that is a token becomes that token without merging
  };

  // Token i has id i, and an empty text if it cannot occur.
  WordBpe(std::span<const std::string_view> tokens, std::span<const CharacterPieces::ListedMerge> merges, const Options& options)
      : pieces_(tokens, merges, options.unknown.value_or(0), options.joins_unknown, options.bytes,
                !options.prefix.empty() || !options.suffix.empty()),
        leaves_out_unknown_(!options.unknown && !options.bytes),
        prefix_size_(options.prefix.size()),
        suffix_size_(options.suffix.size()),
        whole_words_first_(options.whole_words_first),
        has_affixes_(!options.prefix.empty() || !options.suffix.empty()),
        letters_(has_affixes_ ? kNumPlaces : 1, CharacterTable<Symbol>(kOther)) {
    for (Id id = 0; id < tokens.size(); ++id) {
      for (unsigned place = 0; place < letters_.size(); ++place) add_letter(place, tokens[id], id, options);
    }
    for (const std::string_view token : tokens) spelled_sizes_.push_back(static_cast<std::uint32_t>(token.size()));
    for (const Id id : options.bytes.value_or(std::array<Id, 256>{})) forget_size(id);
    if (options.unknown) forget_size(*options.unknown);
    texts_.assign(tokens.begin(), tokens.end());
    whole_ = WholeTokens(tokens.size());
    for (Id id = 0; id < texts_.size(); ++id) {
      if (!options.whole_words_first && texts_[id].ends_with(options.suffix)) texts_[id].resize(texts_[id].size() - options.suffix.size());
      const bool is_whole = !texts_[id].empty() && (options.whole_words_first || merges_to(id));
      if (is_whole) whole_.insert(text_of(id), hash_of(text_of(id)), id, [this](Id other) { return text_of(other); });
    }
  }

  const CharacterPieces& pieces() const { return pieces_; }

  // Sets the initial symbols of a word: kOther for unknown characters unless these are dropped. Returns their total size in
  // bytes; positions are counted without dropped characters.
  std::size_t begin(Bytes word, std::vector<PlacedSymbol>& symbols) const {
    if (word.size() >= UINT32_MAX) throw std::length_error("a word of more than 4 GB");
    const Byte* const end = word.data() + word.size();
    std::uint32_t size = 0;
    symbols.clear();
    for (const Byte* p = word.data(); p != end;) {
      const CodePoint character = code_point_at(p, end);
      const unsigned place = has_affixes_ ? (p == word.data() ? 0 : kInside) | (p + character.length == end ? kLast : 0) : 0;
      const Symbol letter = letters_[place][character.value];
      p += character.length;
      if (letter == kOther && leaves_out_unknown_) continue;
      symbols.push_back({letter, size});
      size += character.length;
    }
    return size;
  }

  // The token that a word becomes, if that is known without merging.
  std::optional<Id> whole_word(Bytes word, std::uint64_t hash) const {
    return whole_.find(word, hash, [this](Id id) { return text_of(id); });
  }

  // Calls use(id, size) for each id of a word with the number of bytes that it covers. Returns false, without calls, if the ids
  // alone do not determine that.
  template <class Use>
  bool use_spelled(Bytes word, std::span<const Id> ids, const Use& use) const {
    if (ids.size() == 1 && !leaves_out_unknown_) {
      use(ids.front(), word.size());
      return true;
    }
    if (leaves_out_unknown_ && has_affixes_) return false;
    const auto is_spelled = [&](Id id) { return id < spelled_sizes_.size() && spelled_sizes_[id] != 0; };
    if (!std::ranges::all_of(ids, is_spelled)) return false;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const bool is_first = i == 0, is_last = i + 1 == ids.size();
      use(ids[i], spelled_sizes_[ids[i]] - (is_first ? 0 : prefix_size_) - (is_last ? suffix_size_ : 0));
    }
    return true;
  }

  // The token of a word that is not merged, with whole_words_first.
  std::optional<Id> unmerged_word(Bytes word) const { return whole_words_first_ ? whole_word(word, hash_of(word)) : std::nullopt; }

 private:
  static constexpr unsigned kInside = 1, kLast = 2, kNumPlaces = 4;

  // Marks an id whose text may differ from its spelling.
  void forget_size(Id id) {
    if (id < spelled_sizes_.size()) spelled_sizes_[id] = 0;
  }

  Bytes text_of(Id id) const { return {reinterpret_cast<const Byte*>(texts_[id].data()), texts_[id].size()}; }

  void add_letter(unsigned place, std::string_view token, Id id, const Options& options) {
    const std::string_view prefix = place & kInside ? options.prefix : "", suffix = place & kLast ? options.suffix : "";
    if (token.size() <= prefix.size() + suffix.size() || !token.starts_with(prefix) || !token.ends_with(suffix)) return;
    token = token.substr(prefix.size(), token.size() - prefix.size() - suffix.size());
    const Byte* const text = reinterpret_cast<const Byte*>(token.data());
    const CodePoint character = code_point_at(text, text + token.size());
    if (character.length == token.size()) letters_[place].at(character.value) = id;
  }

  // Whether a word with the spelling of a token merges to that token.
  bool merges_to(Id id) const {
    std::vector<PlacedSymbol> symbols;
    begin(text_of(id), symbols);
    return CharacterMerger(pieces_).merge(symbols) == 1 && symbols[0].symbol == id;
  }

  CharacterPieces pieces_;
  bool leaves_out_unknown_;
  std::size_t prefix_size_, suffix_size_;
  bool whole_words_first_;
  bool has_affixes_;
  std::vector<std::uint32_t> spelled_sizes_;     // by id: bytes with affixes; 0 if the text may differ from the spelling
  std::vector<CharacterTable<Symbol>> letters_;  // by position in a word: the symbol of each character
  std::vector<std::string> texts_;               // by id: the word with the spelling of the token
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
      Id* const first = out;
      for_each_merged(word, [&](Id id, std::size_t) { *out++ = id; });
      return static_cast<std::size_t>(out - first);
    }

    // Calls use(id, size) for each id of a word with the number of bytes that it covers.
    template <class Use>
    void for_each_token(Bytes word, const Use& use) {
      if (const auto whole = model_.unmerged_word(word)) return use(*whole, word.size());
      for_each_merged(word, use);
    }

   private:
    template <class Use>
    void for_each_merged(Bytes word, const Use& use) {
      const std::size_t size = model_.begin(word, symbols_);
      const std::size_t count = merger_.merge(symbols_);
      const CharacterPieces& pieces = model_.pieces();
      for (std::size_t i = 0; i < count;) {
        const PlacedSymbol& each = symbols_[i++];
        const bool is_unknown = each.symbol == kOther;
        while (is_unknown && pieces.joins_unknown() && i < count && symbols_[i].symbol == kOther) ++i;
        const std::size_t stop = i < count ? symbols_[i].start : size;
        const Bytes text = word.subspan(each.start, stop - each.start);
        pieces.emit(each.symbol, text, [&](Id id) { use(id, is_unknown && pieces.has_bytes() ? 1 : text.size()); });
      }
    }

    const WordBpe& model_;
    CharacterMerger merger_;
    std::vector<PlacedSymbol> symbols_;
  };

  // Computes the number of bytes that each id of a word covers.
  class Sizes {
   public:
    explicit Sizes(const WordBpe& model) : model_(model), solver_(model) {}

    // Calls use(id, size) for each id of a word.
    template <class Use>
    void for_each(Bytes word, std::span<const Id> ids, const Use& use) {
      if (!model_.use_spelled(word, ids, use)) solver_.for_each_token(word, use);
    }

   private:
    const WordBpe& model_;
    Solver solver_;
  };

  // Texts are split into words elsewhere.
  SplitWords split_words() const { return nullptr; }
  std::size_t first_safe_cut(const Text& text, std::size_t) const { return text.size; }
};

}  // namespace tokbench
