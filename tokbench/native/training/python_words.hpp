// Passes counted words from a counter to Python and back, in bulk.
#pragma once

#include "python_counter.hpp"
#include "word_arrays.hpp"

namespace tokbench {

inline void check_parts(std::size_t first, std::size_t last) {
  if (first > last || last > PretokenCounts::kParts) throw std::invalid_argument("there are no such parts");
}

template <class C>
nb::tuple arrays_of(C& counter, std::size_t first, std::size_t last) {
  check_parts(first, last);
  WordArrays words;
  {
    const nb::gil_scoped_release unlocked;
    counter.drain();
    words = sorted_arrays(counter.counts(), first, last);
  }
  return nb::make_tuple(to_array(std::move(words.data)), to_array(std::move(words.offsets)), to_array(std::move(words.counts)));
}

template <class C>
void add_arrays(C& counter, const InputArray<std::uint8_t>& data, const InputArray<std::int64_t>& offsets,
                const InputArray<std::int64_t>& counts, std::size_t first, std::size_t last) {
  check_parts(first, last);
  const Bytes bytes = view(data);
  const std::span<const std::int64_t> places = view(offsets), times = view(counts);
  const nb::gil_scoped_release unlocked;
  check_arrays(bytes, places, times);
  for_each_word(
      bytes, places, times, [&](Bytes word, std::int64_t count) { counter.add_counted(word, count, first, last); },
      [&](Bytes word) { counter.counts().prefetch(word, first, last); });
}

// Binds the methods that all counters have for counted words.
template <class C>
void bind_words(nb::class_<C>& type) {
  using namespace nb::literals;
  type.def_ro_static("PARTS", &PretokenCounts::kParts)
      .def("drain", &C::drain, nb::call_guard<nb::gil_scoped_release>(), "Wait until what has arrived is counted.")
      .def("clear_counts", &C::clear_counts, "Forget the words, but not the totals.")
      .def("arrays", &arrays_of<C>, "first"_a = 0, "last"_a = PretokenCounts::kParts,
           "The words of some of 64 parts, sorted by bytes: (uint8 data, int64[n + 1] offsets, int64[n] counts).")
      .def("add_arrays", &add_arrays<C>, "data"_a.noconvert(), "offsets"_a.noconvert(), "counts"_a.noconvert(), nb::kw_only(),
           "first"_a = 0, "last"_a = PretokenCounts::kParts, "Words that were counted elsewhere, but for those of other parts.")
      .def(
          "add_totals",
          [](C& self, std::uint64_t documents, std::uint64_t bytes, std::uint64_t pretokens) {
            self.add_totals({documents, bytes, pretokens});
          },
          nb::kw_only(), "documents"_a, "num_bytes"_a, "pretokens"_a)
      .def_prop_ro("memory", &C::memory, "Bytes that its tables take, about.");
}

}  // namespace tokbench
