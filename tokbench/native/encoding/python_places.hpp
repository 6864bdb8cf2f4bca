// Tokens with their spans, for Python.
#pragma once

#include "placed_texts.hpp"
#include "python_encoding.hpp"

namespace tokbench {

// Runs place(texts) without the interpreter's lock; returns its (ids, starts, stops, counts).
template <class Place>
nb::tuple place_texts_of(const nb::list& strings, const Place& place) {
  const nb::tuple kept(strings);  // other threads may change the list meanwhile
  const std::vector<Text> texts = texts_of(kept);
  Placed placed = without_lock(kept, [&] { return place(texts); });
  return nb::make_tuple(to_array(std::move(placed.ids)), to_array(std::move(placed.starts)), to_array(std::move(placed.stops)),
                        to_array(std::move(placed.counts)));
}

}  // namespace tokbench
