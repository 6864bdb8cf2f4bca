// What the parts of the binding share: arrays and strings between C++ and Python, and the parts themselves.
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

inline Pattern pattern_or_none(const std::optional<std::string>& name) { return name ? pattern_named(*name) : Pattern::None; }

}  // namespace tokbench
