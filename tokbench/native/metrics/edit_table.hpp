// Alignments of two short texts with a minimal number of edits.
//
// Column j of the table of edit distances is for the first j characters of the other text. It is kept as bits, one for each
// character of the text: where the distance rises by one, and where it falls by one, from one beginning of the text to the next;
// and its level, where the diagonal adds nothing. The next column takes a few operations on words of 64 bits.
//
// Source: Hyyrö 2003, "A Bit-Vector Algorithm for Computing Levenshtein and Damerau Edit Distances", after Myers 1999. The
// definition is tokbench/metrics/edit_table.py, step by step the same.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace tokbench::metrics {

// A step takes a character of both texts, of the text alone, of the other one alone, or different ones of both.
enum class EditStep : std::uint8_t { Same, Lost, Found, Changed };

class EditTable {
 public:
  struct Text {
    std::span<const std::uint32_t> characters;
    std::span<const std::uint8_t> is_space;  // by character
    std::size_t size() const { return characters.size(); }
  };
  struct End {
    std::size_t row, column;
  };

  EditTable(const Text& text, const Text& other)
      : text_(text), other_(other), words_((text.size() + 63) / 64), last_mask_(text.size() % 64 == 0 ? ~Word{0} : (Word{1} << text.size() % 64) - 1) {
    bits_.resize((other.size() + 1) * kParts * words_);
    for (std::size_t word = 0; word < words_; ++word) part(0, Rises)[word] = word + 1 < words_ ? ~Word{0} : last_mask_;
    const Places places(text, words_);
    for (std::size_t column = 1; column <= other.size(); ++column) add_column(column, places.of(other.characters[column - 1]));
  }

  // The beginnings, one of them a whole text, with the fewest edits, to which the difference in length of what follows is added,
  // where the texts go on to these lengths.
  End best_end(std::size_t length, std::size_t other_length) const {
    const std::size_t rows = text_.size(), columns = other_.size();
    std::vector<std::pair<std::int64_t, End>> ends;
    std::int64_t distance = static_cast<std::int64_t>(columns);
    for (std::size_t row = 0;; row = std::min(row + kEndStride, rows)) {
      ends.push_back({distance, {row, columns}});
      if (row == rows) break;
      for (std::size_t i = row; i < std::min(row + kEndStride, rows); ++i) distance += rise(columns, i);
    }
    for (std::size_t column = 0; column < columns; column += kEndStride) {
      std::int64_t at = static_cast<std::int64_t>(column);
      for (std::size_t word = 0; word < words_; ++word) {
        at += std::popcount(part(column, Rises)[word]) - std::popcount(part(column, Falls)[word]);
      }
      ends.push_back({at, {rows, column}});
    }
    const auto key = [&](const std::pair<std::int64_t, End>& end) {
      const auto [row, column] = end.second;
      const std::int64_t rest = static_cast<std::int64_t>(length - row) - static_cast<std::int64_t>(other_length - column);
      return std::tuple(3 * end.first + std::abs(rest), -static_cast<std::int64_t>(row + column), -static_cast<std::int64_t>(row));
    };
    return std::ranges::min(ends, {}, key).second;
  }

  // The steps of a minimal alignment of two beginnings. Of several, it is one that replaces characters by characters and white
  // space by white space.
  std::vector<EditStep> steps(End end) const {
    std::vector<EditStep> found;
    auto [i, j] = end;
    while (i != 0 && j != 0) {
      const bool is_alike = text_.is_space[i - 1] == other_.is_space[j - 1];
      const bool can_replace = !bit(j, Level, i - 1);
      const bool can_insert = !bit(j - 1, Rises, i - 1) && can_replace != bit(j - 1, Falls, i - 1);
      const bool can_delete = bit(j, Rises, i - 1);
      const bool is_equal = text_.characters[i - 1] == other_.characters[j - 1];
      if (!is_equal && !(can_replace && is_alike) && can_insert && (other_.is_space[j - 1] != 0 || !can_delete)) {
        --j;
        found.push_back(EditStep::Found);
      } else if (!is_equal && !(can_replace && is_alike) && can_delete) {
        --i;
        found.push_back(EditStep::Lost);
      } else {
        --i, --j;
        found.push_back(is_equal ? EditStep::Same : EditStep::Changed);
      }
    }
    found.insert(found.end(), i, EditStep::Lost);
    found.insert(found.end(), j, EditStep::Found);
    std::ranges::reverse(found);
    return found;
  }

 private:
  using Word = std::uint64_t;
  enum Part : std::size_t { Rises, Falls, Level };
  static constexpr std::size_t kParts = 3;
  static constexpr std::size_t kEndStride = 8;

  // For each character of a text, the bits of its places.
  class Places {
   public:
    Places(const Text& text, std::size_t words) : words_(words), distinct_(text.characters.begin(), text.characters.end()) {
      std::ranges::sort(distinct_);
      const auto twice = std::ranges::unique(distinct_);
      distinct_.erase(twice.begin(), twice.end());
      bits_.resize((distinct_.size() + 1) * words);
      for (std::size_t i = 0; i < text.size(); ++i) bits_[number_of(text.characters[i]) * words + i / 64] |= Word{1} << i % 64;
    }
    const Word* of(std::uint32_t character) const {
      const std::size_t number = number_of(character);
      const bool is_there = number < distinct_.size() && distinct_[number] == character;
      return bits_.data() + (is_there ? number : distinct_.size()) * words_;
    }

   private:
    std::size_t number_of(std::uint32_t character) const {
      return static_cast<std::size_t>(std::ranges::lower_bound(distinct_, character) - distinct_.begin());
    }
    std::size_t words_;
    std::vector<std::uint32_t> distinct_;
    std::vector<Word> bits_;  // the last ones, of no character, are zero
  };

  Word* part(std::size_t column, Part which) { return bits_.data() + (column * kParts + which) * words_; }
  const Word* part(std::size_t column, Part which) const { return bits_.data() + (column * kParts + which) * words_; }
  bool bit(std::size_t column, Part which, std::size_t row) const { return (part(column, which)[row / 64] >> row % 64 & 1) != 0; }
  std::int64_t rise(std::size_t column, std::size_t row) const { return std::int64_t{bit(column, Rises, row)} - std::int64_t{bit(column, Falls, row)}; }

  void add_column(std::size_t column, const Word* equal) {
    const Word *const rises = part(column - 1, Rises), *const falls = part(column - 1, Falls);
    Word *const new_rises = part(column, Rises), *const new_falls = part(column, Falls), *const level = part(column, Level);
    Word carry = 0, across_before = 1, down_before = 0;  // the first row always rises
    for (std::size_t word = 0; word < words_; ++word) {
      const Word mask = word + 1 < words_ ? ~Word{0} : last_mask_;
      const Word matched = equal[word] & rises[word];
      const Word partial = matched + rises[word], sum = partial + carry;
      carry = Word{partial < matched} | Word{sum < partial};
      level[word] = ((sum ^ rises[word]) | equal[word] | falls[word]) & mask;
      const Word ahead = falls[word] | (~(level[word] | rises[word]) & mask), down = rises[word] & level[word];
      const Word across = ahead << 1 | across_before;
      new_rises[word] = (down << 1 | down_before | ~(level[word] | across)) & mask;
      new_falls[word] = across & level[word];
      across_before = ahead >> 63;
      down_before = down >> 63;
    }
  }

  Text text_, other_;
  std::size_t words_;
  Word last_mask_;
  std::vector<Word> bits_;
};

}  // namespace tokbench::metrics
