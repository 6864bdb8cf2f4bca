// Splits words into pieces by longest match from the left, in linear time: no byte is read twice.
//
// There are two tries over the bytes of pieces: one of all pieces, for the start of a word, and one of the pieces with the
// prefix ("##"), without it, for the rest. Each node has a failure link: the pieces that are certain when the word does not
// continue below the node, and the node of the second trie for the bytes that remain.
//
// Source: Song et al. 2021, "Fast WordPiece Tokenization", algorithms 1 and 2.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "common/utf8.hpp"
#include "encoding/id.hpp"

namespace tokbench {

struct Piece {
  Bytes text;
  Id id;
};

class LongestMatch {
 public:
  // `beginnings` are the pieces that start words, `insides` those within words, without their prefix. Each list must contain
  // distinct, non-empty pieces.
  LongestMatch(std::vector<Piece> beginnings, std::vector<Piece> insides) {
    grow(std::move(beginnings), std::move(insides));
    for (const std::uint32_t root : {kBeginning, kInside}) {
      first_children_[root].fill(kNowhere);
      for (std::uint32_t i = 0; i < nodes_[root].num_children; ++i) {
        first_children_[root][labels_[nodes_[root].first_child + i]] = nodes_[root].first_child + i;
      }
    }
    link();
  }

  // Writes the ids of the pieces of a word to `out`, which has room for one per character, and returns their number; 0 if a
  // part of the word matches no piece.
  std::size_t match(Bytes word, Id* out) const {
    Id* const first = out;
    std::uint32_t node = kBeginning;
    for (const Byte byte : word) {
      std::uint32_t next;
      while ((next = child(node, byte)) == kNowhere) {
        if (!fall(node, out)) return 0;
      }
      node = next;
    }
    while (node != kInside) {
      if (!fall(node, out)) return 0;
    }
    return static_cast<std::size_t>(out - first);
  }

 private:
  static constexpr std::uint32_t kBeginning = 0, kInside = 1;  // the roots of the two tries
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;
  static constexpr std::size_t kMostNodes = std::size_t{1} << 28;
  static constexpr std::size_t kMostCertain = std::size_t{1} << 26;
  static constexpr std::uint32_t kFew = 8;

  // The children of a node are adjacent, sorted by their bytes.
  struct Node {
    std::uint32_t first_child = 0;
    std::uint32_t num_children = 0;
  };
  struct Fall {
    std::uint32_t node = kNowhere;
    std::uint32_t first_certain = 0;
    std::uint32_t num_certain = 0;
  };
  // The pieces that pass through a node, and its depth in bytes.
  struct Range {
    const std::vector<Piece>* pieces;
    std::size_t first, after, depth;
  };

  std::uint32_t child(std::uint32_t node, Byte byte) const {
    if (node <= kInside) return first_children_[node][byte];
    const auto [first, count] = nodes_[node];
    const Byte* const labels = labels_.data() + first;
    if (count <= kFew) {
      for (std::uint32_t i = 0; i < count; ++i) {
        if (labels[i] == byte) return first + i;
      }
      return kNowhere;
    }
    const Byte* const found = std::lower_bound(labels, labels + count, byte);
    return found != labels + count && *found == byte ? first + static_cast<std::uint32_t>(found - labels) : kNowhere;
  }

  // Follows the failure link of a node. Returns false if nothing matches.
  bool fall(std::uint32_t& node, Id*& out) const {
    const Fall& fall = falls_[node];
    if (fall.node == kNowhere) return false;
    out = std::copy_n(certain_.data() + fall.first_certain, fall.num_certain, out);
    node = fall.node;
    return true;
  }

  // Creates the nodes of both tries in breadth-first order.
  void grow(std::vector<Piece> beginnings, std::vector<Piece> insides) {
    const auto in_order = [](const Piece& a, const Piece& b) { return std::ranges::lexicographical_compare(a.text, b.text); };
    std::ranges::sort(beginnings, in_order);
    std::ranges::sort(insides, in_order);
    std::vector<Range> ranges{{&beginnings, 0, beginnings.size(), 0}, {&insides, 0, insides.size(), 0}};
    labels_.assign(2, 0);
    ids_.assign(2, kNowhere);
    parents_.assign(2, kNowhere);
    for (std::size_t at = 0; at < ranges.size(); ++at) {
      auto [pieces, first, after, depth] = ranges[at];
      if (first != after && (*pieces)[first].text.size() == depth) ids_[at] = (*pieces)[first++].id;
      Node node{static_cast<std::uint32_t>(ranges.size()), 0};
      while (first != after) {
        const Byte label = (*pieces)[first].text[depth];
        std::size_t next = first;
        while (next != after && (*pieces)[next].text[depth] == label) ++next;
        if (ranges.size() >= kMostNodes) throw std::length_error("the pieces have too many different beginnings");
        ranges.push_back({pieces, first, next, depth + 1});
        labels_.push_back(label);
        ids_.push_back(kNowhere);
        parents_.push_back(static_cast<std::uint32_t>(at));
        ++node.num_children;
        first = next;
      }
      nodes_.push_back(node);
    }
  }

  // Computes the failure links in the order of depth, because they refer to nodes of less depth.
  void link() {
    falls_.resize(nodes_.size());
    for (std::uint32_t node = 2; node < nodes_.size(); ++node) {
      Fall& fall = falls_[node];
      fall.first_certain = static_cast<std::uint32_t>(certain_.size());
      if (ids_[node] != kNowhere) {
        certain_.push_back(ids_[node]);
        fall.node = kInside;
      } else {
        std::uint32_t after = add_certain(parents_[node]), next = kNowhere;
        while (after != kNowhere && (next = child(after, labels_[node])) == kNowhere) after = add_certain(after);
        fall.node = next;
        if (next == kNowhere) certain_.resize(fall.first_certain);
      }
      fall.num_certain = static_cast<std::uint32_t>(certain_.size() - fall.first_certain);
    }
    ids_ = {};
    parents_ = {};
  }

  // Adds the pieces that are certain when a node is left; returns the node to continue at.
  std::uint32_t add_certain(std::uint32_t node) {
    const Fall fall = falls_[node];
    if (certain_.size() + fall.num_certain > kMostCertain) throw std::length_error("the pieces repeat too much");
    certain_.insert(certain_.end(), fall.num_certain, 0);
    std::copy_n(certain_.begin() + fall.first_certain, fall.num_certain, certain_.end() - fall.num_certain);
    return fall.node;
  }

  std::vector<Node> nodes_;
  std::vector<Byte> labels_;  // by node: the byte that leads to it
  std::vector<Fall> falls_;
  std::vector<Id> certain_;
  std::array<std::array<std::uint32_t, 256>, 2> first_children_;
  std::vector<Id> ids_;                 // by node: the piece that ends there; only during construction
  std::vector<std::uint32_t> parents_;  // by node; only during construction
};

}  // namespace tokbench
