// The pieces of a vocabulary over their characters: all that end at a place of a text, in one walk through the text.
//
// A node stands for what some piece begins with. Reading a character leads to the longest such beginning that the text now ends
// with: to the child by it, or to that of the node whose beginning is the longest one that this one ends with (its *link*), and
// so on (Aho and Corasick 1975). The pieces that end there stand side by side, the shortest first; where no piece is the last
// character alone, the unknown token of one character is the first of them. Nearly all places have one or two: their number is
// made even by one that is never the best, so that two can be looked at at once.
//
// Characters are numbered, from 1 on in the order of their code points; 0 are all that are in no piece. The child of a node is
// where its base and the number lead, joined by exclusive or, if the node there has it for its parent.
//
// A walk waits for memory at each step, and no processor foretells where it goes. Texts are walked through side by side, without
// a branch in a step, and what the next step of each needs is fetched while the others go on.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "common/big_pages.hpp"
#include "common/compiler.hpp"
#include "encoding/id.hpp"
#include "normalization/character_table.hpp"

namespace tokbench {

template <class Real>
class PieceAutomaton {
 public:
  static constexpr Id kNone = 0xFFFFFFFFu;

  struct Piece {
    std::string_view text;
    Id id;
    Real score;
  };

  // The number of a character, of those that the pieces have.
  using Number = std::uint32_t;
  // A node, by where it is.
  using Place = std::uint32_t;
  // A piece that ends at a place, the unknown token of one character, or what makes their number even: of no real score.
  struct Ending {
    Real score;
    Id id;
    std::uint32_t bits;

    std::uint32_t length() const { return bits & ~kIsLast; }  // in characters
    bool is_last() const { return (bits & kIsLast) != 0; }
    bool is_real() const { return score != -std::numeric_limits<Real>::infinity(); }
  };

  // Pieces of any order; none empty, none twice. Throws std::invalid_argument, and std::length_error for pieces that end in one
  // another so often that they would take too much memory.
  PieceAutomaton(std::span<const Piece> pieces, Id unknown, Real unknown_score) : endings_{{unknown_score, unknown, 1}} {
    end_list(0);
    const std::vector<const Piece*> sorted = sorted_by_text(pieces);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (sorted[i]->text.empty()) throw std::invalid_argument("a piece is empty");
      if (i > 0 && sorted[i]->text == sorted[i - 1]->text) throw std::invalid_argument("a piece occurs twice");
    }
    most_endings_ = kEndingsPerPiece * pieces.size() + kFirstEndings;
    grow(numbered(sorted));
  }

  Number number_of(std::uint32_t code_point) const { return numbers_[code_point]; }
  const CharacterTable<Number>& numbers() const { return numbers_; }
  const Ending& ending(std::uint32_t number) const { return endings_[number]; }

  // A text, as a part of the numbers of all.
  struct Walk {
    std::size_t at, stop;
    Place place = kRoot;
    Place next = kRoot;  // where the child by the next character is, if there is one
  };

  // Writes for each character the number of the shortest piece that ends with it; the others are after that, up to the last. The
  // walks are used up. Numbers are read up to the place after each of them.
  void walk(std::span<Walk> walks, const Number* numbers, std::uint32_t* endings) const {
    std::size_t left = 0;
    for (const Walk& walk : walks) {
      if (walk.at == walk.stop) continue;
      walks[left] = walk;
      go_to(walks[left++], walk.place, numbers);
    }
    while (left != 0) {
      for (std::size_t i = 0; i < left;) {
        step(walks[i], numbers, endings);
        if (walks[i].at != walks[i].stop) {
          ++i;
        } else {
          walks[i] = walks[--left];
        }
      }
    }
  }

  // Calls use(number of an ending, characters) for each piece that stands at the beginning of some numbers, the shortest first.
  template <class Use>
  void for_each_at(std::span<const Number> numbers, Use use) const {
    Place place = kRoot;
    for (std::uint32_t length = 1; length <= numbers.size(); ++length) {
      if ((place = child(place, numbers[length - 1])) == kRoot) return;
      if (ends_piece(place, length)) use(longest_at(place), length);
    }
  }

  // The id of the piece of these characters; kNone where there is none.
  Id find(std::span<const Number> numbers) const {
    Place place = kRoot;
    for (const Number number : numbers) {
      if ((place = child(place, number)) == kRoot) return kNone;
    }
    return ends_piece(place, static_cast<std::uint32_t>(numbers.size())) ? endings_[longest_at(place)].id : kNone;
  }

 private:
  static constexpr std::uint32_t kIsLast = 1u << 31;
  static constexpr std::uint32_t kLengthOfNone = 2;  // as of another one beside that of one character
  static constexpr Place kRoot = 0, kNoParent = 0xFFFFFFFFu;
  static constexpr std::size_t kSmallestBlock = 256;
  static constexpr std::size_t kMostNodes = std::size_t{1} << 22;
  static constexpr std::size_t kEndingsPerPiece = 16, kFirstEndings = 1 << 16;

  struct Node {
    Place base = 0;
    Place parent = kNoParent;  // of a free one, and of the root, none
    Place link = kRoot;
    std::uint32_t endings = 0;
  };

  // Pieces by their texts, each in the numbers of its characters.
  struct Numbered {
    std::vector<const Piece*> pieces;
    std::vector<Number> numbers;      // of one piece after those of another
    std::vector<std::uint32_t> starts;  // and after the last one

    std::uint32_t length(std::size_t i) const { return starts[i + 1] - starts[i]; }
    Number number(std::size_t i, std::uint32_t at) const { return numbers[starts[i] + at]; }
  };

  // Pieces that begin with the characters of a node, this many.
  struct Range {
    std::size_t first, after;
    std::uint32_t length;
    Place place;
  };

  // A node, with the piece that it is.
  struct Added {
    Place place;
    Number number;
    const Piece* piece;
  };

  Place child(Place place, Number number) const {
    const Place next = nodes_[place].base ^ number;
    return nodes_[next].parent == place ? next : kRoot;
  }

  // To the child by the next character; where there is none, along the link; and past the character where that is not possible.
  TOKBENCH_ALWAYS_INLINE void step(Walk& walk, const Number* numbers, std::uint32_t* endings) const {
    const Node& next = nodes_[walk.next];
    const bool is_child = next.parent == walk.place, is_root = walk.place == kRoot;
    const std::uint32_t if_child = 0u - static_cast<std::uint32_t>(is_child);
    const std::uint32_t ending = next.endings & if_child;
    endings[walk.at] = ending;
    prefetch(&endings_[ending]);
    walk.at += static_cast<std::size_t>(is_child | is_root);
    go_to(walk, (walk.next & if_child) | (nodes_[walk.place].link & ~if_child), numbers);
  }

  // Fetches the two places where the next step may lead.
  TOKBENCH_ALWAYS_INLINE void go_to(Walk& walk, Place place, const Number* numbers) const {
    walk.place = place;
    walk.next = nodes_[place].base ^ numbers[walk.at];
    prefetch(&nodes_[walk.next]);
    prefetch(&nodes_[nodes_[place].link]);
  }

  // Whether the longest piece that ends at a node of so many characters is all that it stands for.
  bool ends_piece(Place place, std::uint32_t length) const {
    return nodes_[place].endings != 0 && endings_[longest_at(place)].length() == length;
  }

  // The number of the longest piece that ends there.
  std::uint32_t longest_at(Place place) const {
    std::uint32_t number = nodes_[place].endings;
    while (!endings_[number].is_last()) ++number;
    return endings_[number].is_real() ? number : number - 1;
  }

  // Most are distinguished by their first eight bytes, which are compared as one number.
  static std::vector<const Piece*> sorted_by_text(std::span<const Piece> pieces) {
    struct Entry {
      std::uint64_t beginning;
      const Piece* piece;
      bool operator<(const Entry& other) const {
        return beginning != other.beginning ? beginning < other.beginning : piece->text < other.piece->text;
      }
    };
    std::vector<Entry> entries;
    entries.reserve(pieces.size());
    for (const Piece& piece : pieces) {
      std::uint64_t beginning = 0;
      for (std::size_t i = 0; i < sizeof beginning; ++i) {
        beginning = beginning << 8 | (i < piece.text.size() ? static_cast<Byte>(piece.text[i]) : 0);
      }
      entries.push_back({beginning, &piece});
    }
    std::ranges::sort(entries, std::less<>());
    std::vector<const Piece*> sorted;
    sorted.reserve(entries.size());
    for (const Entry& entry : entries) sorted.push_back(entry.piece);
    return sorted;
  }

  // Numbers the characters of all pieces, and gives the pieces in them.
  Numbered numbered(const std::vector<const Piece*>& pieces) {
    Numbered made{pieces, {}, {0}};
    std::vector<std::uint32_t> characters;
    for (const Piece* const piece : pieces) {
      const auto* p = reinterpret_cast<const Byte*>(piece->text.data());
      for (const Byte* const end = p + piece->text.size(); p != end;) {
        const CodePoint character = code_point_at(p, end);
        if (character.value == CodePoint::kNoCharacter) throw std::invalid_argument("a piece is not UTF-8");
        if (numbers_[character.value] == 0) {
          numbers_.at(character.value) = 1;
          characters.push_back(character.value);
        }
        made.numbers.push_back(character.value);
        p += character.length;
      }
      made.starts.push_back(static_cast<std::uint32_t>(made.numbers.size()));
    }
    std::ranges::sort(characters);
    Number last = 0;
    for (const std::uint32_t character : characters) numbers_.at(character) = ++last;
    for (Number& number : made.numbers) number = numbers_[number];
    block_size_ = std::bit_ceil(std::max<std::size_t>(std::size_t{last} + 1, kSmallestBlock));
    return made;
  }

  // Beginnings of one another are made one after another, so that they are side by side in memory; and linked afterwards from
  // short ones to long ones, as links lead to shorter ones.
  void grow(const Numbered& numbered) {
    add_block();
    std::vector<Range> ranges{{0, numbered.pieces.size(), 0, kRoot}};
    std::vector<std::vector<Added>> by_length;
    std::vector<Number> numbers;
    while (!ranges.empty()) {
      auto [first, after, length, place] = ranges.back();
      ranges.pop_back();
      if (first != after && numbered.length(first) == length) ++first;
      if (first == after) continue;
      const std::size_t first_child = ranges.size();
      numbers.clear();
      while (first != after) {
        const Number number = numbered.number(first, length);
        std::size_t next = first + 1;
        while (next != after && numbered.number(next, length) == number) ++next;
        numbers.push_back(number);
        ranges.push_back({first, next, length + 1, kRoot});
        first = next;
      }
      // In the root's base nothing is joined: a character that begins pieces is where its number says.
      if (place != kRoot) nodes_[place].base = base_for(numbers);
      if (by_length.size() == length) by_length.emplace_back();
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        Range& range = ranges[first_child + i];
        range.place = nodes_[place].base ^ numbers[i];
        nodes_[range.place].parent = place;
        const bool is_piece = numbered.length(range.first) == range.length;
        by_length[length].push_back({range.place, numbers[i], is_piece ? numbered.pieces[range.first] : nullptr});
      }
    }
    for (std::uint32_t length = 1; length <= by_length.size(); ++length) {
      for (const Added& added : by_length[length - 1]) link(added, length);
    }
  }

  void link(const Added& added, std::uint32_t length) {
    Node& node = nodes_[added.place];
    for (Place shorter = node.parent; node.link == kRoot && shorter != kRoot;) {
      shorter = nodes_[shorter].link;
      node.link = child(shorter, added.number);
    }
    node.endings = nodes_[node.link].endings;
    if (added.piece != nullptr) node.endings = add_ending({added.piece->score, added.piece->id, length}, node.endings);
  }

  void add_block() {
    if (nodes_.size() + block_size_ > kMostNodes) throw std::length_error("the pieces have too many characters");
    nodes_.resize(nodes_.size() + block_size_);
  }

  bool is_free(Place place) const { return place != kRoot && nodes_[place].parent == kNoParent; }

  // A base from which all the numbers lead to free places. Nodes with many children leave places free for those with few.
  Place base_for(std::span<const Number> numbers) {
    for (Place& place = searched_to_[static_cast<std::size_t>(std::bit_width(numbers.size()))];; ++place) {
      if (place == nodes_.size()) add_block();
      const Place base = place ^ numbers.front();
      if (std::ranges::all_of(numbers, [&](Number number) { return is_free(base ^ number); })) return base;
    }
  }

  // A piece after those that it ends in.
  std::uint32_t add_ending(const Ending& ending, std::uint32_t shorter) {
    const std::size_t first = endings_.size();
    for (bool is_last = ending.length() == 1; !is_last; ++shorter) {
      if (endings_.size() >= most_endings_) throw std::length_error("the pieces end in one another too often");
      const Ending other = endings_[shorter];
      is_last = other.is_last();
      if (other.is_real()) endings_.push_back({other.score, other.id, other.length()});
    }
    endings_.push_back(ending);
    end_list(first);
    return static_cast<std::uint32_t>(first);
  }

  void end_list(std::size_t first) {
    if ((endings_.size() - first) % 2 != 0) endings_.push_back({-std::numeric_limits<Real>::infinity(), kNone, kLengthOfNone});
    endings_.back().bits |= kIsLast;
  }

  CharacterTable<Number> numbers_{0};
  std::size_t most_endings_ = 0;
  std::size_t block_size_ = 0;
  std::array<Place, 32> searched_to_{};  // for a base, by how many children there are
  std::vector<Node, BigPages<Node>> nodes_;
  std::vector<Ending> endings_;  // the unknown token, and what nodes have
};

}  // namespace tokbench
