// Finds where a raw text can be cut so that no token crosses the cut and the parts are normalized independently.
//
// A cut lies between two *plain* characters, which normalization leaves alone, that are adjacent in no piece, no key of the
// character map and no user-defined symbol. A token ends there whatever the scores are. A space counts as its replacement.
// Adjacency is looked up exactly for ASCII, otherwise in a hash filter, whose false positives only lose cuts.
#pragma once

#include <bit>
#include <compare>
#include <span>
#include <string_view>

#include "character_table.hpp"
#include "common/hashing.hpp"
#include "normalizer.hpp"

namespace tokbench {

class CertainCuts {
 public:
  // With `joins_unknown`, adjacent unknown characters become one token, so that no cut is made between two of them. Known
  // characters are those that are pieces in `known`.
  CertainCuts(const Normalizer& normalizer, std::span<const std::string_view> pieces, std::span<const std::string_view> known,
              bool joins_unknown)
      : space_(normalizer.options().escape_whitespaces ? 0x2581 : ' ') {
    if (!joins_unknown) traits_ = CharacterTable<std::uint8_t>(kPlain | kKnown);
    traits_.at(CodePoint::kNoCharacter) = 0;
    for (const std::string_view piece : known) {
      const Bytes text = bytes_of(piece);
      const CodePoint character = code_point_at(text.data(), text.data() + text.size());
      if (character.length == text.size()) traits_.at(character.value) |= kKnown;
    }
    traits_.at(' ') = static_cast<std::uint8_t>(kPlain | (traits_[space_] & kKnown));
    Pairs pairs;
    for (const std::string_view piece : pieces) add_neighbours(bytes_of(piece), pairs);
    add_keys(normalizer.map(), pairs);
    normalizer.symbols().for_each([&](Bytes symbol) {
      add_neighbours(symbol, pairs);
      begins_with_space_ |= symbol[0] == ' ';
    });
    if (normalizer.options().remove_extra_whitespaces) pairs.add({space_, space_});
    make_tables(pairs.sorted());
  }

  // Whether there are any cuts: there are none if a key of the map is not valid UTF-8.
  bool cuts() const { return cuts_; }

  // Upper bound on the normalized bytes per byte of text, not counting an added space.
  std::size_t most_made() const { return most_made_; }

  // Whether the dummy prefix may be added to the raw text instead of the normalized one.
  bool takes_space_in_front() const { return !begins_with_space_ && is_plain(' '); }

  bool is_plain(std::uint32_t code_point) const { return (traits_[code_point] & kPlain) != 0; }
  // Whether a character has the same replacement as a space.
  bool is_space(std::uint32_t code_point) const { return as_normal(code_point) == space_; }

  // Whether a text can be cut between two characters.
  bool is_cut(std::uint32_t before, std::uint32_t after) const {
    if ((before | after) < kAscii) return !joined_ascii(static_cast<Byte>(before), static_cast<Byte>(after));
    return is_cut_by_hash({before, traits_[before]}, {after, traits_[after]});
  }

  // Calls the sink with each word from `p` on, until it has no room or the text ends; returns where to continue. p < end.
  template <class Sink>
  const Byte* operator()(const Byte* p, const Byte* end, Sink& shared_sink) const {
    Sink sink = shared_sink;  // a copy, which the compiler keeps in registers
    const Byte* start = p;
    while (start != end && sink.has_room()) {
      Seen before;
      p += see(p, end, before);
      while (p != end) {
        if (const Byte next = *p; (before.value | next) < kAscii) [[likely]] {
          if (!joined_ascii(static_cast<Byte>(before.value), next)) break;
          before = {next, ascii_traits_[next]};
          ++p;
        } else {
          Seen now;
          const std::size_t length = see(p, end, now);
          if (is_cut_by_hash(before, now)) break;
          before = now;
          p += length;
        }
      }
      sink(start, p);
      start = p;
    }
    shared_sink = sink;
    return start;
  }

 private:
  static constexpr std::uint32_t kAscii = 0x80;
  static constexpr std::uint8_t kPlain = 1, kEndsKnown = 2, kBeginsKnown = 4, kIsKnown = 8;
  static constexpr std::uint8_t kKnown = kEndsKnown | kBeginsKnown | kIsKnown;
  static constexpr std::size_t kBitsPerPair = 16;
  static constexpr std::size_t kMostPairs = std::size_t{1} << 26;

  static Bytes bytes_of(std::string_view text) { return {reinterpret_cast<const Byte*>(text.data()), text.size()}; }

  struct Pair {
    std::uint32_t before, after;
    auto operator<=>(const Pair&) const = default;
  };

  // A list of pairs without most repetitions.
  class Pairs {
   public:
    void add(Pair pair) {
      Pair& slot = recent_[hash_words(pair.before, pair.after, 0) >> (64 - kRecentBits)];
      if (slot == pair) return;
      slot = pair;
      all_.push_back(pair);
      if (all_.size() > kMostPairs) throw std::length_error("the pieces and keys have too many neighbours");
    }

    std::vector<Pair> sorted() const {
      std::vector<Pair> made(all_);
      std::ranges::sort(made);
      const auto twice = std::ranges::unique(made);
      made.erase(twice.begin(), twice.end());
      return made;
    }

   private:
    static constexpr unsigned kRecentBits = 14;
    std::vector<Pair> all_;
    std::vector<Pair> recent_ = std::vector<Pair>(std::size_t{1} << kRecentBits, Pair{~0u, ~0u});
  };

  std::uint32_t as_normal(std::uint32_t code_point) const { return code_point == ' ' ? space_ : code_point; }

  bool joined_ascii(Byte before, Byte after) const { return (rows_[before][after >> 6] >> (after & 63) & 1) != 0; }

  // A character with its traits.
  struct Seen {
    std::uint32_t value;
    std::uint8_t traits;
  };

  // Reads the character at `p` (p < end); returns its length in bytes.
  TOKBENCH_ALWAYS_INLINE std::size_t see(const Byte* p, const Byte* end, Seen& seen) const {
    const CodePoint found = code_point_at(p, end);
    seen = {found.value, found.value < kAscii ? ascii_traits_[found.value] : traits_[found.value]};
    return found.length;
  }

  static bool may_be_cut(std::uint8_t before, std::uint8_t after) {
    return (before & after & kPlain) != 0 && ((before & kEndsKnown) != 0 || (after & kBeginsKnown) != 0);
  }

  bool is_cut_by_hash(Seen before, Seen after) const {
    if (!may_be_cut(before.traits, after.traits)) return false;
    const std::uint64_t bit = bit_of({as_normal(before.value), as_normal(after.value)});
    return (joined_[bit >> 6] >> (bit & 63) & 1) == 0;
  }

  std::uint64_t bit_of(Pair pair) const { return hash_words(pair.before, pair.after, 0) >> shift_; }

  void make_not_plain(std::uint32_t code_point) {
    traits_.at(code_point) &= static_cast<std::uint8_t>(~kPlain);
  }

  // Adds the pairs of adjacent characters of a text.
  void add_neighbours(Bytes text, Pairs& pairs) {
    for_each_character(text, [&, before = CodePoint::kNoCharacter, at = 0](std::uint32_t now) mutable {
      if (now == CodePoint::kNoCharacter) cuts_ = false;
      now = as_normal(now);
      if (at++ != 0) pairs.add({before, now});
      before = now;
    });
  }

  template <class Use>
  static void for_each_character(Bytes text, Use use) {
    const Byte* const end = text.data() + text.size();
    for (const Byte* p = text.data(); p != end;) {
      const CodePoint character = code_point_at(p, end);
      use(character.value);
      p += character.length;
    }
  }

  // A key of one character makes that not plain. The characters of a longer key are adjacent; its first and last character are
  // also adjacent to whatever the ends of its replacement are adjacent to, and known only if those are.
  void add_keys(const CharacterMap& map, Pairs& pairs) {
    if (map.is_empty()) return;
    make_not_plain(0);
    Pairs firsts_found, lasts_found;  // pairs of an end of a replacement and the corresponding end of its key
    map.for_each_key([&](Bytes key, Bytes replacement) {
      std::uint32_t first = CodePoint::kNoCharacter, last = first, size = 0;
      add_neighbours(key, pairs);
      for_each_character(key, [&](std::uint32_t now) {
        if (size++ == 0) first = now;
        last = now;
      });
      begins_with_space_ |= first == ' ';
      const auto spaces = static_cast<std::size_t>(std::ranges::count(replacement, Byte{' '}));
      most_made_ = std::max(most_made_, (replacement.size() + 2 * spaces + key.size() - 1) / key.size());
      if (size == 1 || replacement.empty() || replacement.front() == ' ' || replacement.back() == ' ') {
        make_not_plain(first);
        make_not_plain(last);
        return;
      }
      std::uint32_t made_first = CodePoint::kNoCharacter, made_last = made_first, made = 0;
      for_each_character(replacement, [&](std::uint32_t now) {
        if (made++ == 0) made_first = now;
        made_last = now;
      });
      firsts_found.add({made_first, as_normal(first)});
      lasts_found.add({made_last, as_normal(last)});
      if ((traits_[made_first] & kIsKnown) == 0) traits_.at(first) &= static_cast<std::uint8_t>(~kBeginsKnown);
      if ((traits_[made_last] & kIsKnown) == 0) traits_.at(last) &= static_cast<std::uint8_t>(~kEndsKnown);
    });
    const auto of = [](const std::vector<Pair>& all, std::uint32_t end) { return std::ranges::equal_range(all, end, {}, &Pair::before); };
    const std::vector<Pair> firsts = firsts_found.sorted(), lasts = lasts_found.sorted();
    for (const Pair pair : pairs.sorted()) {
      for (const Pair& left : of(lasts, pair.before)) {
        pairs.add({left.after, pair.after});
        for (const Pair& right : of(firsts, pair.after)) pairs.add({left.after, right.after});
      }
      for (const Pair& right : of(firsts, pair.after)) pairs.add({pair.before, right.after});
    }
  }

  void make_tables(const std::vector<Pair>& pairs) {
    const std::size_t bits = std::bit_ceil(std::max<std::size_t>(pairs.size() * kBitsPerPair, 64));
    joined_.assign(bits / 64, 0);
    shift_ = static_cast<unsigned>(64 - std::countr_zero(bits));
    for (const Pair& pair : pairs) joined_[bit_of(pair) >> 6] |= std::uint64_t{1} << (bit_of(pair) & 63);
    for (std::uint32_t before = 0; before < kAscii; ++before) {
      ascii_traits_[before] = traits_[before];
      for (std::uint32_t after = 0; after < kAscii; ++after) {
        const bool is_joined = !may_be_cut(traits_[before], traits_[after]) ||
                               std::ranges::binary_search(pairs, Pair{as_normal(before), as_normal(after)});
        if (is_joined) rows_[before][after >> 6] |= std::uint64_t{1} << (after & 63);
      }
    }
  }

  std::uint32_t space_;
  bool begins_with_space_ = false;
  bool cuts_ = true;
  std::size_t most_made_ = 3;  // for a space, and for an invalid byte, which becomes U+FFFD
  CharacterTable<std::uint8_t> traits_{kPlain};
  std::uint64_t rows_[kAscii][2] = {};  // one bit for each pair of ASCII characters: whether they are adjacent somewhere
  std::uint8_t ascii_traits_[kAscii] = {};
  std::vector<std::uint64_t> joined_;
  unsigned shift_ = 0;
};

}  // namespace tokbench
