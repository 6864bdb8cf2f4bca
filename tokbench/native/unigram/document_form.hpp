// Normalization and splitting of a `tokenizer.json` converted from SentencePiece: the Precompiled table of replacements, words
// separated by white space, and ▁ in front of each word.
//
// The library applies the table to grapheme clusters: a cluster of fewer than six bytes is replaced as a whole by its shortest
// key, if it begins with one; otherwise each of its characters is replaced by itself. Here a cluster is a character followed by
// combining marks that attach to any character; covers() tells whether that gives the same result for a text.
//
// Source: normalizers/precompiled.rs and pre_tokenizers/metaspace.rs of tokenizers 0.23, spm_precompiled 0.1.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "common/texts.hpp"
#include "encoding/added_tokens.hpp"
#include "normalization/character_table.hpp"
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
  // How a code point behaves in grapheme clusters.
  enum Joining : std::uint8_t { Alone, MayJoinPrevious, Unknown, JoinsPrevious };

  // `joining` has one value per code point (0x110000). With `only_spaces`, words are separated by U+0020 alone, and other white
  // space and ▁ must be `Unknown`. `added` are the tokens that are matched in normalized text. Throws std::invalid_argument for a
  // table that may join words, for added tokens that contain white space, for any added tokens with `only_spaces`, and without
  // `only_spaces` for first words without ▁.
  DocumentForm(CharacterMap map, std::vector<std::uint8_t> joining, bool only_spaces, AddedTokenSet added,
               FirstMark first_mark = FirstMark::Always)
      : map_(std::move(map)), joining_(std::move(joining)), only_spaces_(only_spaces), first_mark_(first_mark), added_(std::move(added)) {
    if (!only_spaces && first_mark != FirstMark::Always) throw std::invalid_argument("every word that white space ends has ▁");
    for (const AddedToken& token : added_.tokens()) {
      if (only_spaces || has_white({reinterpret_cast<const Byte*>(token.text.data()), token.text.size()})) {
        throw std::invalid_argument("an added token may reach over the end of a word");
      }
    }
    if (joining_.size() != kCodePoints) throw std::invalid_argument("there must be a number for each code point");
    for (const Byte byte : {Byte{' '}, Byte{'\t'}, Byte{'\n'}, Byte{'\r'}}) {
      const CharacterMap::Match match = map_.longest(&byte, &byte + 1);
      if (match.length != 0 && !is_white(match.replacement)) throw std::invalid_argument("it replaces white space by something else");
    }
    map_.for_each_key([&](Bytes key, Bytes made) {
      if (made.size() > growth_ * key.size()) growth_ = (made.size() + key.size() - 1) / key.size();
      if (only_spaces && makes_other_boundaries(made)) throw std::invalid_argument("it makes white space that is no space");
      const std::size_t first = well_formed_length(key.data(), key.data() + key.size());
      if (first == 0) return;
      const Byte* const second = key.data() + first;
      const Byte* const end = key.data() + key.size();
      if (second == end || well_formed_length(second, end) == 0) return;
      const std::uint64_t pair = pair_of(code_point_at(key.data(), end).value, code_point_at(second, end).value);
      if (pairs_.empty() || pair != pairs_.back()) pairs_.push_back(pair);  // keys are sorted: equal beginnings are adjacent
    });
    std::ranges::sort(pairs_);
  }

  // The characters that the table replaces, and the white space other than U+0020 that separates pre-tokens.
  std::optional<std::vector<std::uint32_t>> rewritten() const {
    std::vector<std::uint32_t> all{0};  // keys of the table end at a NUL, so that its own replacement is not known
    for (std::uint32_t one = 0; one < kAfterWhite; ++one) {
      Byte bytes[4];
      if (one != ' ' && white_length({bytes, write_character(one, bytes)}, 0, bytes_of(one)) != 0) all.push_back(one);
    }
    map_.for_each_key([&](Bytes key, Bytes) {
      const CodePoint character = code_point_at(key.data(), key.data() + key.size());
      if (character.length == key.size()) all.push_back(character.value);
    });
    for (const std::uint64_t pair : pairs_) {
      const auto second = static_cast<std::uint32_t>(pair);
      if (joining_[second] == JoinsPrevious) all.push_back(second);
    }
    return all;
  }

  // Upper bound on the growth of a word by normalization, ▁ included, per byte of the word.
  std::size_t most_made_per_byte() const { return growth_ + kMark.size(); }

  // Whether this form gives the library's result for a text of code points or ASCII. Lone surrogates are not covered.
  bool covers(const Text& text) const {
    if (text.units == Units::Ucs2) return covers_units(static_cast<const std::uint16_t*>(text.data), text.size);
    if (text.units == Units::Ucs4) return covers_units(static_cast<const std::uint32_t*>(text.data), text.size);
    if (text.units == Units::Latin1) return covers_units(static_cast<const std::uint8_t*>(text.data), text.size);
    return std::ranges::none_of(Bytes(static_cast<const Byte*>(text.data), text.size), [](Byte byte) { return byte >= 0x80; });
  }

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
    const CharacterMap::Match match = map_.longest(text.data(), text.data() + std::max<std::size_t>(length, 1));
    return match.length != 0 && match.length == length && match.replacement.empty();
  }

  // Whether a cluster of several characters is replaced as a whole: the library then has offsets of its own.
  bool replaces_cluster(Bytes text) const {
    const Byte* const end = text.data() + text.size();
    std::uint32_t previous = '\n';
    for (const Byte* p = text.data(); p != end;) {
      const CodePoint character = code_point_at(p, end);
      if (character.value >= 0x80 && character.value != CodePoint::kNoCharacter && joining_[character.value] == JoinsPrevious &&
          begins_cluster_key(previous, character.value)) {
        return true;
      }
      previous = character.value;
      p += character.length;
    }
    return false;
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
    append_normal(word, [&](Bytes put, std::size_t start, std::size_t stop) {
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
        const Place place = start != 0 && only_spaces_ ? normal.places[start - 1] : start == 0 && in_front ? *in_front : normal.places[start];
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
    append_normal(word, [&](Bytes put, std::size_t, std::size_t) { normal.bytes.insert(normal.bytes.end(), put.begin(), put.end()); });
    const auto copy = [&](std::size_t start, std::size_t stop, bool has_mark) {
      if (!has_mark && !(is_unmarked && start == 0)) normal.bytes.insert(normal.bytes.end(), kMark.begin(), kMark.end());
      append_copy(normal.bytes, start, stop);
    };
    for_each_copy(normal.bytes, [&](std::size_t size) { normal.bytes.resize(size); }, copy,
                  [&](std::size_t first, std::size_t after) { use(Bytes(normal.bytes).subspan(first, after - first)); },
                  [&](Id id, std::size_t, std::size_t) { use_added(id); });
  }

  static constexpr std::size_t kCodePoints = 0x110000;
  static constexpr std::array<Byte, 3> kMark = {0xE2, 0x96, 0x81};  // ▁
  static constexpr std::size_t kWholeClusters = 6;      // bytes from which on a cluster is not looked up as a whole

  // Calls put(bytes, start, stop) with the replacement of each character, or of each cluster that is replaced as a whole.
  template <class Put>
  void append_normal(Bytes text, const Put& put) const {
    const Byte* const end = text.data() + text.size();
    const auto place = [&](const Byte* p) { return static_cast<std::size_t>(p - text.data()); };
    for (const Byte* p = text.data(); p != end;) {
      const Byte* const first = p;
      const Byte* const after = after_cluster(p, end);
      if (after != after_character(p, end) && after - p < std::ptrdiff_t{kWholeClusters}) {
        if (const CharacterMap::Match match = map_.shortest(p, after); match.length != 0) {
          put(match.replacement, place(first), place(after));
          p = after;
        }
      }
      while (p != after) {
        const Byte* const stop = after_character(p, end);
        const CharacterMap::Match match = map_.longest(p, stop);
        put(match.length == static_cast<std::size_t>(stop - p) ? match.replacement : Bytes(p, stop), place(p), place(stop));
        p = stop;
      }
    }
  }

  static const Byte* after_character(const Byte* p, const Byte* end) { return p + std::max<std::size_t>(well_formed_length(p, end), 1); }

  // The end of the cluster that begins at `p`. Nothing attaches to a control character.
  const Byte* after_cluster(const Byte* p, const Byte* end) const {
    const Byte* after = after_character(p, end);
    while (*p >= ' ' && after != end && *after >= 0x80) {
      const CodePoint mark = code_point_at(after, end);
      if (mark.value == CodePoint::kNoCharacter || joining_[mark.value] != JoinsPrevious) break;
      after += mark.length;
    }
    return after;
  }

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

  static std::uint32_t bytes_of(std::uint32_t code_point) {
    return code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
  }
  static std::uint64_t pair_of(std::uint32_t first, std::uint32_t second) { return std::uint64_t{first} << 32 | second; }

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

  template <class Unit>
  bool covers_units(const Unit* units, std::size_t size) const {
    std::uint32_t previous = '\n';
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint32_t one = units[i];
      if (one >= 0x80 && joining_[one] != Alone) [[unlikely]] {
        if (joining_[one] == Unknown || (begins_cluster_key(previous, one) && !is_known_cluster(units, size, i))) return false;
      }
      previous = one;
    }
    return true;
  }

  // Whether the mark at `i` certainly belongs to a cluster of the character before it and further such marks.
  template <class Unit>
  bool is_known_cluster(const Unit* units, std::size_t size, std::size_t i) const {
    if (joining_[units[i]] != JoinsPrevious || i == 0 || !is_known_base(units[i - 1])) return false;
    if (joining_[units[i - 1]] != Alone || (i > 1 && joining_[units[i - 2]] == MayJoinPrevious)) return false;
    while (i < size && joining_[units[i]] == JoinsPrevious) ++i;
    return i == size || joining_[units[i]] == Alone;
  }

  // Not white space, not a control character, and not a character that may attach to the one before it.
  static bool is_known_base(std::uint32_t one) {
    return one > ' ' && (one < 0x7F || (one > 0xA0 && one < 0x900) || (one >= 0x1E00 && one < 0x2000));
  }

  // Whether a cluster that begins with these two characters may be replaced as a whole.
  bool begins_cluster_key(std::uint32_t first, std::uint32_t second) const {
    return bytes_of(first) + bytes_of(second) < kWholeClusters && may_be_one(first, second);
  }

  // Whether some key of the table begins with these two characters.
  bool may_be_one(std::uint32_t first, std::uint32_t second) const {
    if (first < ' ') return false;  // nothing attaches to a control character
    if (std::ranges::binary_search(pairs_, pair_of(first, second))) return true;
    Byte bytes[4];
    const Byte* const end = write_character(first, bytes);
    return map_.longest(bytes, end).length != 0;
  }

  CharacterMap map_;
  std::vector<std::uint8_t> joining_;
  bool only_spaces_;
  FirstMark first_mark_;
  AddedTokenSet added_;               // matched in normalized text
  std::vector<std::uint64_t> pairs_;  // the first two characters of each longer key, sorted
  std::size_t growth_ = 1;
};

}  // namespace tokbench
