// The Python module `_metrics`: counts for metrics. The interpreter's lock is released around everything that takes time; each
// measurer has a lock of its own.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <memory>
#include <mutex>

#include "common/python_arrays.hpp"
#include "common/python_texts.hpp"
#include "common/random_seed.hpp"
#include "edit_table.hpp"
#include "measurer.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace tokbench;
using namespace tokbench::metrics;

namespace {

using Int64Array = Array<std::int64_t>;

// Texts concatenated as UTF-8 in the buffer `utf8`.
struct JoinedTexts {
  explicit JoinedTexts(std::span<const Text> texts, std::vector<Byte>& utf8) : offsets{0} {
    std::size_t size = 0;
    for (const Text& text : texts) {
      size = append_utf8(text, utf8, size);
      offsets.push_back(static_cast<std::int64_t>(size));
    }
    bytes = {utf8.data(), size};
  }
  Bytes bytes;
  std::vector<std::int64_t> offsets;
};

struct SharedMeasurer {
  SharedMeasurer(const Tables& tables, std::size_t num_groups, std::uint64_t seed) : measurer(tables, num_groups, seed) {}
  Measurer measurer;
  std::vector<Byte> utf8;  // buffer for the texts that are counted
  std::mutex mutex;
};

void construct_tables(Tables* self, const InputArray<std::uint8_t>& classes, const nb::bytes& pieces,
                      const InputArray<std::int64_t>& piece_offsets) {
  const nb::gil_scoped_release unlocked;
  check_pieces(view(pieces), view(piece_offsets));
  new (self) Tables(view(classes), view(pieces), view(piece_offsets));
}

void construct(SharedMeasurer* self, const Tables& tables, std::int64_t num_groups) {
  require(num_groups >= 0, "the number of groups is negative");
  new (self) SharedMeasurer(tables, static_cast<std::size_t>(num_groups), random_seed());
}

void join(SharedMeasurer& self, SharedMeasurer& other) {
  require(&self != &other, "a measurer cannot be joined with itself");
  const nb::gil_scoped_release unlocked;
  const std::scoped_lock alone(self.mutex, other.mutex);
  require(self.measurer.groups().size() == other.measurer.groups().size(), "the measurers have different numbers of groups");
  self.measurer.join(other.measurer);
}

// Requires the lock of the measurer.
template <class Batch>
std::vector<std::int64_t> measured(SharedMeasurer& self, const Documents& documents, const Batch& tokens) {
  std::vector<std::int64_t> rows;
  self.measurer.add(documents, tokens, [&](const Counts& counts) {
    rows.insert(rows.end(), counts.begin(), counts.end());
  });
  return rows;
}

template <class Batch>
Int64Array measure(SharedMeasurer& self, const Documents& documents, const Batch& tokens) {
  std::vector<std::int64_t> rows;
  {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard alone(self.mutex);
    rows = measured(self, documents, tokens);
  }
  return to_array(std::move(rows), {documents.size(), kNumCounts});
}

Int64Array add(SharedMeasurer& self, const nb::bytes& text, const InputArray<std::int64_t>& text_offsets,
               const InputArray<std::int64_t>& token_offsets, const InputArray<std::int64_t>& starts,
               const InputArray<std::int64_t>& stops, const InputArray<std::uint8_t>& kinds,
               const InputArray<std::int32_t>& groups) {
  return measure(self, Documents{view(text), view(text_offsets), view(token_offsets), view(groups)},
                 PlacedBatch{view(starts), view(stops), view(kinds)});
}

Int64Array add_tiled(SharedMeasurer& self, const nb::bytes& text, const InputArray<std::int64_t>& text_offsets,
                     const InputArray<std::int64_t>& token_offsets, const InputArray<std::uint32_t>& ids,
                     const InputArray<std::int32_t>& groups) {
  return measure(self, Documents{view(text), view(text_offsets), view(token_offsets), view(groups)},
                 TiledBatch{view(ids)});
}

void count_ids(const InputArray<std::uint32_t>& ids, const nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& counts) {
  const nb::gil_scoped_release unlocked;
  const std::span<const std::uint32_t> seen = view(ids);
  require(seen.empty() || std::ranges::max(seen) < counts.size(), "an id has no count");
  std::int64_t* const count = counts.data();
  for (const std::uint32_t id : seen) ++count[id];
}

Int64Array add_texts(SharedMeasurer& self, const nb::tuple& strings, const InputArray<std::int64_t>& token_offsets,
                     const InputArray<std::uint32_t>& ids, const InputArray<std::int32_t>& groups) {
  const std::vector<Text> texts = texts_of(strings);
  require(texts.size() == groups.size(), "there must be a group for each text");
  std::vector<std::int64_t> rows;
  {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard alone(self.mutex);
    const JoinedTexts joined(texts, self.utf8);
    rows = measured(self, Documents{joined.bytes, joined.offsets, view(token_offsets), view(groups)}, TiledBatch{view(ids)});
  }
  return to_array(std::move(rows), {groups.size(), kNumCounts});
}

// One row of numbers per group, appended by fill(group, rows).
template <class Fill>
std::vector<std::int64_t> rows_of(SharedMeasurer& self, Fill fill) {
  const nb::gil_scoped_release unlocked;
  const std::lock_guard alone(self.mutex);
  std::vector<std::int64_t> rows;
  for (const Group& group : self.measurer.groups()) fill(group, rows);
  return rows;
}

Int64Array totals(SharedMeasurer& self) {
  auto rows = rows_of(self, [](const Group& group, auto& out) { out.insert(out.end(), group.counts.begin(), group.counts.end()); });
  const std::size_t groups = rows.size() / kNumCounts;
  return to_array(std::move(rows), {groups, kNumCounts});
}

Int64Array numbers_by_length(SharedMeasurer& self) {
  auto rows = rows_of(self, [](const Group& group, auto& out) {
    for (const NumbersOfLength& each : group.numbers) out.insert(out.end(), {each.numbers, each.tokens});
  });
  const std::size_t groups = rows.size() / ((kLongestNumber + 1) * 2);
  return to_array(std::move(rows), {groups, kLongestNumber + 1, 2});
}

Int64Array word_types(SharedMeasurer& self) {
  auto rows = rows_of(self, [](const Group& group, auto& out) {
    out.insert(out.end(), {static_cast<std::int64_t>(group.words.size()), static_cast<std::int64_t>(group.words.num_always_whole())});
  });
  const std::size_t groups = rows.size() / 2;
  return to_array(std::move(rows), {groups, 2});
}

nb::list worst_words(SharedMeasurer& self, std::int64_t group, std::int64_t n) {
  struct Word {
    std::string bytes;
    WordType type;
  };
  std::vector<Word> worst;
  {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard alone(self.mutex);
    const std::vector<Group>& groups = self.measurer.groups();
    require(group >= 0 && static_cast<std::size_t>(group) < groups.size(), "there is no such group");
    require(n >= 0, "a number of words is negative");
    const WordTable& words = groups[static_cast<std::size_t>(group)].words;
    for (const WordType& type : words.worst(static_cast<std::size_t>(n))) {
      const Bytes bytes = words.bytes_of(type.key);
      worst.push_back({std::string(bytes.begin(), bytes.end()), type});
    }
  }
  nb::list list;
  for (const Word& word : worst) {
    list.append(nb::make_tuple(nb::bytes(word.bytes.data(), word.bytes.size()), word.type.most, word.type.occurrences));
  }
  return list;
}

nb::tuple words(SharedMeasurer& self, std::int64_t group) {
  WordArrays found = [&] {
    const nb::gil_scoped_release unlocked;
    const std::lock_guard alone(self.mutex);
    const std::vector<Group>& groups = self.measurer.groups();
    require(group >= 0 && static_cast<std::size_t>(group) < groups.size(), "there is no such group");
    return WordArrays(groups[static_cast<std::size_t>(group)].words);
  }();
  return nb::make_tuple(to_array(std::move(found.data)), to_array(std::move(found.offsets)), to_array(std::move(found.occurrences)),
                        to_array(std::move(found.fewest)), to_array(std::move(found.most)));
}

void add_words(SharedMeasurer& self, std::int64_t group, const InputArray<std::uint8_t>& data, const InputArray<std::int64_t>& offsets,
               const InputArray<std::int64_t>& occurrences, const InputArray<std::uint32_t>& fewest,
               const InputArray<std::uint32_t>& most) {
  const nb::gil_scoped_release unlocked;
  const std::lock_guard alone(self.mutex);
  require(group >= 0 && static_cast<std::size_t>(group) < self.measurer.groups().size(), "there is no such group");
  const KnownWords known{view(data), view(offsets), view(occurrences), view(fewest), view(most)};
  check_words(known);
  self.measurer.join_words(static_cast<std::size_t>(group), known);
}

template <class Names>
nb::tuple to_tuple(const Names& names) {
  nb::list list;
  for (const std::string_view name : names) list.append(nb::str(name.data(), name.size()));
  return nb::tuple(list);
}

constexpr std::size_t kMostCompared = std::size_t{1} << 26;  // characters of one text times those of the other

// The characters of a string, and which of them are white space.
struct Characters {
  explicit Characters(nb::handle text) {
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("a text is not a string");
    const auto size = static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr()));
    values.resize(size + 1);
    if (PyUnicode_AsUCS4(text.ptr(), values.data(), static_cast<Py_ssize_t>(size + 1), 1) == nullptr) throw nb::python_error();
    values.pop_back();
    for (const Py_UCS4 value : values) are_spaces.push_back(Py_UNICODE_ISSPACE(value) ? 1 : 0);
  }
  EditTable::Text view() const { return {values, are_spaces}; }
  std::vector<std::uint32_t> values;
  std::vector<std::uint8_t> are_spaces;
};

nb::bytes edit_steps(nb::handle text, nb::handle other, const std::optional<std::pair<std::size_t, std::size_t>>& lengths) {
  const Characters one(text), two(other);
  const std::size_t rows = one.values.size(), columns = two.values.size();
  require(columns == 0 || rows <= kMostCompared / columns, "the texts are too long");
  require(!lengths || (lengths->first >= rows && lengths->second >= columns), "a text is longer than the whole one");
  std::vector<EditStep> steps;
  {
    const nb::gil_scoped_release unlocked;
    const EditTable table(one.view(), two.view());
    steps = table.steps(lengths ? table.best_end(lengths->first, lengths->second) : EditTable::End{rows, columns});
  }
  return nb::bytes(reinterpret_cast<const char*>(steps.data()), steps.size());
}

}  // namespace

NB_MODULE(_metrics, module) {
  module.attr("SOURCES") = TOKBENCH_SOURCES;
  module.attr("COUNTS") = to_tuple(kCountNames);
  module.attr("OPERATORS") = to_tuple(kAllOperators);

  module.def("count_ids", &count_ids, "ids"_a.noconvert(), "counts"_a.noconvert(), "Adds to counts[id] how often it is among ids.");
  module.def("edit_steps", &edit_steps, "text"_a, "other"_a, "lengths"_a = nb::none(),
             "The steps of a minimal alignment: a byte 0 for a character of both, 1 of the text alone, 2 of the other alone.");

  nb::class_<Tables>(module, "Tables")
      .def("__init__", &construct_tables, "classes"_a.noconvert(), "pieces"_a, "piece_offsets"_a.noconvert());

  nb::class_<SharedMeasurer>(module, "Measurer")
      .def("__init__", &construct, "tables"_a, "num_groups"_a, nb::keep_alive<1, 2>())
      .def("add", &add, nb::kw_only(), "text"_a, "text_offsets"_a.noconvert(), "token_offsets"_a.noconvert(),
           "starts"_a.noconvert(), "stops"_a.noconvert(), "kinds"_a.noconvert(), "groups"_a.noconvert(),
           "Count documents with tokens that have places: int64[D, len(COUNTS)].")
      .def("add_tiled", &add_tiled, nb::kw_only(), "text"_a, "text_offsets"_a.noconvert(), "token_offsets"_a.noconvert(),
           "ids"_a.noconvert(), "groups"_a.noconvert(),
           "Count documents that their tokens tile: int64[D, len(COUNTS)].")
      .def("add_texts", &add_texts, nb::kw_only(), "texts"_a, "token_offsets"_a.noconvert(), "ids"_a.noconvert(),
           "groups"_a.noconvert(), "Count texts that their tokens tile: int64[D, len(COUNTS)].")
      .def("join", &join, "other"_a, "Count what another one has counted.")
      .def("totals", &totals, "int64[G, len(COUNTS)].")
      .def("numbers_by_length", &numbers_by_length, "int64[G, 17, 2].")
      .def("word_types", &word_types, "int64[G, 2].")
      .def("words", &words, "group"_a, "(data, offsets, occurrences, fewest, most), sorted by bytes.")
      .def("add_words", &add_words, "group"_a, nb::kw_only(), "data"_a.noconvert(), "offsets"_a.noconvert(),
           "occurrences"_a.noconvert(), "fewest"_a.noconvert(), "most"_a.noconvert(),
           "Count words that another one gave.")
      .def("worst_words", &worst_words, "group"_a, "n"_a, "[(word, most tokens, occurrences)].");
}
