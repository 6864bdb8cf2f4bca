// What a SentencePiece model makes of text before it looks for pieces, and which words of a text can be looked at alone.
#pragma once

#include <algorithm>
#include <string_view>

#include "model.hpp"
#include "normalization/normalizer.hpp"
#include "word_splitting.hpp"

namespace tokbench {

inline std::string_view characters_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// The characters of which one is in each text that a table changes: those that are keys, and of longer keys all but the first.
// None where some key is no whole characters.
inline std::optional<std::vector<std::uint32_t>> characters_in_keys(const CharacterMap& map) {
  std::vector<std::uint32_t> all{0};  // keys with a NUL are not known
  CharacterTable<Byte> is_found(0);
  bool are_whole = true;
  map.for_each_key([&](Bytes key, Bytes, std::size_t common) {
    std::size_t at = common;  // in front of which there is nothing new
    while (at != 0 && is_continuation(key[at])) --at;
    while (at < key.size()) {
      const CodePoint character = code_point_at(key.data() + at, key.data() + key.size());
      are_whole &= character.value != CodePoint::kNoCharacter;
      if ((at != 0 || character.length == key.size()) && is_found[character.value] == 0) {
        is_found.at(character.value) = 1;
        all.push_back(character.value);
      }
      at += character.length;
    }
  });
  return are_whole ? std::optional(std::move(all)) : std::nullopt;
}

// The normalized text is cut into words where ▁ begins a run of it: no piece is to reach across, and no character, key or
// symbol of the text that it is made of.
class NormalForm {
 public:
  // `pieces` are all that are found in text. Throws std::invalid_argument for a table that leads in circles.
  NormalForm(Normalizer normalizer, std::span<const std::string_view> pieces) : normalizer_(std::move(normalizer)) {
    bool has_spaces = false, has_white_space = false, makes_spaces = false, makes_marks = false;
    normalizer_.map().for_each_key([&](Bytes key, Bytes made, std::size_t common) {
      for (const Byte byte : key.subspan(common > 1 ? common : 0)) {
        has_spaces |= byte == ' ';
        has_white_space |= key.size() > 1 && is_other_white(byte);
      }
      std::size_t size = made.size();
      for (std::size_t at = 0; at < made.size(); ++at) {
        if (made[at] == ' ') size += kSpaceMark.size() - 1;
        makes_marks |= characters_of(made.subspan(at)).starts_with(kSpaceMark);
      }
      makes_spaces |= size != made.size();
      if (size > growth_ * key.size()) growth_ = (size + key.size() - 1) / key.size();
    });
    bool has_mark = false, crosses = false, has_long_runs = false;
    for (const std::string_view piece : pieces) {
      const std::size_t after = after_marks(piece);
      has_mark |= piece == kSpaceMark;
      has_long_runs |= after > kSpaceMark.size();
      crosses |= piece.find(kSpaceMark, after) != std::string_view::npos || piece.find(' ') != std::string_view::npos;
      has_white_space |= std::ranges::any_of(piece, [](char c) { return is_other_white(static_cast<Byte>(c)); });
    }
    const NormalizerOptions& options = normalizer_.options();
    if (!options.escape_whitespaces || options.treat_whitespace_as_suffix || has_spaces || makes_marks || !has_mark || crosses) return;
    if (options.remove_extra_whitespaces) {
      if (options.add_dummy_prefix) cut_ = !has_white_space && are_white_space_spaces() ? WordCut::AtWhiteSpace : WordCut::AtSpaces;
    } else if (!makes_spaces || !has_long_runs) {
      cut_ = WordCut::BeforeSpaces;
    }
  }

  WordCut cut() const { return cut_; }
  bool puts_space_in_front() const { return cut_ == WordCut::BeforeSpaces && normalizer_.options().add_dummy_prefix; }

  // One sum of scores runs through all words.
  static constexpr bool kTextsAreAlone = false;

  // The characters of which some key of the table has to do with each text that it changes; none where keys are not characters.
  std::optional<std::vector<std::uint32_t>> rewritten() const { return characters_in_keys(normalizer_.map()); }
  bool puts_space_in_front_of_words() const { return cut_ != WordCut::BeforeSpaces; }

  // The most bytes that are made of a text, for each of its own.
  std::size_t most_made(std::size_t size) const { return size * growth_ + kSpaceMark.size(); }

  // Whether its words can be looked at alone. In a text that has ▁ itself, they are not what stands between spaces.
  bool is_cut(Bytes text) const {
    return cut_ != WordCut::Nowhere && characters_of(text).find(kSpaceMark) == std::string_view::npos;
  }

  void normalize_text(Bytes text, NormalizedText& out) const {
    normalizer_.normalize(text, {true, true}, out);
  }

  void normalize_with_origins(Bytes text, NormalizedText& out) const { normalizer_.normalize_with_origins(text, out); }

  // User-defined symbols are pieces.
  static constexpr bool may_hold_added(Bytes) { return false; }

  template <class Use, class UseAdded>
  void for_each_text(Bytes word, NormalizedText& normal, Use use, UseAdded) const {
    const bool is_alone = cut_ != WordCut::BeforeSpaces;
    normalizer_.normalize(word, {is_alone, is_alone}, normal);
    use(normal.bytes);
  }

 private:
  static bool is_other_white(Byte byte) { return byte == '\t' || byte == '\n' || byte == '\r'; }

  static std::size_t after_marks(std::string_view piece) {
    std::size_t after = 0;
    while (piece.substr(after).starts_with(kSpaceMark)) after += kSpaceMark.size();
    return after;
  }

  bool are_white_space_spaces() const {
    for (const Byte byte : {Byte{'\t'}, Byte{'\n'}, Byte{'\r'}}) {
      const Normalizer::Unit unit = normalizer_.unit_at(&byte, &byte + 1);
      if (unit.made.size() != 1 || unit.made.front() != ' ') return false;
    }
    return true;
  }

  Normalizer normalizer_;
  WordCut cut_ = WordCut::Nowhere;
  std::size_t growth_ = kSpaceMark.size();  // a space becomes ▁
};

}  // namespace tokbench
