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
#include "pretoken_pattern.hpp"

namespace tokbench {

namespace nb = nanobind;

void bind_training(nb::module_& module);
void bind_encoding(nb::module_& module);
void bind_parity(nb::module_& module);
void bind_preparation(nb::module_& module);

// A compiled pattern as an object of Python; what splits by it keeps it alive.
struct SharedPattern {
  std::shared_ptr<const CompiledPattern> pattern;
};

// Converts a pattern from Python: a name, a compiled pattern, or None for texts that are one pre-token each.
inline PretokenPattern pattern_of(nb::handle pattern) {
  if (pattern.is_none()) return Pattern::None;
  if (nb::isinstance<SharedPattern>(pattern)) return nb::cast<const SharedPattern&>(pattern).pattern;
  return pattern_named(nb::cast<std::string>(pattern));
}

// The operations of a program as rows, see SplitOperation.
using OperationRows = nb::ndarray<const std::uint32_t, nb::shape<-1, 6>, nb::c_contig, nb::device::cpu>;

inline std::vector<SplitOperation> operations_of(const OperationRows& rows) {
  std::vector<SplitOperation> operations;
  for (std::size_t i = 0; i < rows.shape(0); ++i) {
    const std::uint32_t* const row = rows.data() + i * 6;
    operations.push_back({static_cast<SplitOperation::Kind>(row[0]), row[1], row[2], row[3], row[4], row[5]});
  }
  return operations;
}

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
