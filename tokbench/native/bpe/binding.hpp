// Declarations shared by the source files of the binding: conversions of arrays and strings, and their bind functions.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "encoding/python_encoding.hpp"
#include "patterns.hpp"

namespace tokbench {

namespace nb = nanobind;

void bind_training(nb::module_& module);
void bind_encoding(nb::module_& module);
void bind_parity(nb::module_& module);
void bind_preparation(nb::module_& module);

inline Pattern pattern_or_none(const std::optional<std::string>& name) { return name ? pattern_named(*name) : Pattern::None; }

// Views into the bytes objects of a list, which keeps them alive.
inline std::vector<std::string_view> views_of_list(const nb::list& tokens) {
  std::vector<std::string_view> views;
  views.reserve(tokens.size());
  for (const nb::handle token : tokens) {
    if (!nb::isinstance<nb::bytes>(token)) throw nb::type_error("a token is not bytes");
    const auto bytes = nb::borrow<nb::bytes>(token);
    views.emplace_back(bytes.c_str(), bytes.size());
  }
  return views;
}

// Merges as rows (left id, right id, merged id).
using MergeRows = nb::ndarray<const Id, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>;

inline std::span<const std::array<Id, 3>> rows_of(const MergeRows& merges) {
  return {reinterpret_cast<const std::array<Id, 3>*>(merges.data()), merges.shape(0)};
}

}  // namespace tokbench
