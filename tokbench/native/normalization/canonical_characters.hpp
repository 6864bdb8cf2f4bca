// The character properties that NFC needs: combining classes, decompositions and compositions.
#pragma once

#include <iterator>
#include <vector>

#include "canonical_tables.hpp"
#include "character_table.hpp"
#include "common/hashing.hpp"

namespace tokbench {

// Hangul syllables are composed of two or three letters arithmetically.
struct Hangul {
  static constexpr std::uint32_t kSyllables = 0xAC00, kLeads = 0x1100, kVowels = 0x1161, kTrails = 0x11A7;
  static constexpr std::uint32_t kNumLeads = 19, kNumVowels = 21, kNumTrails = 28;  // including "no trail"
  static constexpr bool is_syllable(std::uint32_t c) { return c - kSyllables < kNumLeads * kNumVowels * kNumTrails; }
  static constexpr bool is_open_syllable(std::uint32_t c) { return is_syllable(c) && (c - kSyllables) % kNumTrails == 0; }
  static constexpr bool is_lead(std::uint32_t c) { return c - kLeads < kNumLeads; }
  static constexpr bool is_vowel(std::uint32_t c) { return c - kVowels < kNumVowels; }
  static constexpr bool is_trail(std::uint32_t c) { return c - (kTrails + 1) < kNumTrails - 1; }
};

class CanonicalCharacters {
 public:
  static constexpr std::uint32_t kNone = CodePoint::kNoCharacter;

  // A shared instance, created on first use.
  static const CanonicalCharacters& all() {
    static const CanonicalCharacters made;
    return made;
  }

  // The combining class of a character; also accepts kNone.
  std::uint8_t combining_class(std::uint32_t c) const { return traits_[c].combining_class; }

  // Whether NFC neither changes a character nor combines it with the text before it: it has no combining class, is not the
  // second part of a composition, and is not decomposed. It may still be composed with the text after it.
  bool is_still(std::uint32_t c) const { return (moving_in(c >> 6) >> (c & 63) & 1) == 0; }
  // One bit for each of the 64 characters from 64 * block on: whether it is not still.
  std::uint64_t moving_in(std::uint32_t block) const { return moving_[blocks_[block]]; }

  // Whether NFC always decomposes a character.
  bool is_taken_apart(std::uint32_t c) const { return traits_[c].is_taken_apart; }
  // Whether a character can be composed with one before it.
  bool is_second_part(std::uint32_t c) const { return traits_[c].is_second_part; }

  // Calls use(part) for each character of the full decomposition, which may be the character itself.
  template <class Use>
  void decompose(std::uint32_t c, const Use& use) const {
    if (Hangul::is_syllable(c)) return decompose_syllable(c - Hangul::kSyllables, use);
    const CanonicalParts* const parts = parts_of(c);
    if (parts == nullptr) return use(c);
    decompose(parts->first, use);
    if (parts->second != 0) decompose(parts->second, use);
  }
  bool is_made_of_parts(std::uint32_t c) const { return Hangul::is_syllable(c) || parts_of(c) != nullptr; }

  // The composition of two characters, or kNone.
  std::uint32_t composed(std::uint32_t first, std::uint32_t second) const {
    if (Hangul::is_lead(first) && Hangul::is_vowel(second)) {
      const std::uint32_t lead = first - Hangul::kLeads, vowel = second - Hangul::kVowels;
      return Hangul::kSyllables + (lead * Hangul::kNumVowels + vowel) * Hangul::kNumTrails;
    }
    if (Hangul::is_open_syllable(first) && Hangul::is_trail(second)) return first + second - Hangul::kTrails;
    const CanonicalParts* const found = find(wholes_, hash_words(first, second, 0), [&](const CanonicalParts& each) {
      return each.first == first && each.second == second;
    });
    return found == nullptr ? kNone : found->whole;
  }

 private:
  struct Traits {
    std::uint8_t combining_class = 0;
    bool is_taken_apart = false;
    bool is_second_part = false;
  };
  static constexpr unsigned kTableBits = 13;
  static_assert(2 * (std::size(kComposed) + std::size(kTakenApart)) <= std::size_t{1} << kTableBits, "a full table has no end");
  using Table = std::vector<const CanonicalParts*>;

  CanonicalCharacters() : blocks_((kNone >> 6) + 1, 0), moving_(1, 0) {
    for (const CombiningClassRun& run : kCombiningClasses) {
      for (std::uint32_t c = run.first; c <= run.last; ++c) {
        traits_.at(c).combining_class = static_cast<std::uint8_t>(run.number);
        make_moving(c);
      }
    }
    for (const CanonicalParts& each : kComposed) {
      add(parts_, hash_words(each.whole, 0, 0), each);
      add(wholes_, hash_words(each.first, each.second, 0), each);
      make_second_part(each.second);
    }
    for (const CanonicalParts& each : kTakenApart) {
      add(parts_, hash_words(each.whole, 0, 0), each);
      traits_.at(each.whole).is_taken_apart = true;
      make_moving(each.whole);
    }
    for (std::uint32_t i = 0; i < Hangul::kNumVowels; ++i) make_second_part(Hangul::kVowels + i);
    for (std::uint32_t i = 1; i < Hangul::kNumTrails; ++i) make_second_part(Hangul::kTrails + i);
  }

  void make_second_part(std::uint32_t c) {
    traits_.at(c).is_second_part = true;
    make_moving(c);
  }

  void make_moving(std::uint32_t c) {
    std::uint16_t& block = blocks_[c >> 6];
    if (block == 0) {
      block = static_cast<std::uint16_t>(moving_.size());
      moving_.push_back(0);
    }
    moving_[block] |= std::uint64_t{1} << (c & 63);
  }

  static void add(Table& table, std::uint64_t hash, const CanonicalParts& parts) {
    std::size_t at = hash >> (64 - kTableBits);
    while (table[at] != nullptr) at = (at + 1) % table.size();
    table[at] = &parts;
  }

  template <class IsIt>
  static const CanonicalParts* find(const Table& table, std::uint64_t hash, const IsIt& is_it) {
    std::size_t at = hash >> (64 - kTableBits);
    while (table[at] != nullptr && !is_it(*table[at])) at = (at + 1) % table.size();
    return table[at];
  }

  const CanonicalParts* parts_of(std::uint32_t c) const {
    return find(parts_, hash_words(c, 0, 0), [&](const CanonicalParts& each) { return each.whole == c; });
  }

  template <class Use>
  static void decompose_syllable(std::uint32_t number, const Use& use) {
    use(Hangul::kLeads + number / (Hangul::kNumVowels * Hangul::kNumTrails));
    use(Hangul::kVowels + number / Hangul::kNumTrails % Hangul::kNumVowels);
    if (number % Hangul::kNumTrails != 0) use(Hangul::kTrails + number % Hangul::kNumTrails);
  }

  CharacterTable<Traits> traits_{Traits{}};
  std::vector<std::uint16_t> blocks_;  // for each 64 characters an index into moving_; 0: all are still
  std::vector<std::uint64_t> moving_;
  Table parts_ = Table(std::size_t{1} << kTableBits, nullptr);   // by composed character
  Table wholes_ = Table(std::size_t{1} << kTableBits, nullptr);  // by both parts
};

}  // namespace tokbench
