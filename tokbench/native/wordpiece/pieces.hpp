// The vocabulary of a WordPiece, and the encoding of one word.
#pragma once

#include <optional>
#include <string_view>

#include "characters.hpp"
#include "encoding/whole_tokens.hpp"
#include "longest_match.hpp"

namespace tokbench {

class Pieces {
 public:
  struct Options {
    BertRules rules;
    std::string_view prefix;
    Id unknown;
    std::size_t most_characters;  // longer words are unknown
    bool counts_bytes = false;    // whether each byte is a character, so that pieces need not be UTF-8
  };

  // Piece i has the id ids[i].
  Pieces(std::span<const std::string_view> pieces, std::span<const Id> ids, const Options& options)
      : rules_(options.rules), unknown_(options.unknown), most_characters_(options.most_characters), counts_bytes_(options.counts_bytes),
        text_(text_of(pieces)), starts_(starts_of(pieces)), ids_(ids.begin(), ids.end()), prefix_size_(options.prefix.size()),
        whole_(pieces.size()), match_(made_match(options.prefix)) {
    for (std::uint32_t number = 0; number < ids_.size(); ++number) {
      const Bytes text = piece(number);
      // Every piece must cover at least one character, because outputs have room for one id per character.
      const bool is_text = !text.empty() && (counts_bytes_ || !first_invalid(text));
      if (!is_text) throw std::invalid_argument("piece " + std::to_string(number) + " is empty, or not UTF-8");
      const bool is_new = whole_.insert(text, hash_of(text), number, [this](Id other) { return piece(other); });
      if (!is_new) throw std::invalid_argument("piece " + std::to_string(number) + " occurs twice");
      sizes_.resize(std::max<std::size_t>(sizes_.size(), ids_[number] + std::size_t{1}));
      sizes_[ids_[number]] = static_cast<std::uint32_t>(text.size());
    }
  }

  const BertRules& rules() const { return rules_; }
  std::size_t size() const { return ids_.size(); }
  bool counts_bytes() const { return counts_bytes_; }

  // Writes the ids of a word to `out`, which has room for one per character; returns their number.
  std::size_t encode(Bytes word, std::size_t characters, Id* out) const {
    const std::size_t count = characters > most_characters_ ? 0 : encode_known(word, out);
    if (count != 0) return count;
    *out = unknown_;
    return 1;
  }

  // The number of bytes of a word that an id covers, if encode() returned several ids for the word.
  std::size_t covered(Id id, bool is_first) const { return sizes_[id] - (is_first ? 0 : prefix_size_); }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 27;

  std::size_t encode_known(Bytes word, Id* out) const {
    if (const auto number = whole_.find(word, hash_of(word), [this](Id other) { return piece(other); })) {
      *out = ids_[*number];
      return 1;
    }
    return match_.match(word, out);
  }

  Bytes piece(std::uint32_t number) const {
    return {text_.data() + starts_[number], starts_[number + 1] - starts_[number]};
  }

  static std::vector<Byte> text_of(std::span<const std::string_view> pieces) {
    std::vector<Byte> text;
    for (const std::string_view piece : pieces) {
      if (piece.size() > kMostBytes - text.size()) throw std::length_error("the pieces together have more than 128 MB");
      text.insert(text.end(), piece.begin(), piece.end());
    }
    return text;
  }

  static std::vector<std::uint32_t> starts_of(std::span<const std::string_view> pieces) {
    std::vector<std::uint32_t> starts{0};
    starts.reserve(pieces.size() + 1);
    for (const std::string_view piece : pieces) starts.push_back(starts.back() + static_cast<std::uint32_t>(piece.size()));
    return starts;
  }

  LongestMatch made_match(std::string_view prefix) const {
    std::vector<Piece> beginnings, insides;
    const Bytes mark{reinterpret_cast<const Byte*>(prefix.data()), prefix.size()};
    for (std::uint32_t number = 0; number < ids_.size(); ++number) {
      const Bytes text = piece(number);
      beginnings.push_back({text, ids_[number]});
      const bool is_inside = text.size() > mark.size() && std::ranges::equal(text.first(mark.size()), mark);
      if (is_inside) insides.push_back({text.subspan(mark.size()), ids_[number]});
    }
    return {std::move(beginnings), std::move(insides)};
  }

  BertRules rules_;
  Id unknown_;
  std::size_t most_characters_;
  bool counts_bytes_;
  std::vector<Byte> text_;
  std::vector<std::uint32_t> starts_;
  std::vector<Id> ids_;
  std::size_t prefix_size_;
  WholeTokens whole_;  // by index of piece
  LongestMatch match_;
  std::vector<std::uint32_t> sizes_;  // by id: size of the piece in bytes
};

}  // namespace tokbench
