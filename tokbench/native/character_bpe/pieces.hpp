// The vocabulary of a BPE over characters. In SentencePiece, pieces have scores, and any two adjacent symbols merge whose
// concatenation is a piece; a `tokenizer.json` has a list of merges.
//
// Source: bpe_model.cc of SentencePiece 0.2.3; models/bpe of tokenizers 0.23.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "encoding/whole_tokens.hpp"
#include "joints.hpp"
#include "normalization/character_table.hpp"
#include "pairs.hpp"

namespace tokbench {

enum class PieceKind : std::uint8_t { Normal = 1, Unknown, Control, UserDefined, Unused, OneByte };

struct ScoredPiece {
  std::string_view text;  // not empty
  float score;
  PieceKind kind;
};

// Thrown for a vocabulary that cannot be encoded here as the library does.
struct NotTheSame : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

class CharacterPieces {
 public:
  // Piece i has id i. `bytes` are the ids of the 256 byte tokens, with byte fallback.
  CharacterPieces(std::span<const ScoredPiece> pieces, Id unknown, const std::optional<std::array<Id, 256>>& bytes)
      : unknown_(unknown), joins_unknown_(!bytes), bytes_(bytes) {
    if (pieces.size() >= kMostPieces) throw NotTheSame("it has a million pieces or more");
    const PiecesByText by_text(pieces);
    number_characters(pieces, by_text);
    std::vector<Pairs::Pair> pairs = found_pairs(pieces, by_text);
    mark_unused(pieces, pairs);
    const std::vector<Rank> ranks = ranks_of(pieces);
    for (Pairs::Pair& pair : pairs) pair.merge.rank = ranks[pair.merge.made];
    pairs_ = Pairs(pairs);
    for (Id id = 0; id < pieces.size(); ++id) {
      if (pieces[id].kind == PieceKind::UserDefined) user_defined_.emplace(pieces[id].text, id);
    }
  }

  // The ids of two tokens and of the merged token.
  struct ListedMerge {
    Id left, right, made;
  };

  // Token i has id i, and an empty text if it cannot occur; merges are in the order of their ranks. With `joins_unknown` and
  // without `bytes`, adjacent unknown characters are one token. `has_affixes` says whether the symbol of a character depends on
  // its position in the word.
  CharacterPieces(std::span<const std::string_view> tokens, std::span<const ListedMerge> merges, Id unknown, bool joins_unknown,
                  const std::optional<std::array<Id, 256>>& bytes, bool has_affixes = false)
      : unknown_(unknown), joins_unknown_(joins_unknown && !bytes), bytes_(bytes), kinds_(tokens.size(), Final::Token) {
    if (tokens.size() >= kMostPieces) throw NotTheSame("it has a million tokens or more");
    if (merges.size() > Pairs::kMost) throw NotTheSame("it has too many merges");
    for (Id id = 0; id < tokens.size(); ++id) {
      const Bytes text = bytes_of(tokens[id]);
      if (text.empty()) continue;
      const CodePoint first = code_point_at(text.data(), text.data() + text.size());
      if (first.length == text.size()) symbols_.at(first.value) = id;
    }
    std::vector<Pairs::Pair> pairs;
    for (const ListedMerge& merge : merges) {
      if (std::max({merge.left, merge.right, merge.made}) >= tokens.size()) throw std::invalid_argument("there is no such token to be merged");
      pairs.push_back({merge.left, merge.right, {static_cast<Rank>(pairs.size()), merge.made}});
    }
    pairs_ = Pairs(pairs);
    // With affixes, a symbol may be a character in one position, and be made of other characters.
    const auto makes_character = [&](const ListedMerge& merge) { return is_character(tokens[merge.made]); };
    if (!has_affixes && std::ranges::none_of(merges, makes_character)) joints_ = Joints(pairs, tokens.size());
  }

  Symbol symbol_of(std::uint32_t code_point) const { return symbols_[code_point]; }
  // The symbol of a user-defined symbol, which never merges.
  Symbol user_defined(Bytes text) const { 
    return user_defined_.find(std::string_view(reinterpret_cast<const char*>(text.data()), text.size()))->second;
  }
  PairMerge merge(Symbol left, Symbol right) const { return pairs_.find(left, right); }
  // Whether reading them takes long because they exceed the processor's cache.
  bool has_many_merges() const { return pairs_.num_bytes() > kMostCached; }
  // Begins to fetch what merge() reads.
  void fetch_merge(Symbol left, Symbol right) const { pairs_.fetch(left, right); }
  // Whether a merge may join two adjacent characters of a word.
  bool may_join(Symbol left, Symbol right) const { return joints_.may_join(left, right); }
  bool joins_unknown() const { return joins_unknown_; }
  // Whether there is byte fallback.
  bool has_bytes() const { return bytes_.has_value(); }

  // Calls emit_id(id) for each id of a symbol with the given text.
  template <class Emit>
  void emit(Symbol symbol, Bytes text, const Emit& emit_id) const {
    const Final kind = symbol < kinds_.size() ? kinds_[symbol] : Final::Unknown;
    if (kind == Final::Token) [[likely]] return emit_id(symbol);
    if (kind == Final::Parts) {
      const Parts& parts = parts_.at(symbol);
      emit(parts.left, text.first(parts.left_size), emit_id);
      return emit(parts.right, text.subspan(parts.left_size), emit_id);
    }
    if (!bytes_) return emit_id(unknown_);
    for (const Byte byte : text) emit_id((*bytes_)[byte]);
  }

  bool is_unknown(Id id) const { return id == unknown_; }

 private:
  static constexpr std::size_t kMostPieces = std::size_t{1} << 20;
  static constexpr std::size_t kMostCached = std::size_t{1} << 22;    // bytes
  static constexpr std::size_t kMostCompared = std::size_t{1} << 30;  // bytes
  static constexpr std::size_t kMostUnusedCharacters = 100;           // limit of the library's recursion

  enum class Final : std::uint8_t { Unknown, Token, Parts };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Parts {
    Symbol left, right;
    std::size_t left_size;
  };

  static bool is_found(PieceKind kind) { return kind == PieceKind::Normal || kind == PieceKind::Unused; }
  static bool is_character(std::string_view text) {
    const Bytes bytes = bytes_of(text);
    return !bytes.empty() && code_point_at(bytes.data(), bytes.data() + bytes.size()).length == bytes.size();
  }
  static Bytes bytes_of(std::string_view text) { return {reinterpret_cast<const Byte*>(text.data()), text.size()}; }

  // The starts of the characters of a text, and its end.
  static void starts_of(Bytes text, std::vector<std::uint32_t>& starts) {
    starts.clear();
    for (std::size_t at = 0; at < text.size(); at += code_point_at(text.data() + at, text.data() + text.size()).length) {
      starts.push_back(static_cast<std::uint32_t>(at));
    }
    starts.push_back(static_cast<std::uint32_t>(text.size()));
  }

  // The pieces that a text can contain, by their bytes; of pieces that are written twice, the first one. Most parts of pieces are
  // no pieces, which bits of their hashes tell without a cache miss.
  class PiecesByText {
   public:
    explicit PiecesByText(std::span<const ScoredPiece> pieces)
        : pieces_(pieces), ids_(pieces.size()), bits_(std::bit_ceil(pieces.size() / kPiecesPerWord + 1)) {
      for (Id id = 0; id < pieces.size(); ++id) {
        if (!is_found(pieces[id].kind) && pieces[id].kind != PieceKind::UserDefined) continue;
        const Bytes text = bytes_of(pieces[id].text);
        const std::uint64_t hash = hash_of(text);
        ids_.insert(text, hash, id, TextOf{pieces_});
        bits_[word_of(hash)] |= bit_of(hash);
      }
    }
    std::optional<Id> find(Bytes text) const {
      const std::uint64_t hash = hash_of(text);
      if ((bits_[word_of(hash)] & bit_of(hash)) == 0) return std::nullopt;
      return ids_.find(text, hash, TextOf{pieces_});
    }
    bool is_first(Id id) const { return find(bytes_of(pieces_[id].text)) == id; }

   private:
    static constexpr std::size_t kPiecesPerWord = 8;

    struct TextOf {
      std::span<const ScoredPiece> pieces;
      Bytes operator()(Id id) const { return bytes_of(pieces[id].text); }
    };

    std::size_t word_of(std::uint64_t hash) const { return hash >> 38 & (bits_.size() - 1); }
    static std::uint64_t bit_of(std::uint64_t hash) { return std::uint64_t{1} << (hash >> 32 & 63); }

    std::span<const ScoredPiece> pieces_;
    WholeTokens ids_;
    std::vector<std::uint64_t> bits_;
  };

  // Numbers the characters of all pieces that merging can build; those that are not pieces get numbers above the pieces.
  void number_characters(std::span<const ScoredPiece> pieces, const PiecesByText& by_text) {
    auto next = static_cast<Symbol>(pieces.size());
    for (Id id = 0; id < pieces.size(); ++id) {
      if (!is_found(pieces[id].kind) || !is_character(pieces[id].text) || !by_text.is_first(id)) continue;
      const Bytes bytes = bytes_of(pieces[id].text);
      symbols_.at(code_point_at(bytes.data(), bytes.data() + bytes.size()).value) = id;
    }
    for (const ScoredPiece& piece : pieces) {
      if (!is_found(piece.kind)) continue;
      const Bytes bytes = bytes_of(piece.text);
      for (std::size_t at = 0; at < bytes.size();) {
        const CodePoint character = code_point_at(bytes.data() + at, bytes.data() + bytes.size());
        if (character.value == CodePoint::kNoCharacter) throw NotTheSame("a piece is not UTF-8");
        if (symbols_[character.value] == kOther) symbols_.at(character.value) = next++;
        at += character.length;
      }
    }
    if (next >= kOther) throw NotTheSame("its pieces have too many characters");
  }

  // All pairs of symbols whose concatenation is a piece.
  std::vector<Pairs::Pair> found_pairs(std::span<const ScoredPiece> pieces, const PiecesByText& by_text) const {
    const auto symbol_of_part = [&](std::string_view text, bool is_character) -> std::optional<Symbol> {
      const Bytes bytes = bytes_of(text);
      if (is_character) return symbols_[code_point_at(bytes.data(), bytes.data() + bytes.size()).value];
      return by_text.find(bytes);
    };
    std::vector<Pairs::Pair> pairs;
    std::vector<std::uint32_t> starts;
    std::size_t compared = 0;
    for (Id id = 0; id < pieces.size(); ++id) {
      if (!is_found(pieces[id].kind)) continue;
      const std::string_view text = pieces[id].text;
      starts_of(bytes_of(text), starts);
      const std::size_t characters = starts.size() - 1;
      if ((compared += text.size() * characters) > kMostCompared) throw NotTheSame("its pieces are too long");
      for (std::size_t i = 1; i < characters; ++i) {
        const auto left = symbol_of_part(text.substr(0, starts[i]), i == 1);
        if (!left || (*left < pieces.size() && pieces[*left].kind == PieceKind::UserDefined)) continue;
        const auto right = symbol_of_part(text.substr(starts[i]), i + 1 == characters);
        if (!right || (*right < pieces.size() && pieces[*right].kind == PieceKind::UserDefined)) continue;
        pairs.push_back({*left, *right, {0, id}});
      }
      if (pairs.size() > Pairs::kMost) throw NotTheSame("its pieces can be merged in too many ways");
    }
    return pairs;
  }

  // Determines the ids of each symbol. The library splits an unused piece again along a merge that occurred somewhere in the
  // text; that is known only if there is a single way to build it.
  void mark_unused(std::span<const ScoredPiece> pieces, std::span<const Pairs::Pair> pairs) {
    kinds_.assign(pieces.size(), Final::Unknown);
    for (Id id = 0; id < pieces.size(); ++id) {
      const bool is_token = pieces[id].kind == PieceKind::Normal || pieces[id].kind == PieceKind::UserDefined;
      if (is_token) kinds_[id] = Final::Token;
    }
    for (const Pairs::Pair& pair : pairs) {
      if (pieces[pair.merge.made].kind != PieceKind::Unused) continue;
      const std::string_view text = pieces[pair.merge.made].text;
      if (text.size() > kMostUnusedCharacters) throw NotTheSame("it has a long piece that is not used");
      if (kinds_[pair.merge.made] == Final::Parts) throw NotTheSame("a piece that is not used can be merged in two ways");
      kinds_[pair.merge.made] = Final::Parts;
      const std::size_t left_size = pair.left < pieces.size() ? pieces[pair.left].text.size() : code_point_at(bytes_of(text).data(), bytes_of(text).data() + text.size()).length;
      parts_[pair.merge.made] = {pair.left, pair.right, left_size};
    }
  }

  // Ranks by score, highest first. Equal scores have equal ranks, so that the leftmost pair merges first.
  static std::vector<Rank> ranks_of(std::span<const ScoredPiece> pieces) {
    // Maps floats to integers of the same order by inverting negative ones.
    const auto order = [](float score) {
      const auto bits = std::bit_cast<std::int32_t>(score);
      return bits < 0 ? bits ^ 0x7FFFFFFF : bits;
    };
    std::vector<std::int32_t> orders;
    for (const ScoredPiece& piece : pieces) orders.push_back(order(piece.score));
    std::ranges::sort(orders, std::greater());
    const auto twice = std::ranges::unique(orders);
    orders.erase(twice.begin(), twice.end());
    std::vector<Rank> ranks;
    for (const ScoredPiece& piece : pieces) {
      ranks.push_back(static_cast<Rank>(std::ranges::lower_bound(orders, order(piece.score), std::greater()) - orders.begin()));
    }
    return ranks;
  }

  Id unknown_;
  bool joins_unknown_;
  std::optional<std::array<Id, 256>> bytes_;
  CharacterTable<Symbol> symbols_{kOther};
  Pairs pairs_;
  Joints joints_;
  std::vector<Final> kinds_;  // by piece
  std::unordered_map<Symbol, Parts> parts_;
  std::unordered_map<std::string, Id, TextHash, std::equal_to<>> user_defined_;
};

}  // namespace tokbench
