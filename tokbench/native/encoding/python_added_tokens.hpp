// Converts added tokens from Python.
#pragma once

#include <nanobind/stl/tuple.h>

#include "added_tokens.hpp"
#include "common/python_arrays.hpp"

namespace tokbench {

namespace nb = nanobind;

// From tuples (text, id, flags); flags: 1 lstrip, 2 rstrip, 4 single_word.
inline std::vector<AddedToken> added_tokens_of(const nb::handle tokens) {
  std::vector<AddedToken> added;
  for (const nb::handle token : nb::cast<nb::list>(tokens)) {
    const auto [text, id, flags] = nb::cast<std::tuple<nb::bytes, Id, unsigned>>(token);
    added.push_back({{text.c_str(), text.size()}, id, (flags & 1) != 0, (flags & 2) != 0, (flags & 4) != 0});
  }
  return added;
}

inline AddedTokens added_sets_of(const nb::tuple& sets) {
  if (sets.size() != 2) throw std::invalid_argument("there are two sets of added tokens");
  return {added_tokens_of(sets[0]), added_tokens_of(sets[1])};
}

// (start, stop, id) of each match in a text.
inline nb::list places_of(const AddedTokenSet& tokens, const nb::bytes& text) {
  nb::list places;
  const Bytes bytes = view(text);
  tokens.cut(bytes, [](Bytes) {}, [&](Id id, Bytes found) {
    const auto start = found.data() - bytes.data();
    places.append(nb::make_tuple(start, start + static_cast<std::ptrdiff_t>(found.size()), id));
  });
  return places;
}

}  // namespace tokbench
