// Changes of characters by normalization in two forms: as a table of the kernel, and by their definition on strings.
#pragma once

#include <map>

#include "fuzz.hpp"
#include "normalization/character_changes.hpp"
#include "split_expressions.hpp"

namespace changed_characters {

using namespace tokbench;
using fuzz::Random;
using split_expressions::characters_of;
using split_expressions::Words;

inline std::string slice_of(const Words& characters, std::size_t most, Random& random) {
  std::string slice;
  if (characters.empty()) return "a";
  const std::size_t first = random.below(characters.size());
  for (std::size_t i = first; i < std::min(first + random.between(1, most), characters.size()); ++i) slice += characters[i];
  return slice;
}

// The parts that each character becomes, and their orders.
struct Changes {
  struct Part {
    std::string text;
    Byte order;
    bool is_inserted;  // it follows another part of the same decomposed character
  };
  std::map<std::string, std::vector<Part>> parts;

  Changes(const Words& characters, Random& random) {
    for (std::size_t left = random.below(9); left > 0; --left) {
      auto& made = parts[slice_of(characters, 1, random)];
      made.resize(random.below(4));
      for (Part& part : made) {
        part.text = random.one_in(4) ? "" : slice_of(characters, 3, random);
        part.order = random.one_in(2) ? Byte{0} : static_cast<Byte>(random.below(256));
        part.is_inserted = &part != &made.front() && random.one_in(2);
      }
    }
  }

  CharacterChanges table() const {
    std::vector<std::uint32_t> changed, firsts{0}, starts{0};
    std::vector<Byte> orders, inserted, bytes;
    for (const auto& [character, made] : parts) {
      changed.push_back(naive::code_points(naive::to_bytes(character))[0]);
      for (const Part& part : made) {
        bytes.insert(bytes.end(), part.text.begin(), part.text.end());
        orders.push_back(part.order);
        inserted.push_back(part.is_inserted);
        starts.push_back(static_cast<std::uint32_t>(bytes.size()));
      }
      firsts.push_back(static_cast<std::uint32_t>(orders.size()));
    }
    return {changed, firsts, orders, inserted, starts, bytes};
  }

  struct Made {
    std::string text;
    std::vector<std::uint32_t> origins;  // the origin of each byte
  };

  // Neighbours swap until no part with an order follows one of a greater order. The parts that are not inserted keep their
  // origins in ascending order; an inserted part takes the origin of the part before it.
  Made of(const std::string& text) const {
    struct MadePart {
      Part part;
      std::uint32_t origin;
    };
    std::vector<MadePart> made;
    std::uint32_t start = 0;
    for (const std::string& character : characters_of(text)) {
      const auto found = parts.find(character);
      if (found == parts.end()) {
        made.push_back({{character, Byte{0}, false}, start});
      } else {
        for (const Part& part : found->second) made.push_back({part, start});
      }
      start += static_cast<std::uint32_t>(character.size());
    }
    for (std::size_t i = 1; i < made.size(); ++i) {
      for (std::size_t at = i; at > 0 && made[at].part.order != 0 && made[at - 1].part.order > made[at].part.order; --at) std::swap(made[at], made[at - 1]);
    }
    std::vector<std::uint32_t> there;
    for (const MadePart& each : made) {
      if (!each.part.is_inserted) there.push_back(each.origin);
    }
    std::ranges::sort(there);
    auto next = there.begin();
    for (std::size_t i = 0; i < made.size(); ++i) made[i].origin = !made[i].part.is_inserted ? *next++ : i > 0 ? made[i - 1].origin : 0;
    Made whole;
    for (const MadePart& each : made) {
      whole.text += each.part.text;
      whole.origins.insert(whole.origins.end(), each.part.text.size(), each.origin);
    }
    return whole;
  }
};

}  // namespace changed_characters
