// Encoding for Python, the same for every family: reads strings in place and returns ids in arrays.
#pragma once

#include "common/python_arrays.hpp"
#include "common/python_texts.hpp"
#include "encoder.hpp"

namespace tokbench {

namespace nb = nanobind;

inline Array<Id> to_array(Ids&& ids) {
  import_numpy();
  auto owned = std::make_unique<Ids>(std::move(ids));
  Id* const data = owned->fit();
  const std::size_t size = owned->size();
  const nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<Ids*>(p); });
  owned.release();
  return Array<Id>(data, {size}, owner);
}

// Runs work() without the interpreter's lock and returns its result. For a lone surrogate, raises the UnicodeEncodeError that
// Python raises for the first string with one.
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

inline nb::list to_list(const Ids& ids) {
  const auto list = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(ids.size())));
  if (!list.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    PyObject* const id = PyLong_FromUnsignedLong(ids[i]);
    if (id == nullptr) throw nb::python_error();
    PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), id);
  }
  return list;
}

template <Family F>
nb::list encode_read_text(const Encoder<F>& encoder, nb::handle string, ReadingOf<F> reading) {
  const Text text = text_of(string);
  return to_list(without_lock(std::array{string}, [&] { return encoder.encode(text, reading); }));
}

template <Family F>
nb::tuple encode_read_texts(const Encoder<F>& encoder, const nb::list& strings, unsigned threads, ReadingOf<F> reading) {
  const nb::tuple kept(strings);  // other threads may change the list meanwhile
  const std::vector<Text> texts = texts_of(kept);
  typename Encoder<F>::Batch batch = without_lock(kept, [&] { return encoder.encode_batch(texts, threads, reading); });
  return nb::make_tuple(to_array(std::move(batch.ids)), to_array(std::move(batch.offsets)));
}

// The same, and the characters that are not marked.
template <Family F>
nb::tuple encode_marked_texts(const Encoder<F>& encoder, const nb::list& strings, unsigned threads,
                              const InputArray<std::uint8_t>& marks, ReadingOf<F> reading) {
  const nb::tuple kept(strings);
  const std::vector<Text> texts = texts_of(kept);
  const Marks all = marks_of(marks);
  UnmarkedCodePoints unmarked(all);
  auto batch = without_lock(kept, [&] { return encoder.encode_batch_looking_at(texts, threads, unmarked, reading); });
  return nb::make_tuple(to_array(std::move(batch.ids)), to_array(std::move(batch.offsets)), string_of(unmarked.in_order()));
}

template <Family F>
Array<std::int64_t> count_read_texts(const Encoder<F>& encoder, const nb::list& strings, unsigned threads, ReadingOf<F> reading) {
  const nb::tuple kept(strings);
  const std::vector<Text> texts = texts_of(kept);
  return to_array(without_lock(kept, [&] { return encoder.count_batch(texts, threads, reading); }));
}

// The same for families without options for reading.
template <Family F>
nb::list encode_text(const Encoder<F>& encoder, nb::handle string) {
  return encode_read_text(encoder, string, {});
}

template <Family F>
nb::tuple encode_texts(const Encoder<F>& encoder, const nb::list& strings, unsigned threads) {
  return encode_read_texts(encoder, strings, threads, {});
}

template <Family F>
Array<std::int64_t> count_texts(const Encoder<F>& encoder, const nb::list& strings, unsigned threads) {
  return count_read_texts(encoder, strings, threads, {});
}

}  // namespace tokbench
