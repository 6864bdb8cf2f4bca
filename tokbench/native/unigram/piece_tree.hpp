// The pieces of a vocabulary as a tree over their bytes: all that begin at a place of a text, in one walk.
//
// A double array: the child of a node by a byte is where the node's base and the byte lead, joined by exclusive or, if that
// place says that it is this node's. All that a step needs is in one place of 16 bytes; what follows the first character of a
// piece is found by its code point at once, up to U+FFFF.
#pragma once

#include <algorithm>
#include <array>
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

  // A place of the array. `id` is kNone where no piece ends.
  struct Node {
    std::uint32_t base = 0;
    std::uint32_t parent = kNowhere;
    Id id = kNone;
    Real score = 0;
  };

  // Pieces of any order; none empty, none twice.
  explicit PieceTree(std::vector<Piece> pieces) {
    std::ranges::sort(pieces, {}, &Piece::text);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].text.empty()) throw std::invalid_argument("a piece is empty");
      if (i > 0 && pieces[i].text == pieces[i - 1].text) throw std::invalid_argument("a piece occurs twice");
    }
    add_block();
    nodes_[0].parent = 0;
    free_.erase(free_.begin());
    grow(pieces);
    free_ = {};
    note_first_characters();
  }

  // Calls use(node, bytes behind `p`) for each piece that stands at `p` (p < end), the shortest first.
  template <class Use>
  TOKBENCH_ALWAYS_INLINE void for_each_at(const Byte* p, const Byte* end, Use use) const {
    std::uint32_t place;
    const Byte* next = behind_first_character(p, end, place);
    while (place != kNowhere) {
      const Node& node = nodes_[place];
      if (node.id != kNone) use(node, static_cast<std::size_t>(next - p));
      if (next == end) return;
      place = child(place, *next++);
    }
  }

  // The id of a piece; kNone where there is none.
  Id find(Bytes text) const {
    std::uint32_t place = 0;
    for (const Byte byte : text) {
      if ((place = child(place, byte)) == kNowhere) return kNone;
    }
    return nodes_[place].id;
  }

 private:
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;
  static constexpr std::size_t kBlockSize = 256;
  static constexpr std::size_t kMostNodes = std::size_t{1} << 28;
  static constexpr std::size_t kMostTried = 64;  // free places, before there are new ones

  struct Range {
    std::size_t first, behind, depth;
    std::uint32_t place;
  };

  std::uint32_t child(std::uint32_t place, Byte byte) const {
    const std::uint32_t next = nodes_[place].base ^ byte;
    return nodes_[next].parent == place && next != 0 ? next : kNowhere;
  }

  // Where the walk goes on behind the first character, and from which place; kNowhere where no piece begins with it.
  const Byte* behind_first_character(const Byte* p, const Byte* end, std::uint32_t& place) const {
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
    place = child(0, p[0]);
    return p + 1;
  }

  void add_block() {
    const auto first = static_cast<std::uint32_t>(nodes_.size());
    if (nodes_.size() + kBlockSize > kMostNodes) throw std::length_error("the pieces have too many bytes");
    nodes_.resize(nodes_.size() + kBlockSize);
    for (std::uint32_t i = 0; i < kBlockSize; ++i) free_.push_back(first + i);
  }

  bool is_free(std::uint32_t place) const { return nodes_[place].parent == kNowhere; }

  // A base from which all the bytes lead to free places.
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
      if (std::ranges::all_of(bytes, [&](Byte byte) { return is_free(base ^ byte); })) return base;
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
        nodes_[place].id = pieces[first].id;
        nodes_[place].score = pieces[first].score;
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
      nodes_[place].base = base;
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        children[i].place = base ^ bytes[i];
        nodes_[children[i].place].parent = place;
        ranges.push_back(children[i]);
      }
    }
  }

  void note_first_characters() {
    first_characters_.assign(0x10000, kNowhere);
    for (std::uint32_t one = 0; one < 0x80; ++one) first_characters_[one] = child(0, static_cast<Byte>(one));
    const auto below = [this](std::uint32_t place, std::uint32_t bits) {
      return place == kNowhere ? kNowhere : child(place, static_cast<Byte>(0x80 | (bits & 0x3F)));
    };
    for (std::uint32_t one = 0x80; one < 0x800; ++one) {
      first_characters_[one] = below(child(0, static_cast<Byte>(0xC0 | one >> 6)), one);
    }
    for (std::uint32_t one = 0x800; one < 0x10000; ++one) {
      first_characters_[one] = below(below(child(0, static_cast<Byte>(0xE0 | one >> 12)), one >> 6), one);
    }
  }

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> free_;               // places, while it grows
  std::vector<std::uint32_t> first_characters_;  // of each, the place behind it
};

}  // namespace tokbench
