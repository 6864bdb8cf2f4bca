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

  // The letters that merging begins with: kOther for characters without one, where these are not left out. Returns how many bytes
  // they have; where characters are left out, letters stand as if these had never been there.
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

  // The token that a word becomes, where that is known without merging.
  std::optional<Id> whole_word(Bytes word, std::uint64_t hash) const {
    return whole_.find(word, hash, [this](Id id) { return text_of(id); });
  }

  // Calls use(id, size) for each of the ids of a word, with how many of its bytes the id covers, if they tell that by themselves;
  // otherwise returns false.
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

  // The token that a word is spelled as, where such words are not merged.
  std::optional<Id> unmerged_word(Bytes word) const { return whole_words_first_ ? whole_word(word, hash_of(word)) : std::nullopt; }

 private:
  static constexpr unsigned kInside = 1, kLast = 2, kNumPlaces = 4;

  // Of an id that may stand for something else than it is spelled as.
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

  // Whether the word that a token is spelled as becomes it.
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
  std::vector<std::uint32_t> spelled_sizes_;     // of each token in bytes, with its affixes; 0 where it may be something else
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
      Id* const first = out;
      for_each_merged(word, [&](Id id, std::size_t) { *out++ = id; });
      return static_cast<std::size_t>(out - first);
    }

    // Calls use(id, size) for each id of a word, with how many of its bytes the id covers.
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

  // How many bytes of a word each of its ids covers.
  class Sizes {
   public:
    explicit Sizes(const WordBpe& model) : model_(model), solver_(model) {}

    // Calls use(id, size) for the ids of a word.
    template <class Use>
    void for_each(Bytes word, std::span<const Id> ids, const Use& use) {
      if (!model_.use_spelled(word, ids, use)) solver_.for_each_token(word, use);
    }

   private:
    const WordBpe& model_;
    Solver solver_;
  };

  // Texts are cut into words elsewhere.
  SplitWords split_words() const { return nullptr; }
  std::size_t first_safe_cut(const Text& text, std::size_t) const { return text.size; }
};

}  // namespace tokbench
