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

#include "common/python_arrays.hpp"
#include "common/texts.hpp"
#include "ids.hpp"
#include "patterns.hpp"

namespace tokbench {

namespace nb = nanobind;

void bind_training(nb::module_& module);
void bind_encoding(nb::module_& module);

inline Array<Id> to_array(Ids&& ids) {
  import_numpy();
  const std::size_t size = ids.size();
  Id* const data = ids.release();
  const nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
  return Array<Id>(data, {size}, owner);
}

// The UTF-8 of a Python string, which lives as long as the string. Raises UnicodeEncodeError for surrogates.
inline Bytes utf8_view(nb::handle text) {
  Py_ssize_t size = 0;
  const char* const data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data == nullptr) throw nb::python_error();
  return {reinterpret_cast<const Byte*>(data), static_cast<std::size_t>(size)};
}

// What work() returns, which runs without the interpreter's lock; for lone surrogates, what Python says of the
// first string that has one.
template <class Strings, class Work>
auto without_lock(const Strings& strings, const Work& work) {
  try {
    const nb::gil_scoped_release unlocked;
    return work();
  } catch (const LoneSurrogate&) {
    for (const nb::handle string : strings) utf8_view(string);
    throw;
  }
}

inline Pattern pattern_or_none(const std::optional<std::string>& name) { return name ? pattern_named(*name) : Pattern::None; }

}  // namespace tokbench
