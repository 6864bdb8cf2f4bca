// Words and their numbers as the Python module `_word_cache`. The interpreter's lock is released around the
// work; a lock of its own keeps two threads out of one numbering.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <mutex>

#include "common/python_arrays.hpp"
#include "common/python_texts.hpp"
#include "common/random_seed.hpp"
#include "cutting.hpp"
#include "numbering.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace tokbench;
using namespace tokbench::word_cache;

namespace {

struct SharedNumbering {
  SharedNumbering(Cut chosen, std::uint64_t seed) : cut(chosen), numbering(seed) {}
  Cut cut;
  Numbering numbering;
  std::vector<Byte> utf8;  // of the texts that are cut
  std::mutex mutex;
};

void construct(SharedNumbering* self, const std::string& cut) {
  const auto chosen = cut_named(cut);
  if (!chosen) throw std::invalid_argument("no such cut: " + cut);
  new (self) SharedNumbering(*chosen, random_seed());
}

struct Numbered {
  std::vector<std::int64_t> numbers;
  std::vector<std::int64_t> offsets;
  std::vector<std::string> fresh;  // what came for the first time
};

constexpr std::size_t kMostKeptBytes = 32 << 20;

Numbered numbered(SharedNumbering& self, std::span<const Text> texts) {
  Numbered found;
  // All texts become UTF-8 first: for one with a lone surrogate nothing has got a number.
  std::vector<std::size_t> ends;
  std::size_t size = 0;
  for (const Text& text : texts) ends.push_back(size = append_utf8(text, self.utf8, size));
  const std::size_t known = self.numbering.size();
  std::size_t start = 0;
  found.offsets.push_back(0);
  for (const std::size_t end : ends) {
    const Bytes text(self.utf8.data() + start, end - start);
    for_each_word(self.cut, text, [&](Bytes word) { found.numbers.push_back(self.numbering.number_of(word)); });
    found.offsets.push_back(static_cast<std::int64_t>(found.numbers.size()));
    start = end;
  }
  for (std::size_t number = known; number < self.numbering.size(); ++number) {
    const Bytes word = self.numbering[number];
    found.fresh.emplace_back(word.begin(), word.end());
  }
  if (self.utf8.capacity() > kMostKeptBytes) self.utf8 = {};
  return found;
}

nb::tuple number(SharedNumbering& self, const nb::list& strings) {
  const nb::tuple kept(strings);  // other threads may change the list meanwhile
  const std::vector<Text> texts = texts_of(kept);
  Numbered found;
  {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(self.mutex);
    found = numbered(self, texts);
  }
  nb::list fresh;
  for (const std::string& word : found.fresh) fresh.append(nb::str(word.data(), word.size()));
  return nb::make_tuple(to_array(std::move(found.numbers)), to_array(std::move(found.offsets)), fresh);
}

void clear(SharedNumbering& self) {
  const nb::gil_scoped_release unlocked;
  const std::lock_guard lock(self.mutex);
  self.numbering.clear();
}

}  // namespace

NB_MODULE(_word_cache, module) {
  module.attr("SOURCES") = TOKBENCH_SOURCES;
  nb::class_<SharedNumbering>(module, "Numbering")
      .def("__init__", &construct, "cut"_a)
      .def("number", &number, "texts"_a,
           "(int64[R] numbers of the words, int64[len(texts) + 1] which are whose, those that are new).")
      .def("clear", &clear, "Forget them all.");
}
