// Normalising as the Python module `_normalization`. Arguments are checked here, and only here.
#include <nanobind/nanobind.h>

#include "common/python_arrays.hpp"
#include "normalizer.hpp"

using namespace tokbench;
using namespace nb::literals;

namespace {

Normalizer* made_normalizer(const nb::bytes& charsmap, const nb::list& symbols, bool add_dummy_prefix, bool remove_extra_whitespaces,
                            bool escape_whitespaces, bool treat_whitespace_as_suffix) {
  const nb::tuple kept(symbols);  // other threads may change the list meanwhile
  std::vector<std::string_view> views;
  views.reserve(kept.size());
  for (const nb::handle symbol : kept) {
    if (!nb::isinstance<nb::bytes>(symbol)) throw nb::type_error("a symbol is not bytes");
    const auto bytes = nb::borrow<nb::bytes>(symbol);
    views.emplace_back(bytes.c_str(), bytes.size());
  }
  const NormalizerOptions options{add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, treat_whitespace_as_suffix};
  const Bytes table = view(charsmap);
  const nb::gil_scoped_release unlocked;
  return new Normalizer(table.empty() ? CharacterMap() : CharacterMap(table), Symbols(std::move(views)), options);
}

nb::bytes normalized(const Normalizer& normalizer, const nb::bytes& text) {
  NormalizedText made;
  {
    const nb::gil_scoped_release unlocked;
    normalizer.normalize<false>(view(text), {}, made);
  }
  return nb::bytes(reinterpret_cast<const char*>(made.bytes.data()), made.bytes.size());
}

nb::tuple normalized_with_places(const Normalizer& normalizer, const nb::bytes& text) {
  NormalizedText made;
  {
    const nb::gil_scoped_release unlocked;
    normalizer.normalize<true>(view(text), {}, made);
  }
  return nb::make_tuple(nb::bytes(reinterpret_cast<const char*>(made.bytes.data()), made.bytes.size()), to_array(std::move(made.places)));
}

}  // namespace

NB_MODULE(_normalization, module) {
  module.attr("SOURCES") = TOKBENCH_SOURCES;
  nb::class_<Normalizer>(module, "Normalizer")
      .def(nb::new_(&made_normalizer), "charsmap"_a, "symbols"_a, nb::kw_only(), "add_dummy_prefix"_a, "remove_extra_whitespaces"_a,
           "escape_whitespaces"_a, "treat_whitespace_as_suffix"_a)
      .def("normalize", &normalized, "text"_a)
      .def("normalize_with_places", &normalized_with_places, "text"_a,
           "(normalised bytes, uint32[their number + 1] where in the text each begins to be from, and the end).");
}
