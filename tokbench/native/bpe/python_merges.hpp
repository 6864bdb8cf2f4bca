// The merges of a `tokenizer.json` by ids, read from Python's lists and dictionaries.
#pragma once

#include "common/python_texts.hpp"
#include "piece_ids.hpp"

namespace tokbench {

// The pieces of one merge at a time, in UTF-8.
class MergePieces {
 public:
  // Reads a merge: "left right", or a list or tuple of both. Returns false if it is neither.
  bool read(nb::handle merge) {
    if (PyUnicode_CheckExact(merge.ptr())) {
      size_ = append_utf8(text_of(merge), text_, 0);
      const auto* const space = static_cast<const Byte*>(std::memchr(text_.data(), ' ', size_));
      if (space == nullptr) return false;
      left_ = static_cast<std::size_t>(space - text_.data());
      --size_;
      std::memmove(text_.data() + left_, space + 1, size_ - left_);
      return is_pair() && std::memchr(text_.data() + left_, ' ', size_ - left_) == nullptr;
    }
    const bool is_list = PyList_CheckExact(merge.ptr());
    if ((!is_list && !PyTuple_CheckExact(merge.ptr())) || PySequence_Fast_GET_SIZE(merge.ptr()) != 2) return false;
    PyObject* const left = PySequence_Fast_GET_ITEM(merge.ptr(), 0);
    PyObject* const right = PySequence_Fast_GET_ITEM(merge.ptr(), 1);
    if (!PyUnicode_CheckExact(left) || !PyUnicode_CheckExact(right)) return false;
    left_ = append_utf8(text_of(left), text_, 0);
    size_ = append_utf8(text_of(right), text_, left_);
    return is_pair();
  }

  Bytes left() const { return {text_.data(), left_}; }
  Bytes right() const { return {text_.data() + left_, size_ - left_}; }
  Bytes merged() const { return {text_.data(), size_}; }

 private:
  bool is_pair() const { return left_ != 0 && left_ != size_; }

  std::vector<Byte> text_;
  std::size_t left_ = 0, size_ = 0;
};

// Adds the pieces of a vocabulary. Returns false if one is no string, or its id no small number.
inline bool add_pieces(const nb::dict& vocabulary, PieceIds& ids) {
  std::vector<Byte> text;
  Py_ssize_t at = 0;
  PyObject *piece = nullptr, *number = nullptr;
  while (PyDict_Next(vocabulary.ptr(), &at, &piece, &number)) {
    if (!PyUnicode_CheckExact(piece) || !PyLong_CheckExact(number)) return false;
    int overflow = 0;
    const long long id = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow != 0 || id < 0 || id >= PieceIds::kNone) return false;
    const std::size_t size = append_utf8(text_of(piece), text, 0);
    ids.add({text.data(), size}, static_cast<Id>(id));
  }
  return true;
}

// uint32[3n]: the left, the right and the merged id of each merge. None if anything else than pairs of pieces is among the merges,
// or a piece is not in the vocabulary.
inline nb::object merge_ids(const nb::list& merges, const nb::dict& vocabulary) {
  try {
    PieceIds ids(vocabulary.size());
    if (!add_pieces(vocabulary, ids)) return nb::none();
    std::vector<Id> found;
    found.reserve(merges.size() * 3);
    MergePieces pieces;
    for (const nb::handle merge : merges) {
      if (!pieces.read(merge)) return nb::none();
      for (const Bytes piece : {pieces.left(), pieces.right(), pieces.merged()}) {
        found.push_back(ids.find(piece));
        if (found.back() == PieceIds::kNone) return nb::none();
      }
    }
    return nb::cast(to_array(std::move(found)));
  } catch (const LoneSurrogate&) {
    return nb::none();
  }
}

}  // namespace tokbench
