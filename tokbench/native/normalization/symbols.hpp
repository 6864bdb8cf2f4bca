// User-defined symbols: pieces that are matched in the raw text before anything else.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "common/utf8.hpp"

namespace tokbench {

class Symbols {
 public:
  Symbols() { first_children_.fill(kNowhere); }

  // Takes non-empty symbols in any order; repetitions are ignored.
  explicit Symbols(std::vector<std::string_view> symbols) : Symbols() {
    std::ranges::sort(symbols);
    const auto twice = std::ranges::unique(symbols);
    symbols.erase(twice.begin(), twice.end());
    if (!symbols.empty() && symbols.front().empty()) throw std::invalid_argument("a user-defined symbol is empty");
    if (symbols.empty()) return;
    for (const std::string_view symbol : symbols) {
      text_.insert(text_.end(), symbol.begin(), symbol.end());
      ends_.push_back(text_.size());
    }
    grow(symbols);
    for (std::uint32_t child = nodes_[0].first_child; child < nodes_[0].first_child + nodes_[0].num_children; ++child) {
      first_children_[labels_[child]] = child;
    }
  }

  bool is_empty() const { return nodes_.empty(); }

  // Calls use(symbol) for each symbol.
  template <class Use>
  void for_each(Use use) const {
    std::size_t start = 0;
    for (const std::size_t end : ends_) {
      use(Bytes(text_).subspan(start, end - start));
      start = end;
    }
  }
  bool may_begin(Byte byte) const { return first_children_[byte] != kNowhere; }

  // The length of the longest symbol at `p` (p < end), of the 64 shortest matching ones, as in the library; 0 if none matches.
  std::size_t longest(const Byte* p, const Byte* end) const {
    std::size_t length = 0;
    unsigned found = 0;
    std::uint32_t node = first_children_[*p];
    for (const Byte* next = p + 1; node != kNowhere; ++next) {
      if (nodes_[node].ends_symbol) {
        length = static_cast<std::size_t>(next - p);
        if (++found == kMostNested) break;
      }
      if (next == end) break;
      node = child(node, *next);
    }
    return length;
  }

 private:
  static constexpr std::uint32_t kNowhere = 0xFFFFFFFFu;
  static constexpr unsigned kMostNested = 64;
  static constexpr std::size_t kMostNodes = std::size_t{1} << 27;

  // A node of a trie. Its children are adjacent, sorted by their bytes.
  struct Node {
    std::uint32_t first_child = 0;
    std::uint16_t num_children = 0;
    bool ends_symbol = false;
  };
  struct Range {
    std::size_t first, after, depth;
  };

  std::uint32_t child(std::uint32_t node, Byte byte) const {
    const Byte* const labels = labels_.data() + nodes_[node].first_child;
    const Byte* const after = labels + nodes_[node].num_children;
    const Byte* const found = std::lower_bound(labels, after, byte);
    return found != after && *found == byte ? static_cast<std::uint32_t>(found - labels_.data()) : kNowhere;
  }

  void grow(std::span<const std::string_view> symbols) {
    std::vector<Range> ranges{{0, symbols.size(), 0}};
    labels_.push_back(0);
    for (std::size_t at = 0; at < ranges.size(); ++at) {
      auto [first, after, depth] = ranges[at];
      Node node{static_cast<std::uint32_t>(ranges.size()), 0, false};
      if (symbols[first].size() == depth) {
        node.ends_symbol = true;
        ++first;
      }
      while (first != after) {
        const char label = symbols[first][depth];
        std::size_t next = first;
        while (next != after && symbols[next][depth] == label) ++next;
        if (ranges.size() >= kMostNodes) throw std::length_error("the user-defined symbols have too many bytes");
        ranges.push_back({first, next, depth + 1});
        labels_.push_back(static_cast<Byte>(label));
        ++node.num_children;
        first = next;
      }
      nodes_.push_back(node);
    }
  }

  std::vector<Byte> text_;  // all symbols, concatenated
  std::vector<std::size_t> ends_;
  std::vector<Node> nodes_;
  std::vector<Byte> labels_;  // by node: the byte that leads to it
  std::array<std::uint32_t, 256> first_children_;
};

}  // namespace tokbench
