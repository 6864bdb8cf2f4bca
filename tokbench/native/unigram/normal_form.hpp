// The normalization of a SentencePiece model, and whether the words of a text can be segmented independently.
#pragma once

#include <algorithm>
#include <string_view>

#include "model.hpp"
#include "normalization/normalizer.hpp"
#include "word_splitting.hpp"

namespace tokbench {

inline std::string_view characters_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// A set of characters such that every text the table changes contains one of them: keys of one character, and all but the first
// character of longer keys. nullopt if some key is not valid UTF-8.
inline std::optional<std::vector<std::uint32_t>> characters_in_keys(const CharacterMap& map) {
  std::vector<std::uint32_t> all{0};  // keys of the table end at a NUL, so that its own replacement is not known
  CharacterTable<Byte> is_found(0);
  bool are_whole = true;
  map.for_each_key([&](Bytes key, Bytes, std::size_t common) {
    std::size_t at = common;  // the prefix shared with the previous key was handled there
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

// The normalized text is cut into words before each run of ▁. That is exact if no piece, and no key or user-defined symbol of
// the raw text, extends across such a boundary.
class NormalForm {
 public:
  // `pieces` are all pieces that can occur in text. Throws std::invalid_argument for a malformed table that contains a cycle.
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

  // One running sum of scores covers all words of a text.
  static constexpr bool kTextsAreAlone = false;

  // The characters that normalization may change; nullopt if that cannot be told by single characters.
  std::optional<std::vector<std::uint32_t>> rewritten() const { return characters_in_keys(normalizer_.map()); }
  bool puts_space_in_front_of_words() const { return cut_ != WordCut::BeforeSpaces; }

  // Upper bound on the normalized size of a text.
  std::size_t most_made(std::size_t size) const { return size * growth_ + kSpaceMark.size(); }

  // Whether the words of this text can be segmented independently. Where the raw text contains ▁, spaces do not delimit words.
  bool is_cut(Bytes text) const {
    return cut_ != WordCut::Nowhere && characters_of(text).find(kSpaceMark) == std::string_view::npos;
  }

  void normalize_text(Bytes text, NormalizedText& out) const {
    normalizer_.normalize(text, {true, true}, out);
  }


  // User-defined symbols are ordinary pieces here.
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
  std::size_t growth_ = kSpaceMark.size();  // a space becomes ▁, of three bytes
};

}  // namespace tokbench
