// The Python module `_corpus`: fingerprints of texts by their lines, and shapes of JSON texts. The interpreter's lock is released during the work.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <limits>

#include "common/python_arrays.hpp"
#include "json_shape.hpp"
#include "lines.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace tokbench;
using namespace tokbench::corpus;

namespace {

nb::bytes to_bytes(Bytes bytes) { return nb::bytes(bytes.data(), bytes.size()); }

nb::tuple line_documents(const nb::bytes& text, std::uint64_t largest, std::size_t most) {
  const LineDocuments found = [&] {
    const nb::gil_scoped_release unlocked;
    return LineDocuments(view(text), largest, most);
  }();
  return nb::make_tuple(found.number, found.num_bytes, to_bytes(found.sum()), found.smallest);
}

nb::tuple line_sums(const nb::bytes& text, std::uint64_t largest, std::size_t fewest_bytes) {
  const LineSums found = [&] {
    const nb::gil_scoped_release unlocked;
    const std::uint64_t bound = std::min<std::uint64_t>(largest, std::numeric_limits<std::uint32_t>::max());
    return LineSums(view(text), static_cast<std::uint32_t>(bound), fewest_bytes);
  }();
  const auto weighted = (nb::int_(found.upper) << nb::int_(16)) + nb::int_(found.lower);
  nb::list sampled;
  for (const auto& [checksum, line] : found.sampled) sampled.append(nb::make_tuple(checksum, to_bytes(line)));
  return nb::make_tuple(found.number, found.num_bytes, found.checksums, weighted, sampled);
}

nb::tuple json_shape(const nb::bytes& text) {
  const JsonShape shape = [&] {
    const nb::gil_scoped_release unlocked;
    return JsonShape(view(text));
  }();
  return nb::make_tuple(shape.num_objects, shape.num_keys, shape.depth, shape.has_large_integer);
}

}  // namespace

NB_MODULE(_corpus, module) {
  module.attr("SOURCES") = TOKBENCH_SOURCES;
  module.def("line_documents", line_documents, "text"_a, "largest"_a, "most"_a);
  module.def("line_sums", line_sums, "text"_a, "largest"_a, "fewest_bytes"_a);
  module.def("json_shape", json_shape, "text"_a,
             "Of a valid JSON text: (objects, keys, depth, whether an integer has more than 18 digits).");
}
