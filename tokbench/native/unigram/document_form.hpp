// Normalization and splitting of a `tokenizer.json` converted from SentencePiece: the Precompiled table of replacements, words
// separated by white space, and ▁ in front of each word. cluster_map.hpp applies the table.
//
// Source: pre_tokenizers/metaspace.rs of tokenizers 0.23.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "encoding/added_tokens.hpp"
#include "normalization/cluster_map.hpp"
#include "normalization/normalizer.hpp"
#include "normalization/white_space.hpp"

namespace tokbench {

// A normalized word, with the range of the original word that each of its bytes comes from, as the library reports it.
struct PlacedText {
  // A range of bytes, relative to the start of the original word.
  struct Place {
    std::int64_t start, stop;
  };
  std::vector<Byte> bytes;
  std::vector<Place> places;
};

// Which first words of texts have ▁ in front, unless white space precedes them. All other words have it.
enum class FirstMark : std::uint8_t {
  Always,       // the first word of the text, and of each part between added tokens
  AtTextStart,  // the first word of the text, unless an added token precedes it
  Never,
};

class DocumentForm {
 public:
  // With `only_spaces`, words are separated by U+0020 alone, and other white space and ▁ must be `Unknown` to the map. `added` are
  // the tokens that are matched in normalized text. Throws std::invalid_argument for a table that may join words, for added tokens
  // that contain white space, for any added tokens with `only_spaces`, and without `only_spaces` for first words without ▁.
  DocumentForm(ClusterMap replacements, bool only_spaces, AddedTokenSet added, FirstMark first_mark = FirstMark::Always)
      : replacements_(std::move(replacements)), only_spaces_(only_spaces), first_mark_(first_mark), added_(std::move(added)) {
    if (!only_spaces && first_mark != FirstMark::Always) throw std::invalid_argument("every word that white space ends has ▁");
    for (const AddedToken& token : added_.tokens()) {
      if (only_spaces || has_white({reinterpret_cast<const Byte*>(token.text.data()), token.text.size()})) {
        throw std::invalid_argument("an added token may reach over the end of a word");
      }
    }
    const CharacterMap& characters = replacements_.characters();
    for (const Byte byte : {Byte{' '}, Byte{'\t'}, Byte{'\n'}, Byte{'\r'}}) {
      const CharacterMap::Match match = characters.longest(&byte, &byte + 1);
      if (match.length != 0 && !is_white(match.replacement)) throw std::invalid_argument("it replaces white space by something else");
    }
    characters.for_each_key([&](Bytes key, Bytes made) {
      if (made.size() > growth_ * key.size()) growth_ = (made.size() + key.size() - 1) / key.size();
      if (only_spaces && makes_other_boundaries(made)) throw std::invalid_argument("it makes white space that is no space");
    });
  }

  const ClusterMap& replacements() const { return replacements_; }

  // The characters that the table replaces, and the white space other than U+0020 that separates pre-tokens.
  std::optional<std::vector<std::uint32_t>> rewritten() const {
    std::vector<std::uint32_t> all = replacements_.replaced();
    for (std::uint32_t one = 0; one < kAfterWhite; ++one) {
      Byte bytes[4];
      const Byte* const end = write_character(one, bytes);
      const auto length = static_cast<std::size_t>(end - bytes);
      if (one != ' ' && white_length({bytes, end}, 0, length) != 0) all.push_back(one);
    }
    return all;
  }

  // Upper bound on the growth of a word by normalization, ▁ included, per byte of the word.
  std::size_t most_made_per_byte() const { return growth_ + kMark.size(); }

  // Each pre-token has a sum of scores of its own.
  static constexpr bool kTextsAreAlone = true;
  static constexpr bool puts_space_in_front_of_words() { return true; }

  bool only_spaces() const { return only_spaces_; }
  FirstMark first_mark() const { return first_mark_; }

  // Whether the raw word contains an added token.
  bool may_hold_added(Bytes word) const {
    bool found = false;
    if (!added_.empty()) added_.cut(word, [](Bytes) {}, [&](Id, Bytes) { found = true; });
    return found;
  }

  // Whether the first character of a text is removed: the library's offsets are then off.
  bool removes_first(Bytes text) const {
    if (text.empty()) return false;
    const std::size_t length = well_formed_length(text.data(), text.data() + text.size());
    const CharacterMap::Match match = replacements_.characters().longest(text.data(), text.data() + std::max<std::size_t>(length, 1));
    return match.length != 0 && match.length == length && match.replacement.empty();
  }

  // Normalizes a word that is delimited by white space; calls use(bytes) for each of its pre-tokens and use_added(id) for each
  // added token that is matched in its normal form.
  template <class Use, class UseAdded>
  void for_each_text(Bytes word, NormalizedText& normal, const Use& use, const UseAdded& use_added) const {
    for_each_text_of(word, false, normal, use, use_added);
  }

  // The same without ▁ in front of the word, unless its normal form begins with white space.
  template <class Use>
  void for_each_unmarked_text(Bytes word, NormalizedText& normal, const Use& use) const {
    for_each_text_of(word, true, normal, use, [](Id) {});
  }

  // for_each_text() with offsets: use(bytes, places) and use_added(id, place). With `only_spaces`, ▁ has the offsets of the white
  // space `in_front` of the word, if there is any. If the word `is_unmarked`, as for_each_unmarked_text().
  template <class Use, class UseAdded>
  void for_each_placed_text(Bytes word, const std::optional<PlacedText::Place>& in_front, bool is_unmarked, PlacedText& normal,
                            const Use& use, const UseAdded& use_added) const {
    using Place = PlacedText::Place;
    normal.bytes.clear();
    normal.places.clear();
    bool is_inserted = false;  // the last character is not the first one of its replacement
    replacements_.for_each(word, [&](Bytes put, std::size_t start, std::size_t stop) {
      const Place place{static_cast<std::int64_t>(start), static_cast<std::int64_t>(stop)};
      if (put.empty()) return give_removed(normal, place, is_inserted);
      normal.bytes.insert(normal.bytes.end(), put.begin(), put.end());
      normal.places.insert(normal.places.end(), put.size(), place);
      is_inserted = put.size() > std::max<std::size_t>(well_formed_length(put.data(), put.data() + put.size()), 1);
    });
    const auto shrink = [&](std::size_t size) {
      normal.bytes.resize(size);
      normal.places.resize(size);
    };
    const auto copy = [&](std::size_t start, std::size_t stop, bool has_mark) {
      if (!has_mark && !(is_unmarked && start == 0)) {
        const Place place = start != 0 && only_spaces_ ? normal.places[start - 1] : in_front ? *in_front : normal.places[start];
        normal.bytes.insert(normal.bytes.end(), kMark.begin(), kMark.end());
        normal.places.insert(normal.places.end(), kMark.size(), place);
      }
      append_copy(normal.bytes, start, stop);
      append_copy(normal.places, start, stop);
    };
    for_each_copy(normal.bytes, shrink, copy,
                  [&](std::size_t first, std::size_t after) {
                    use(Bytes(normal.bytes).subspan(first, after - first), std::span<const Place>(normal.places).subspan(first, after - first));
                  },
                  [&](Id id, std::size_t start, std::size_t stop) {
                    use_added(id, Place{normal.places[start].start, normal.places[stop - 1].stop});
                  });
  }

 private:
  template <class Use, class UseAdded>
  void for_each_text_of(Bytes word, bool is_unmarked, NormalizedText& normal, const Use& use, const UseAdded& use_added) const {
    normal.bytes.clear();
    replacements_.for_each(word, [&](Bytes put, std::size_t, std::size_t) { normal.bytes.insert(normal.bytes.end(), put.begin(), put.end()); });
    const auto copy = [&](std::size_t start, std::size_t stop, bool has_mark) {
      if (!has_mark && !(is_unmarked && start == 0)) normal.bytes.insert(normal.bytes.end(), kMark.begin(), kMark.end());
      append_copy(normal.bytes, start, stop);
    };
    for_each_copy(normal.bytes, [&](std::size_t size) { normal.bytes.resize(size); }, copy,
                  [&](std::size_t first, std::size_t after) { use(Bytes(normal.bytes).subspan(first, after - first)); },
                  [&](Id id, std::size_t, std::size_t) { use_added(id); });
  }

  static constexpr std::array<Byte, 3> kMark = {0xE2, 0x96, 0x81};  // ▁

  // Splits the normalized text `made` at white space and added tokens. For each part, copy(start, stop, has_mark) appends a copy
  // with ▁ in front unless it has one; use(start, stop) is then called for the parts of that copy, split before each ▁.
  template <class Shrink, class Copy, class Use, class UseAdded>
  void for_each_copy(std::vector<Byte>& made, const Shrink& shrink, const Copy& copy, const Use& use, const UseAdded& use_added) const {
    const std::size_t size = made.size();
    made.reserve(2 * size + kMark.size());  // spans into it stay valid
    const auto use_copy = [&](std::size_t start, std::size_t stop) {
      const bool has_mark = is_mark(made, start, stop);
      shrink(size);
      copy(start, stop, has_mark);
      for (std::size_t at = size; at < made.size();) {
        std::size_t next = at + 1;
        while (next < made.size() && !is_mark(made, next, made.size())) ++next;
        use(at, next);
        at = next;
      }
    };
    for (std::size_t start = 0; start < size;) {
      const std::size_t white = white_length(made, start, size);
      if (white != 0) {
        start += white;
        continue;
      }
      std::size_t stop = start;
      while (stop < size && white_length(made, stop, size) == 0) ++stop;
      if (added_.empty()) {
        use_copy(start, stop);
      } else {
        const Byte* const first = made.data();
        const auto place = [first](const Byte* p) { return static_cast<std::size_t>(p - first); };
        added_.cut(Bytes(first + start, first + stop),
                   [&](Bytes part) { use_copy(place(part.data()), place(part.data() + part.size())); },
                   [&](Id id, Bytes found) { use_added(id, place(found.data()), place(found.data() + found.size())); });
      }
      start = stop;
    }
  }

  // Appends a part of a vector to itself; the vector must have the capacity.
  template <class Value>
  static void append_copy(std::vector<Value>& values, std::size_t start, std::size_t stop) {
    const std::size_t size = values.size();
    values.resize(size + (stop - start));
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(start), stop - start, values.begin() + static_cast<std::ptrdiff_t>(size));
  }

  // Quirk of the library: a removed character becomes the origin of the character before it, if that one was inserted.
  static void give_removed(PlacedText& normal, PlacedText::Place place, bool& is_inserted) {
    if (!is_inserted) return;
    std::size_t at = normal.bytes.size() - 1;
    while (at > 0 && is_continuation(normal.bytes[at])) --at;  // replacements need not be valid UTF-8
    for (; at < normal.bytes.size(); ++at) normal.places[at] = place;
    is_inserted = false;
  }

  static bool is_mark(const std::vector<Byte>& bytes, std::size_t start, std::size_t stop) {
    return stop - start >= kMark.size() && std::equal(kMark.begin(), kMark.end(), bytes.begin() + static_cast<std::ptrdiff_t>(start));
  }

  // Whether the bytes contain ▁ or white space other than U+0020.
  static bool makes_other_boundaries(Bytes bytes) {
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const Bytes rest = bytes.subspan(at);
      const bool is_mark = rest.size() >= kMark.size() && std::equal(kMark.begin(), kMark.end(), rest.begin());
      if (is_mark || (rest.front() != ' ' && white_length(rest, 0, rest.size()) != 0)) return true;
    }
    return false;
  }

  ClusterMap replacements_;
  bool only_spaces_;
  FirstMark first_mark_;
  AddedTokenSet added_;  // matched in normalized text
  std::size_t growth_ = 1;
};

}  // namespace tokbench
