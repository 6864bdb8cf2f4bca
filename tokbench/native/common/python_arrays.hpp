// NumPy arrays and bytes objects for the bindings: viewed and returned without a copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <span>
#include <vector>

#include "utf8.hpp"

namespace tokbench {

namespace nb = nanobind;

template <class T>
using Array = nb::ndarray<nb::numpy, T>;
template <class T>
using InputArray = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Imports NumPy in advance. nanobind imports it when it returns the first array, and reports a Ctrl-C during that import as a
// failed conversion.
inline void import_numpy() { nb::module_::import_("numpy"); }

template <class T>
Array<T> to_array(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
  import_numpy();
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = owned->data();
  nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  owned.release();
  return Array<T>(data, shape, owner);
}

template <class T>
Array<T> to_array(std::vector<T>&& values) {
  const std::size_t size = values.size();
  return to_array(std::move(values), {size});
}

template <class T>
std::span<const T> view(const InputArray<T>& array) {
  return {array.data(), array.size()};
}

inline Bytes view(const nb::bytes& bytes) { return {reinterpret_cast<const Byte*>(bytes.c_str()), bytes.size()}; }

}  // namespace tokbench
