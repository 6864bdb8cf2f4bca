// Python strings as texts, for the bindings.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "python_arrays.hpp"
#include "texts.hpp"
#include "unmarked.hpp"

namespace tokbench {

namespace nb = nanobind;

// The UTF-8 of a Python string, valid as long as the string. Raises UnicodeEncodeError for lone surrogates.
inline Bytes utf8_view(nb::handle text) {
  Py_ssize_t size = 0;
  const char* const data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data == nullptr) throw nb::python_error();
  return {reinterpret_cast<const Byte*>(data), static_cast<std::size_t>(size)};
}

// A Python string in its internal representation, which any thread can read without the interpreter's lock. Avoids the UTF-8
// copy that Python would cache with the string.
inline Text text_of(nb::handle text) {
  if (!PyUnicode_Check(text.ptr())) throw nb::type_error("a text is not a string");
#if PY_VERSION_HEX < 0x030C0000
  if (PyUnicode_READY(text.ptr()) != 0) throw nb::python_error();
#endif
  const auto size = static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr()));
  const void* const data = PyUnicode_DATA(text.ptr());
  if (PyUnicode_IS_ASCII(text.ptr())) return {data, size, Units::Utf8};
  switch (PyUnicode_KIND(text.ptr())) {
    case PyUnicode_1BYTE_KIND:
      return {data, size, Units::Latin1};
    case PyUnicode_2BYTE_KIND:
      return {data, size, Units::Ucs2};
    default:
      return {data, size, Units::Ucs4};
  }
}

inline std::vector<Text> texts_of(const nb::tuple& strings) {
  std::vector<Text> texts;
  texts.reserve(strings.size());
  for (const nb::handle string : strings) texts.push_back(text_of(string));
  return texts;
}

inline Marks marks_of(const InputArray<std::uint8_t>& marks) {
  if (marks.size() != kNumCodePoints) throw std::invalid_argument("there must be a mark for each code point");
  return Marks(const_cast<std::uint8_t*>(marks.data()));
}

inline nb::str string_of(const std::vector<std::uint32_t>& code_points) {
  return nb::steal<nb::str>(PyUnicode_FromKindAndData(PyUnicode_4BYTE_KIND, code_points.data(), static_cast<Py_ssize_t>(code_points.size())));
}

// The characters of all strings that are not marked, as one string; uses several threads.
inline nb::str unmarked_characters(const nb::list& strings, const InputArray<std::uint8_t>& marks, unsigned threads) {
  const nb::tuple kept(strings);  // other threads may change the list meanwhile
  const std::vector<Text> texts = texts_of(kept);
  const Marks all = marks_of(marks);
  const std::vector<std::uint32_t> found = [&] {
    const nb::gil_scoped_release unlocked;
    return unmarked(texts, all, threads);
  }();
  return string_of(found);
}

}  // namespace tokbench
