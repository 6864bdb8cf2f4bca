// The kernel as the Python module `_native`. Arguments are checked here, and only here; the
// interpreter's lock is released around everything that takes time.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <chrono>

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

#include "counter.hpp"
#include "decoder.hpp"
#include "encoder.hpp"
#include "python_texts.hpp"
#include "trainer.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace tokbench;

namespace {

template <class T>
using Array = nb::ndarray<nb::numpy, T>;
template <class T>
using InputArray = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// nanobind imports NumPy when it hands the first array over, and takes a Ctrl-C in that import for an array
// that cannot be handed over: so it is imported before, where Ctrl-C is what it is.
void import_numpy() { nb::module_::import_("numpy"); }

template <class T>
Array<T> to_array(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
  import_numpy();
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = owned->data();
  nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  owned.release();
  return Array<T>(data, shape, owner);
}

Array<Id> to_array(Ids&& ids) {
  import_numpy();
  const std::size_t size = ids.size();
  Id* const data = ids.release();
  const nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
  return Array<Id>(data, {size}, owner);
}

template <class T>
Array<T> to_array(std::vector<T>&& values) {
  const std::size_t size = values.size();
  return to_array(std::move(values), {size});
}

Bytes view(const nb::bytes& bytes) { return {reinterpret_cast<const Byte*>(bytes.c_str()), bytes.size()}; }

// The UTF-8 of a Python string, which lives as long as the string. Raises UnicodeEncodeError for surrogates.
Bytes utf8_view(nb::handle text) {
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

std::vector<Bytes> utf8_views(const nb::tuple& texts) {
  std::vector<Bytes> views;
  views.reserve(texts.size());
  for (const nb::handle text : texts) views.push_back(utf8_view(text));
  return views;
}

// Calls back into Python now and then from a loop that runs without the interpreter's lock: for
// progress, and so that Ctrl-C ends the loop.
class Reporter {
 public:
  explicit Reporter(nb::object callback) : callback_(std::move(callback)) {}

  void operator()(std::uint64_t done) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(50)) return;
    last_ = now;
    const nb::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!callback_.is_none()) callback_(done);
  }

 private:
  nb::object callback_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Reads without the interpreter's lock; takes it to raise OSError, or what a signal's handler raises.
std::size_t read_some(int fd, std::span<Byte> into) {
  for (;;) {
#if defined(_WIN32)
    const auto got = ::_read(fd, into.data(), static_cast<unsigned>(into.size()));
#else
    const auto got = ::read(fd, into.data(), into.size());
#endif
    if (got >= 0) return static_cast<std::size_t>(got);
    const int error = errno;
    const nb::gil_scoped_acquire lock;
    if (error == EINTR && PyErr_CheckSignals() == 0) continue;
    if (error != EINTR) {
      errno = error;
      PyErr_SetFromErrno(PyExc_OSError);
    }
    throw nb::python_error();
  }
}

DocumentMode document_mode(const std::string& name) {
  if (name == "file") return DocumentMode::File;
  if (name == "lines") return DocumentMode::Lines;
  throw std::invalid_argument("documents must be \"file\" or \"lines\", not \"" + name + "\"");
}

void add_texts(PretokenCounter& counter, const nb::list& texts) {
  // The strings stay alive in the tuple; collecting their views needs the lock, copying them does not.
  const nb::tuple kept(texts);
  const std::vector<Bytes> views = utf8_views(kept);
  const nb::gil_scoped_release unlocked;
  for (const Bytes text : views) counter.add_document(text);
}

std::uint64_t add_file(PretokenCounter& counter, int fd, const std::string& documents, nb::object progress) {
  constexpr std::size_t kBlock = 1 << 20;
  const DocumentMode mode = document_mode(documents);
  Reporter report(std::move(progress));
  const nb::gil_scoped_release unlocked;
  counter.begin_source(mode);
  std::uint64_t total = 0;
  for (;;) {
    const std::size_t used = read_some(fd, counter.prepare(kBlock));
    counter.commit(used);
    if (used == 0) break;
    total += used;
    if (counter.invalid()) return total;
    report(total);
  }
  counter.end_source();
  return total;
}

nb::object invalid_place(PretokenCounter& counter) {
  const auto place = counter.invalid();
  return place ? nb::object(nb::make_tuple(place->source, place->offset)) : nb::none();
}

// The counts of a finished counter; before that, they are spread over threads.
const PretokenCounts& counts_of(const PretokenCounter& counter) {
  if (!counter.is_finished()) throw std::invalid_argument("the counter is not finished");
  return counter.counts();
}

nb::list counted_items(const PretokenCounter& counter) {
  nb::list items;
  counts_of(counter).for_each([&](Bytes text, std::int64_t count) {
    items.append(nb::make_tuple(nb::bytes(reinterpret_cast<const char*>(text.data()), text.size()), count));
  });
  return items;
}

nb::tuple train(const PretokenCounter& counter, std::size_t num_merges, std::int64_t min_frequency,
                std::size_t max_token_length, std::uint64_t seed, nb::object progress) {
  if (min_frequency < 1) throw std::invalid_argument("min_frequency must be at least 1");
  const PretokenCounts& pretokens = counts_of(counter);
  std::vector<Id> pairs;
  std::vector<std::int64_t> counts;
  std::int64_t num_tokens = 0;
  {
    Reporter report(std::move(progress));
    const nb::gil_scoped_release unlocked;
    Trainer trainer(pretokens, {num_merges, min_frequency, max_token_length, seed});
    while (trainer.step()) report(trainer.merges().size());
    for (const Merge& merge : trainer.merges()) {
      pairs.push_back(merge.left);
      pairs.push_back(merge.right);
      counts.push_back(merge.count);
    }
    num_tokens = trainer.num_tokens();
  }
  const std::size_t learned = counts.size();
  return nb::make_tuple(to_array(std::move(pairs), {learned, 2}), to_array(std::move(counts)), num_tokens);
}

Array<std::int64_t> split(const std::string& pattern, const nb::bytes& text, const std::optional<std::string>& simd) {
  std::vector<std::int64_t> ends;
  const Bytes bytes = view(text);
  const Pattern named = pattern_named(pattern);
  const SimdTier tier = simd ? simd_tier_named(*simd) : simd_tier();
  {
    const nb::gil_scoped_release unlocked;
    const auto sink = [&](const Byte*, const Byte* stop) { ends.push_back(stop - bytes.data()); };
    with_scanner(named, [&](auto scanner) { for_each_pretoken(scanner, bytes, sink, tier); });
  }
  return to_array(std::move(ends));
}

Pattern pattern_or_none(const std::optional<std::string>& name) { return name ? pattern_named(*name) : Pattern::None; }

void construct_from_merges(Encoder* self, const nb::ndarray<const Id, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>& merges,
                           const std::optional<std::string>& pattern) {
  const auto* const rows = reinterpret_cast<const std::array<Id, 2>*>(merges.data());
  new (self) Encoder(Vocabulary::from_merges({rows, merges.shape(0)}), pattern_or_none(pattern));
}

// Views into the bytes of a list, which keeps them alive.
std::vector<std::string_view> views_of(const nb::list& tokens) {
  std::vector<std::string_view> views;
  views.reserve(tokens.size());
  for (const nb::handle token : tokens) {
    if (!nb::isinstance<nb::bytes>(token)) throw nb::type_error("a token is not bytes");
    const auto bytes = nb::borrow<nb::bytes>(token);
    views.emplace_back(bytes.c_str(), bytes.size());
  }
  return views;
}

Encoder* encoder_from_ranks(const nb::list& tokens, const std::optional<std::string>& pattern) {
  return new Encoder(Vocabulary::from_ranks(views_of(tokens)), pattern_or_none(pattern));
}

Encoder* encoder_from_parts(const nb::list& tokens, const nb::ndarray<const Id, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>& merges,
                            bool whole_tokens_first, const std::optional<std::string>& pattern) {
  const auto* const rows = reinterpret_cast<const std::array<Id, 3>*>(merges.data());
  return new Encoder(Vocabulary::from_parts(views_of(tokens), {rows, merges.shape(0)}, whole_tokens_first),
                     pattern_or_none(pattern));
}

nb::list to_list(const Ids& ids) {
  const auto list = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(ids.size())));
  if (!list.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    PyObject* const id = PyLong_FromUnsignedLong(ids[i]);
    if (id == nullptr) throw nb::python_error();
    PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), id);
  }
  return list;
}

nb::list encode(const Encoder& encoder, nb::handle string) {
  const Text text = text_of(string);
  return to_list(without_lock(std::array{string}, [&] { return encoder.encode(text); }));
}

nb::list encode_bytes(const Encoder& encoder, const nb::bytes& bytes) {
  const Text text = view(bytes);
  return to_list(without_lock(std::array<nb::handle, 0>{}, [&] { return encoder.encode(text); }));
}

nb::tuple encode_batch(const Encoder& encoder, const nb::list& strings, unsigned threads) {
  const nb::tuple kept(strings);  // other threads may change the list meanwhile
  const std::vector<Text> texts = texts_of(kept);
  Encoder::Batch batch = without_lock(kept, [&] { return encoder.encode_batch(texts, threads); });
  return nb::make_tuple(to_array(std::move(batch.ids)), to_array(std::move(batch.offsets)));
}

Array<std::int64_t> count_batch(const Encoder& encoder, const nb::list& strings, unsigned threads) {
  const nb::tuple kept(strings);
  const std::vector<Text> texts = texts_of(kept);
  return to_array(without_lock(kept, [&] { return encoder.count_batch(texts, threads); }));
}

Array<Id> encode_split(const Encoder& encoder, nb::handle text, const std::vector<std::size_t>& ends) {
  const Bytes bytes = utf8_view(text);
  Ids ids;
  {
    const nb::gil_scoped_release unlocked;
    ids = encoder.encode_split(bytes, ends);
  }
  return to_array(std::move(ids));
}

nb::bytes decode_ids(const Encoder& encoder, const InputArray<Id>& ids) {
  const Vocabulary& vocabulary = encoder.vocabulary();
  const std::span<const Id> known(ids.data(), ids.size());
  if (const auto position = first_unknown(vocabulary, known)) {
    throw std::invalid_argument("id " + std::to_string(known[*position]) + " at position " + std::to_string(*position) +
                                " is not in the vocabulary");
  }
  const std::size_t size = decoded_size(vocabulary, known);
  const auto decoded = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
  if (!decoded.is_valid()) throw std::bad_alloc();
  decode(vocabulary, known, reinterpret_cast<Byte*>(PyBytes_AS_STRING(decoded.ptr())), size);
  return decoded;
}

nb::list token_list(const Encoder& encoder) {
  nb::list tokens;
  for (Id id = 0; id < encoder.vocabulary().size(); ++id) {
    const Bytes token = encoder.vocabulary().token(id);
    tokens.append(nb::bytes(reinterpret_cast<const char*>(token.data()), token.size()));
  }
  return tokens;
}

}  // namespace

NB_MODULE(_native, module) {
  module.attr("UNICODE_TABLES") = kUnicodeTablesVersion;
  module.def("split", &split, "pattern"_a, "text"_a, "simd"_a = nb::none(),
             "Where the pre-tokens of a text end, in bytes: int64[n]. `simd` names a tier, as TOKBENCH_SIMD does.");
  module.def("simd_tier", [] { return kSimdTierNames[static_cast<std::size_t>(simd_tier())]; },
             "The tier that runs. Raises ValueError where TOKBENCH_SIMD names one that cannot.");
  module.def(
      "class_of", [](std::uint32_t code_point) {
        if (code_point > 0x10FFFF) throw std::invalid_argument("no such code point");
        return static_cast<int>(class_of(code_point));
      },
      "code_point"_a, "The class of a code point in the scanners' tables.");
  module.def(
      "all_marked", [](nb::handle text, const InputArray<std::uint8_t>& marks) {
        if (marks.size() != 0x110000) throw std::invalid_argument("there must be a mark for each code point");
        return all_marked(text_of(text), marks.data());
      },
      "text"_a, "marks"_a.noconvert(), "Whether each code point of a text has a 1 among the marks.");
  module.def("train", &train, "counter"_a, nb::kw_only(), "num_merges"_a, "min_frequency"_a, "max_token_length"_a,
             "seed"_a, "progress"_a.none(),
             "Learn merges from a finished counter: (uint32[n, 2] pairs, int64[n] counts, tokens of the text).");

  nb::class_<PretokenCounter>(module, "PretokenCounter")
      .def(
          "__init__",
          [](PretokenCounter* self, const std::optional<std::string>& pattern, std::vector<std::string> special_tokens,
             unsigned threads, std::uint64_t seed) {
            for (const std::string& token : special_tokens) {
              if (token.empty()) throw std::invalid_argument("a special token is empty");
            }
            new (self) PretokenCounter(pattern_or_none(pattern), SpecialTokens(std::move(special_tokens)), threads, seed);
          },
          nb::kw_only(), "pattern"_a.none(), "special_tokens"_a, "threads"_a, "seed"_a)
      .def("add_texts", &add_texts, "texts"_a, "Whole documents.")
      .def("add_file", &add_file, "fd"_a, "documents"_a, "progress"_a.none(), "A source read from a file descriptor; its bytes.")
      .def("begin_source", [](PretokenCounter& self, const std::string& documents) { self.begin_source(document_mode(documents)); })
      .def("feed",
           [](PretokenCounter& self, const nb::bytes& block) {
             const Bytes bytes = view(block);
             const nb::gil_scoped_release unlocked;
             self.feed(bytes);
           })
      .def("end_source", &PretokenCounter::end_source, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "add_counted",
          [](PretokenCounter& self, nb::handle pretoken, std::int64_t count) {
            if (count < 1) throw std::invalid_argument("a count must be positive");
            self.add_counted(utf8_view(pretoken), count);
          },
          "pretoken"_a, "count"_a, "Occurrences of a pre-token that was split off elsewhere.")
      .def(
          "add_totals",
          [](PretokenCounter& self, std::uint64_t documents, std::uint64_t bytes, std::uint64_t pretokens) {
            self.add_totals({documents, bytes, pretokens});
          },
          nb::kw_only(), "documents"_a, "num_bytes"_a, "pretokens"_a)
      .def("finish", &PretokenCounter::finish, nb::call_guard<nb::gil_scoped_release>())
      .def("items", &counted_items, "Each distinct pre-token and its count, in no order.")
      .def_prop_ro("invalid", &invalid_place, "(number of the source, byte offset) where one is not UTF-8, or None.")
      .def_prop_ro("documents", [](const PretokenCounter& self) { return self.totals().documents; })
      .def_prop_ro("num_bytes", [](const PretokenCounter& self) { return self.totals().bytes; })
      .def_prop_ro("pretokens", [](const PretokenCounter& self) { return self.totals().pretokens; })
      .def_prop_ro("distinct_pretokens", [](const PretokenCounter& self) { return counts_of(self).size(); });

  nb::class_<Encoder>(module, "Encoder")
      .def("__init__", &construct_from_merges, "merges"_a.noconvert(), "pattern"_a.none())
      .def_static("from_ranks", &encoder_from_ranks, "tokens"_a, "pattern"_a.none())
      .def_static("from_parts", &encoder_from_parts, "tokens"_a, "merges"_a.noconvert(), nb::kw_only(), "whole_tokens_first"_a,
                  "pattern"_a.none())
      .def("encode", &encode, "text"_a)
      .def("encode_bytes", &encode_bytes, "text"_a, "The ids of any bytes, UTF-8 or not.")
      .def("encode_batch", &encode_batch, "texts"_a, "threads"_a, "(uint32[N] ids, int64[len(texts) + 1] offsets).")
      .def("count_batch", &count_batch, "texts"_a, "threads"_a, "How many ids each text has: int64[len(texts)].")
      .def("encode_split", &encode_split, "text"_a, "ends"_a, "The ids of a text that was split elsewhere: uint32[N].")
      .def("decode", &decode_ids, "ids"_a.noconvert())
      .def("tokens", &token_list, "The bytes of each id.")
      .def("__len__", [](const Encoder& self) { return self.vocabulary().size(); });
}
