// The pieces of a vocabulary as a tree over their bytes: all that begin at a place of a text, in one walk.
//
// A double array: the child of a node by a byte is where the node's base and the byte lead, joined by exclusive or, if a node is
// there that this byte leads to; no two nodes have the same base, and 0 is the base of those without children. A walk waits for
// memory at each step, so that a node is small:
//
//   bits    0-7                   8            9                 10-31    32-63 (or 95)
//           the byte that leads   a node is    a piece ends      base     the score of the piece
//           here                  here         here
//
// The id of a piece is beside the array: it is asked for the few pieces of the best way alone. What follows the first character
// of a piece is found by its code point at once, up to U+FFFF.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "common/utf8.hpp"
#include "encoding/id.hpp"

namespace tokbench {

template <class Real>
class PieceTree {
 public:
  static constexpr Id kNone = 0xFFFFFFFFu;

  struct Piece {
    std::string_view text;
    Id id;
    Real score;
  };

  // A place of the array.
  using Place = std::uint32_t;

  // Pieces of any order; none empty, none twice.
  explicit PieceTree(std::vector<Piece> pieces) {
    std::ranges::sort(pieces, {}, &Piece::text);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].text.empty()) throw std::invalid_argument("a piece is empty");
      if (i > 0 && pieces[i].text == pieces[i - 1].text) throw std::invalid_argument("a piece occurs twice");
    }
    add_block();
    free_.erase(free_.begin());
    grow(pieces);
    free_ = {};
    is_base_ = {};
    note_first_characters();
  }

  // Calls use(place, score, bytes behind `p`) for each piece that stands at `p` (p < end), the shortest first.
  template <class Use>
  TOKBENCH_ALWAYS_INLINE void for_each_at(const Byte* p, const Byte* end, Use use) const {
    Place place;
    const Byte* next = behind_first_character(p, end, place);
    while (place != kNowhere) {
      const Node& node = nodes_[place];
      if (node.ends_piece()) use(place, node.real_score(), static_cast<std::size_t>(next - p));
      if (next == end) return;
      place = child(node, *next++);
    }
  }

  Id id_at(Place place) const { return ids_[place]; }

  // The id of a piece; kNone where there is none.
  Id find(Bytes text) const {
    Place place = 0;
    for (const Byte byte : text) {
      if ((place = child(nodes_[place], byte)) == kNowhere) return kNone;
    }
    return nodes_[place].ends_piece() ? ids_[place] : kNone;
  }

 private:
  static constexpr Place kNowhere = 0xFFFFFFFFu;
  static constexpr std::uint32_t kIsNode = 1u << 8, kEndsPiece = 1u << 9;
  static constexpr unsigned kBaseShift = 10;
  static constexpr std::size_t kBlockSize = 256;
  static constexpr std::size_t kMostNodes = std::size_t{1} << (32 - kBaseShift);
  static constexpr std::size_t kMostTried = 64;  // free places, before there are new ones

  struct Node {
    std::uint32_t bits = 0;
    std::array<std::uint32_t, sizeof(Real) / sizeof(std::uint32_t)> score{};

    std::uint32_t base() const { return bits >> kBaseShift; }
    bool ends_piece() const { return (bits & kEndsPiece) != 0; }
    bool is_led_to_by(Byte byte) const { return (bits & (kIsNode | 0xFF)) == (kIsNode | byte); }
    Real real_score() const { return std::bit_cast<Real>(score); }
  };

  struct Range {
    std::size_t first, behind, depth;
    Place place;
  };

  Place child(const Node& node, Byte byte) const {
    const Place next = node.base() ^ byte;
    return nodes_[next].is_led_to_by(byte) ? next : kNowhere;
  }

  // Where the walk goes on behind the first character, and from which place; kNowhere where no piece begins with it.
  const Byte* behind_first_character(const Byte* p, const Byte* end, Place& place) const {
    const std::uint32_t lead = p[0];
    if (lead < 0x80) {
      place = first_characters_[lead];
      return p + 1;
    }
    if (lead >= 0xE0 && lead < 0xF0 && end - p >= 3 && is_continuation(p[1]) && is_continuation(p[2])) {
      const std::uint32_t code_point = (lead & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
      place = code_point >= 0x800 ? first_characters_[code_point] : kNowhere;
      return p + 3;
    }
    if (lead >= 0xC2 && lead < 0xE0 && end - p >= 2 && is_continuation(p[1])) {
      place = first_characters_[(lead & 0x1F) << 6 | (p[1] & 0x3Fu)];
      return p + 2;
    }
    place = child(nodes_[0], p[0]);
    return p + 1;
  }

  void add_block() {
    const auto first = static_cast<Place>(nodes_.size());
    if (nodes_.size() + kBlockSize > kMostNodes) throw std::length_error("the pieces have too many bytes");
    nodes_.resize(nodes_.size() + kBlockSize);
    ids_.resize(nodes_.size(), kNone);
    is_base_.resize(nodes_.size());
    for (std::uint32_t i = 0; i < kBlockSize; ++i) free_.push_back(first + i);
    is_base_[0] = true;
  }

  // The root is at 0, where no byte leads.
  bool is_free(Place place) const { return place != 0 && (nodes_[place].bits & kIsNode) == 0; }

  // A base that no node has, from which all the bytes lead to free places.
  std::uint32_t base_for(std::span<const Byte> bytes) {
    std::size_t tried = 0;
    for (std::size_t i = free_.size(); i-- > 0 && tried < kMostTried;) {
      if (!is_free(free_[i])) {  // taken since
        free_[i] = free_.back();
        free_.pop_back();
        continue;
      }
      ++tried;
      const std::uint32_t base = free_[i] ^ bytes.front();
      if (!is_base_[base] && std::ranges::all_of(bytes, [&](Byte byte) { return is_free(base ^ byte); })) return base;
    }
    const auto base = static_cast<std::uint32_t>(nodes_.size());
    add_block();
    return base;
  }

  void grow(std::span<const Piece> pieces) {
    std::vector<Range> ranges{{0, pieces.size(), 0, 0}};
    std::vector<Range> children;
    std::vector<Byte> bytes;
    while (!ranges.empty()) {
      auto [first, behind, depth, place] = ranges.back();
      ranges.pop_back();
      if (first != behind && pieces[first].text.size() == depth) {
        ids_[place] = pieces[first].id;
        nodes_[place].score = std::bit_cast<decltype(Node::score)>(pieces[first].score);
        nodes_[place].bits |= kEndsPiece;
        ++first;
      }
      if (first == behind) continue;
      children.clear();
      bytes.clear();
      while (first != behind) {
        const char label = pieces[first].text[depth];
        std::size_t next = first;
        while (next != behind && pieces[next].text[depth] == label) ++next;
        bytes.push_back(static_cast<Byte>(label));
        children.push_back({first, next, depth + 1, 0});
        first = next;
      }
      const std::uint32_t base = base_for(bytes);
      nodes_[place].bits |= base << kBaseShift;
      is_base_[base] = true;
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        children[i].place = base ^ bytes[i];
        nodes_[children[i].place].bits = kIsNode | bytes[i];
        ranges.push_back(children[i]);
      }
    }
  }

  void note_first_characters() {
    first_characters_.assign(0x10000, kNowhere);
    for (std::uint32_t one = 0; one < 0x80; ++one) first_characters_[one] = child(nodes_[0], static_cast<Byte>(one));
    const auto below = [this](Place place, std::uint32_t bits) {
      return place == kNowhere ? kNowhere : child(nodes_[place], static_cast<Byte>(0x80 | (bits & 0x3F)));
    };
    for (std::uint32_t one = 0x80; one < 0x800; ++one) {
      first_characters_[one] = below(child(nodes_[0], static_cast<Byte>(0xC0 | one >> 6)), one);
    }
    for (std::uint32_t one = 0x800; one < 0x10000; ++one) {
      first_characters_[one] = below(below(child(nodes_[0], static_cast<Byte>(0xE0 | one >> 12)), one >> 6), one);
    }
  }

  std::vector<Node> nodes_;
  std::vector<Id> ids_;           // by places
  std::vector<Place> free_;       // while it grows
  std::vector<bool> is_base_;     // the same
  std::vector<Place> first_characters_;  // of each, where it leads
};

}  // namespace tokbench
