// Counting and training for Python.
#include <cerrno>
#include <chrono>

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

#include "binding.hpp"
#include "counter.hpp"
#include "training/trainer.hpp"

namespace tokbench {

using namespace nb::literals;

namespace {

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

nb::object invalid_byte(PretokenCounter& counter) {
  const auto found = counter.invalid();
  return found ? nb::object(nb::make_tuple(found->source, found->offset)) : nb::none();
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

}  // namespace

void bind_training(nb::module_& module) {
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
      .def_prop_ro("invalid", &invalid_byte, "(number of the source, byte offset) where one is not UTF-8, or None.")
      .def_prop_ro("documents", [](const PretokenCounter& self) { return self.totals().documents; })
      .def_prop_ro("num_bytes", [](const PretokenCounter& self) { return self.totals().bytes; })
      .def_prop_ro("pretokens", [](const PretokenCounter& self) { return self.totals().pretokens; })
      .def_prop_ro("distinct_pretokens", [](const PretokenCounter& self) { return counts_of(self).size(); });
}

}  // namespace tokbench
