// An Aho-Corasick automaton (1975) over the characters of the pieces: finds all pieces that end at each position of a text in one
// pass.
//
// A node stands for a prefix of pieces. Reading a character moves to the node of the longest such prefix that the text now ends
// with: to the node's child by that character, or else to that of its failure link, the longest proper suffix that is itself a
// prefix of a piece. The pieces that end at a node are stored contiguously, shortest first; if no piece is the last character
// alone, an unknown token of one character comes first. Nearly all positions have one or two endings, so lists are padded to an
// even length with an ending that never wins, and are processed in pairs.
//
// Characters are numbered from 1 in the order of their code points; 0 stands for all characters that are in no piece. Nodes are a
// double array: the child of a node is at its base XOR the character's number, if the node there names it as its parent.
//
// Every step waits for memory, and its target cannot be predicted. Therefore several texts are walked side by side, steps are
// branch-free, and the nodes that the next step of each text needs are prefetched while the others proceed.
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

  // The number of a character.
  using Number = std::uint32_t;
  // The index of a node.
  using Place = std::uint32_t;
  // A piece that ends at a position, the unknown token of one character, or padding, whose score is -infinity.
  struct Ending {
    Real score;
    Id id;
    std::uint32_t bits;

    std::uint32_t length() const { return bits & ~kIsLast; }  // in characters
    bool is_last() const { return (bits & kIsLast) != 0; }
    bool is_real() const { return score != -std::numeric_limits<Real>::infinity(); }
  };

  // Takes pieces in any order. Throws std::invalid_argument for empty or repeated pieces, and std::length_error for pieces that
  // are suffixes of one another so often that the lists would take too much memory.
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

  // A walk through one text, which is a range of the character numbers of all texts.
  struct Walk {
    std::size_t at, stop;
    Place place = kRoot;
    Place next = kRoot;  // candidate for the child by the next character
  };

  // Writes for each character the index of the first ending at its position; the others follow, up to the last. Consumes the
  // walks. Reads one number past the end of each walk.
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

  // Calls use(index of the ending, length in characters) for each piece that is a prefix of the numbers, shortest first.
  template <class Use>
  void for_each_at(std::span<const Number> numbers, Use use) const {
    Place place = kRoot;
    for (std::uint32_t length = 1; length <= numbers.size(); ++length) {
      if ((place = child(place, numbers[length - 1])) == kRoot) return;
      if (ends_piece(place, length)) use(longest_at(place), length);
    }
  }

  // The id of the piece with exactly these characters, or kNone.
  Id find(std::span<const Number> numbers) const {
    Place place = kRoot;
    for (const Number number : numbers) {
      if ((place = child(place, number)) == kRoot) return kNone;
    }
    return ends_piece(place, static_cast<std::uint32_t>(numbers.size())) ? endings_[longest_at(place)].id : kNone;
  }

 private:
  static constexpr std::uint32_t kIsLast = 1u << 31;
  static constexpr std::uint32_t kLengthOfNone = 2;  // length of padding, which follows an ending of one character
  static constexpr Place kRoot = 0, kNoParent = 0xFFFFFFFFu;
  static constexpr std::size_t kSmallestBlock = 256;
  static constexpr std::size_t kMostNodes = std::size_t{1} << 22;
  static constexpr std::size_t kEndingsPerPiece = 16, kFirstEndings = 1 << 16;

  struct Node {
    Place base = 0;
    Place parent = kNoParent;  // kNoParent for free nodes and the root
    Place link = kRoot;
    std::uint32_t endings = 0;
  };

  // The pieces sorted by text, with the numbers of their characters.
  struct Numbered {
    std::vector<const Piece*> pieces;
    std::vector<Number> numbers;        // of all pieces, concatenated
    std::vector<std::uint32_t> starts;  // where each piece starts, and the end of the last one

    std::uint32_t length(std::size_t i) const { return starts[i + 1] - starts[i]; }
    Number number(std::size_t i, std::uint32_t at) const { return numbers[starts[i] + at]; }
  };

  // The pieces that start with the prefix of a node, which has `length` characters.
  struct Range {
    std::size_t first, after;
    std::uint32_t length;
    Place place;
  };

  // A new node, the character that leads to it, and the piece that ends there (nullptr if none).
  struct Added {
    Place place;
    Number number;
    const Piece* piece;
  };

  Place child(Place place, Number number) const {
    const Place next = nodes_[place].base ^ number;
    return nodes_[next].parent == place ? next : kRoot;
  }

  // Moves to the child by the next character; if there is none, along the failure link; at the root, past the character.
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

  // Moves to a node and prefetches the two nodes that the next step may lead to.
  TOKBENCH_ALWAYS_INLINE void go_to(Walk& walk, Place place, const Number* numbers) const {
    walk.place = place;
    walk.next = nodes_[place].base ^ numbers[walk.at];
    prefetch(&nodes_[walk.next]);
    prefetch(&nodes_[nodes_[place].link]);
  }

  // Whether a node whose prefix has `length` characters is itself a piece.
  bool ends_piece(Place place, std::uint32_t length) const {
    return nodes_[place].endings != 0 && endings_[longest_at(place)].length() == length;
  }

  // The index of the longest piece that ends at a node.
  std::uint32_t longest_at(Place place) const {
    std::uint32_t number = nodes_[place].endings;
    while (!endings_[number].is_last()) ++number;
    return endings_[number].is_real() ? number : number - 1;
  }

  // Compares the first eight bytes as one number, which distinguishes most pieces.
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

  // Numbers the characters of all pieces, and returns the pieces in these numbers.
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

  // Creates the nodes depth first, so that a node and its descendants are close in memory. Failure links lead to shorter prefixes
  // and are therefore set afterwards, by increasing length.
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
      // The root has base 0: its child by a character is at the character's number.
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

  // Finds a base for which the children of all numbers are free. The search resumes by number of children, so that nodes with few
  // children fill the gaps that those with many leave.
  Place base_for(std::span<const Number> numbers) {
    for (Place& place = searched_to_[static_cast<std::size_t>(std::bit_width(numbers.size()))];; ++place) {
      if (place == nodes_.size()) add_block();
      const Place base = place ^ numbers.front();
      if (std::ranges::all_of(numbers, [&](Number number) { return is_free(base ^ number); })) return base;
    }
  }

  // Appends the list of endings of a node: those of its suffixes, then its own piece.
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
  std::array<Place, 32> searched_to_{};  // where the search for a base resumes, by log2 of the number of children
  std::vector<Node, BigPages<Node>> nodes_;
  std::vector<Ending> endings_;  // the unknown token, then the lists of all nodes
};

}  // namespace tokbench
