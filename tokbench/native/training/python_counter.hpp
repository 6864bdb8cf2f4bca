// Passes documents from Python to a counter: strings, files by their descriptor, blocks of bytes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <chrono>

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

#include "common/python_arrays.hpp"
#include "common/python_texts.hpp"
#include "counter.hpp"

namespace tokbench {

inline std::vector<Bytes> utf8_views(const nb::tuple& texts) {
  std::vector<Bytes> views;
  views.reserve(texts.size());
  for (const nb::handle text : texts) views.push_back(utf8_view(text));
  return views;
}

// Calls back into Python at intervals from a loop that runs without the interpreter's lock, to report progress and to handle
// Ctrl-C.
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

// Reads without the interpreter's lock. Takes it to raise OSError, or the exception of a signal handler.
inline std::size_t read_some(int fd, std::span<Byte> into) {
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

inline DocumentMode document_mode(const std::string& name) {
  if (name == "file") return DocumentMode::File;
  if (name == "lines") return DocumentMode::Lines;
  throw std::invalid_argument("documents must be \"file\" or \"lines\", not \"" + name + "\"");
}

template <class C>
void add_texts(C& counter, const nb::list& texts) {
  // The tuple keeps the strings alive. Collecting their views needs the lock; copying the bytes does not.
  const nb::tuple kept(texts);
  const std::vector<Bytes> views = utf8_views(kept);
  const nb::gil_scoped_release unlocked;
  for (const Bytes text : views) counter.add_document(text);
}

template <class C>
std::uint64_t add_file(C& counter, int fd, const std::string& documents, nb::object progress) {
  constexpr std::size_t kReadBytes = 1 << 20;
  const DocumentMode mode = document_mode(documents);
  Reporter report(std::move(progress));
  const nb::gil_scoped_release unlocked;
  counter.begin_source(mode);
  std::uint64_t total = 0;
  for (;;) {
    const std::size_t used = read_some(fd, counter.prepare(kReadBytes));
    counter.commit(used);
    if (used == 0) break;
    total += used;
    if (counter.invalid()) return total;
    report(total);
  }
  counter.end_source();
  return total;
}

template <class C>
nb::object invalid_byte(C& counter) {
  const auto found = counter.invalid();
  return found ? nb::object(nb::make_tuple(found->source, found->offset)) : nb::none();
}

inline SpecialTokens checked(std::vector<std::string> special_tokens) {
  for (const std::string& token : special_tokens) {
    if (token.empty()) throw std::invalid_argument("a special token is empty");
  }
  return SpecialTokens(std::move(special_tokens));
}

// Binds the methods that all counters have for documents.
template <class C>
void bind_documents(nb::class_<C>& type) {
  using namespace nb::literals;
  type.def("add_texts", &add_texts<C>, "texts"_a, "Whole documents.")
      .def("add_file", &add_file<C>, "fd"_a, "documents"_a, "progress"_a.none(), "A source read from a file descriptor; its bytes.")
      .def("begin_source", [](C& self, const std::string& documents) { self.begin_source(document_mode(documents)); })
      .def("feed",
           [](C& self, const nb::bytes& block) {
             const Bytes bytes = view(block);
             const nb::gil_scoped_release unlocked;
             self.feed(bytes);
           })
      .def("end_source", &C::end_source, nb::call_guard<nb::gil_scoped_release>())
      .def("finish", &C::finish, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("invalid", &invalid_byte<C>, "(number of the source, byte offset) where one is not UTF-8, or None.")
      .def_prop_ro("documents", [](const C& self) { return self.totals().documents; })
      .def_prop_ro("num_bytes", [](const C& self) { return self.totals().bytes; });
}

}  // namespace tokbench
