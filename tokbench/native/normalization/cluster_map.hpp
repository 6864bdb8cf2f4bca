// Replacement of characters and grapheme clusters by SentencePiece's table, as the Precompiled normalizer of a `tokenizer.json`.
//
// The library applies the table to grapheme clusters: a cluster of fewer than six bytes is replaced as a whole by its shortest
// key, if it begins with one; otherwise each of its characters is replaced by itself. Here a cluster is a character followed by
// combining marks that attach to any character; covers() tells whether that gives the same result for a text.
//
// Source: normalizers/precompiled.rs of tokenizers 0.23, spm_precompiled 0.1.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "character_map.hpp"
#include "character_table.hpp"
#include "common/texts.hpp"

namespace tokbench {

class ClusterMap {
 public:
  // How a code point behaves in grapheme clusters.
  enum Joining : std::uint8_t { Alone, MayJoinPrevious, Unknown, JoinsPrevious };

  // `joining` has one value per code point (0x110000). Throws std::invalid_argument if it does not.
  ClusterMap(CharacterMap map, std::vector<std::uint8_t> joining) : map_(std::move(map)), joining_(std::move(joining)) {
    if (joining_.size() != kCodePoints) throw std::invalid_argument("there must be a number for each code point");
    map_.for_each_key([&](Bytes key, Bytes) {
      const std::size_t first = well_formed_length(key.data(), key.data() + key.size());
      if (first == 0) return;
      const Byte* const second = key.data() + first;
      const Byte* const end = key.data() + key.size();
      if (second == end || well_formed_length(second, end) == 0) return;
      const std::uint64_t pair = pair_of(code_point_at(key.data(), end).value, code_point_at(second, end).value);
      if (pairs_.empty() || pair != pairs_.back()) pairs_.push_back(pair);  // keys are sorted: equal beginnings are adjacent
    });
    std::ranges::sort(pairs_);
    for (const std::uint32_t one : replaced()) may_be_replaced_.at(one) = 1;
  }

  const CharacterMap& characters() const { return map_; }

  // The characters that may be replaced, alone or in a cluster.
  std::vector<std::uint32_t> replaced() const {
    std::vector<std::uint32_t> all{0};  // keys of the table end at a NUL, so that its own replacement is not known
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

  // Whether for_each() gives the library's result for a text of code points or ASCII. Lone surrogates are not covered.
  bool covers(const Text& text) const {
    if (text.units == Units::Ucs2) return covers_units(static_cast<const std::uint16_t*>(text.data), text.size);
    if (text.units == Units::Ucs4) return covers_units(static_cast<const std::uint32_t*>(text.data), text.size);
    if (text.units == Units::Latin1) return covers_units(static_cast<const std::uint8_t*>(text.data), text.size);
    return std::ranges::none_of(Bytes(static_cast<const Byte*>(text.data), text.size), [](Byte byte) { return byte >= 0x80; });
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

  // Appends a text with its replacements, as for_each() gives them.
  void append_replaced(Bytes text, std::vector<Byte>& out) const {
    const Byte* const end = text.data() + text.size();
    for (const Byte* p = text.data(); p != end;) {
      const Byte* const stop = next_replaced(p, end);
      const Byte* last = stop;  // a mark may be replaced together with the character before it
      if (stop != end && *stop >= 0x80) {
        while (last != p && is_continuation(*--last)) continue;
      }
      out.insert(out.end(), p, last);
      p = last == end ? end : after_cluster(last, end);
      for_each({last, p}, [&](Bytes made, std::size_t, std::size_t) { out.insert(out.end(), made.begin(), made.end()); });
    }
  }

  // Calls put(bytes, start, stop) with the replacement of each character, or of each cluster that is replaced as a whole.
  template <class Put>
  void for_each(Bytes text, const Put& put) const {
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

 private:
  // The first character from `p` on that may be replaced, alone or together with the one before it.
  const Byte* next_replaced(const Byte* p, const Byte* end) const {
    while (p != end) {
      if (*p < 0x80) {
        if (may_be_replaced_[*p] != 0) break;
        ++p;
        continue;
      }
      const CodePoint one = code_point_at(p, end);
      if (may_be_replaced_[one.value] != 0) break;
      p += one.length;
    }
    return p;
  }

  static constexpr std::size_t kCodePoints = 0x110000;
  static constexpr std::size_t kWholeClusters = 6;  // bytes from which on a cluster is not looked up as a whole

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

  static std::uint32_t bytes_of(std::uint32_t code_point) {
    return code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
  }
  static std::uint64_t pair_of(std::uint32_t first, std::uint32_t second) { return std::uint64_t{first} << 32 | second; }

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
  std::vector<std::uint64_t> pairs_;  // the first two characters of each longer key, sorted
  CharacterTable<std::uint8_t> may_be_replaced_{0};
};

}  // namespace tokbench
