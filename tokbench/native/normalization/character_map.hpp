// SentencePiece's table of replacements, `precompiled_charsmap`: at each position of a text, the longest matching key is
// replaced.
//
// Format: the size of a double array in bytes (uint32, little-endian), the array, and the replacements, each terminated by a
// NUL. A unit of the array (uint32) is a node or a value:
//
//   bits    0-7               8               9                        10-30    31
//   node    label: the byte   whether a key   whether the offset is    offset   0
//           that leads here   ends here       in units of 256
//   value   start of the replacement                                            1
//
// The child of a node by a byte is at (index of the node) XOR (its offset) XOR (the byte); the value of a key is at (index) XOR
// (offset).
//
// Source: the layout of Darts-clone, and normalizer.cc of SentencePiece 0.2.3.
#pragma once

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "common/utf8.hpp"

namespace tokbench {

class CharacterMap {
 public:
  struct Match {
    std::size_t length = 0;  // of the key; 0 if no key matches
    Bytes replacement;
  };

  // A map without keys.
  CharacterMap() = default;

  // Throws std::invalid_argument for a table with indices outside of it.
  explicit CharacterMap(Bytes table) {
    std::uint32_t size = 0;
    if (table.size() <= sizeof size) throw std::invalid_argument("a normalization table of 4 bytes or fewer");
    for (std::size_t i = sizeof size; i-- > 0;) size = size << 8 | table[i];
    table = table.subspan(sizeof size);
    if (size % kBlockBytes != 0 || size == 0 || size >= table.size()) {
      throw std::invalid_argument("a normalization table whose array has " + std::to_string(size) + " bytes");
    }
    units_.resize(size / sizeof(Unit));
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const Byte* const p = table.data() + i * sizeof(Unit);
      units_[i] = {p[0] | static_cast<std::uint32_t>(p[1]) << 8 | static_cast<std::uint32_t>(p[2]) << 16 |
                   static_cast<std::uint32_t>(p[3]) << 24};
    }
    replacements_.assign(table.begin() + size, table.end());
    check();
  }

  bool is_empty() const { return units_.empty(); }

  // The longest key at `p` (p < end), of the 32 shortest matching ones: the library considers no more.
  Match longest(const Byte* p, const Byte* end) const { return last_of(p, end, kMostNested); }

  // The shortest key at `p`.
  Match shortest(const Byte* p, const Byte* end) const { return last_of(p, end, 1); }

  // Whether a key may start with these two bytes.
  bool may_begin(Byte first, Byte second) const {
    if (units_.empty()) return false;
    const std::size_t place = units_[0].offset() ^ first;
    return units_[place].label() == first && units_[place ^ units_[place].offset() ^ second].label() == second;
  }

  // Calls use(key, replacement), or use(key, replacement, length of the prefix shared with the previous key), for each key
  // without a NUL. Throws std::invalid_argument for an array that contains a cycle.
  template <class Use>
  void for_each_key(Use use) const {
    if (units_.empty()) return;
    const Children children = all_children();
    struct Step {
      std::uint32_t next_child, after;
    };
    const auto step_to = [&](std::size_t base) { return Step{children.starts[base], children.starts[base + 1]}; };
    std::vector<Step> path{step_to(units_[0].offset())};
    std::vector<Byte> key;
    std::size_t common = 0;
    for (std::size_t steps = 0; !path.empty();) {
      Step& step = path.back();
      if (step.next_child == step.after) {
        path.pop_back();
        if (!key.empty()) key.pop_back();
        common = std::min(common, key.size());
        continue;
      }
      const std::size_t place = children.places[step.next_child++];
      if (++steps > kMostSteps || path.size() > kLongestKey) throw std::invalid_argument("a normalization table that leads in circles");
      key.push_back(static_cast<Byte>(units_[place].label()));
      const std::size_t base = place ^ units_[place].offset();
      if (units_[place].ends_key()) {
        const Bytes replacement = replacement_at(units_[base].value());
        if constexpr (requires { use(Bytes(key), replacement, common); }) {
          use(Bytes(key), replacement, common);
        } else {
          use(Bytes(key), replacement);
        }
        common = key.size();
      }
      path.push_back(step_to(base));
    }
  }

 private:
  static constexpr std::size_t kBlockBytes = 1024;         // 256 units: all children of a node lie within one block
  static constexpr std::size_t kLongestReplacement = 1024;
  static constexpr unsigned kMostNested = 32;
  static constexpr std::size_t kLongestKey = 256;
  static constexpr std::size_t kMostSteps = std::size_t{1} << 22;  // NFKC's table has 400,000 nodes

  struct Unit {
    std::uint32_t bits = 0;
    bool is_value() const { return bits >> 31 != 0; }
    bool ends_key() const { return (bits >> 8 & 1) != 0; }
    std::uint32_t label() const { return bits & 0x800000FFu; }  // for a value, greater than any byte
    std::size_t offset() const { return std::size_t{bits >> 10} << ((bits & 1u << 9) >> 6); }
    std::size_t value() const { return bits & 0x7FFFFFFFu; }
  };

  // The longest of the `most` shortest keys at `p`.
  Match last_of(const Byte* p, const Byte* end, unsigned most) const {
    Match match;
    if (units_.empty()) return match;
    std::size_t place = units_[0].offset(), value = 0;
    unsigned found = 0;
    for (const Byte* next = p; next != end; ++next) {
      place ^= *next;
      const Unit unit = units_[place];
      if (unit.label() != *next) break;
      place ^= unit.offset();
      if (!unit.ends_key()) continue;
      match.length = static_cast<std::size_t>(next - p) + 1;
      value = units_[place].value();
      if (++found == most) break;
    }
    if (match.length != 0) match.replacement = replacement_at(value);
    return match;
  }

  // The indices of nodes, grouped by (index XOR offset) of their parents; the group of b starts at starts[b].
  struct Children {
    std::vector<std::uint32_t> places, starts;
  };

  Children all_children() const {
    Children children;
    children.starts.resize(units_.size() + 2);
    const auto for_each_node = [this](auto use) {
      for (std::uint32_t place = 1; place < units_.size(); ++place) {
        const Unit unit = units_[place];
        if (!unit.is_value() && unit.label() != 0) use(place, place ^ unit.label());
      }
    };
    for_each_node([&](std::uint32_t, std::size_t base) { ++children.starts[base + 2]; });
    for (std::size_t i = 3; i < children.starts.size(); ++i) children.starts[i] += children.starts[i - 1];
    children.places.resize(children.starts.back());
    for_each_node([&](std::uint32_t place, std::size_t base) { children.places[children.starts[base + 1]++] = place; });
    children.starts.pop_back();
    return children;
  }

  void check() const {
    if (replacements_.back() != 0) throw std::invalid_argument("a normalization table whose last replacement has no end");
    const auto leads_outside = [this](std::size_t place) { return ((place ^ units_[place].offset()) | 0xFF) >= units_.size(); };
    if (units_[0].label() != 0 || units_[0].ends_key() || units_[0].offset() == 0 || leads_outside(0)) {
      throw std::invalid_argument("a normalization table without a root");
    }
    for (std::size_t place = 1; place < units_.size(); ++place) {
      const Unit unit = units_[place];
      if (unit.is_value()) {
        if (unit.value() >= replacements_.size()) throw std::invalid_argument("a normalization table that points after its replacements");
        if (replacement_at(unit.value()).size() > kLongestReplacement) throw std::invalid_argument("a normalization table with a replacement of more than 1024 bytes");
      } else if (leads_outside(place) || (unit.ends_key() && !units_[place ^ unit.offset()].is_value())) {
        throw std::invalid_argument("a normalization table that points after its end");
      }
    }
  }

  Bytes replacement_at(std::size_t start) const {
    const Byte* const first = replacements_.data() + start;
    const auto most = std::min(replacements_.size() - start, kLongestReplacement + 2);
    const void* const nul = std::memchr(first, 0, most);
    return {first, nul == nullptr ? most : static_cast<std::size_t>(static_cast<const Byte*>(nul) - first)};
  }

  std::vector<Unit> units_;
  std::vector<Byte> replacements_;
};

}  // namespace tokbench
