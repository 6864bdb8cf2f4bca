// Texts as the numbers of their characters, with the pieces that end at each position, for a batch that is walked side by side.
#pragma once

#include "model.hpp"

namespace tokbench {

// One text of the batch. `stops` has one more element than characters: the byte offset before each character, and the end.
struct WalkedText {
  std::span<const std::uint32_t> numbers, endings, stops;
  const Byte* bytes;
  std::size_t num_foreign;  // number of characters that are in no piece
  std::size_t first;        // its first position among those of all texts
};

template <class Real>
class WalkedTexts {
 public:
  explicit WalkedTexts(const UnigramModel<Real>& model) : model_(model) {}

  void clear() {
    texts_.clear();
    walks_.clear();
    copies_.clear();
    used_ = 0;
  }

  std::size_t size() const { return texts_.size(); }
  // The number of positions of all texts: for each text, one more than it has characters.
  std::size_t num_places() const { return used_; }

  // Adds a normalized text, which is copied.
  void add(Bytes text) {
    Adding adding = begin(text.size(), {nullptr, copies_.size()});
    const Byte* p = text.data();
    const Byte* const end = p + text.size();
    while (p != end) {
      const CodePoint character = code_point_at(p, end);
      p += character.length;
      put(adding, model_.automaton().number_of(character.value), p - text.data());
    }
    copies_.insert(copies_.end(), text.begin(), text.end());
    finish(adding);
  }

  // Adds a raw word, which is not copied and must stay valid. Spaces stand for ▁, and one more ▁ is put in front on request. Adds
  // nothing and returns false if normalization may change one of its characters.
  bool add_raw(Bytes word, bool puts_mark_in_front) {
    Adding adding = begin(word.size() + 1, {word.data(), 0});
    const Byte* p = word.data();
    const Byte* const end = p + word.size();
    if (puts_mark_in_front) put(adding, model_.raw_number_of(' '), 0);
    while (p != end) {
      const CodePoint character = code_point_at(p, end);
      const std::uint32_t number = model_.raw_number_of(character.value);
      if (number == UnigramModel<Real>::kRewritten) {
        walks_.resize(adding.first_walk);
        return false;
      }
      p += character.length;
      put(adding, number, p - word.data());
    }
    finish(adding);
    return true;
  }

  // Finds the pieces that end at each position of all texts.
  void walk() { model_.automaton().walk(walks_, numbers_.data(), endings_.data()); }

  // A text by the order of addition; valid until another one is added.
  WalkedText operator[](std::size_t i) const {
    const Added& text = texts_[i];
    const Byte* const bytes = text.bytes.first != nullptr ? text.bytes.first : copies_.data() + text.bytes.copied_to;
    return {std::span(numbers_).subspan(text.first, text.size), std::span(endings_).subspan(text.first, text.size),
            std::span(stops_).subspan(text.first, text.size + 1), bytes, text.num_foreign, text.first};
  }

 private:
  // Where the bytes of a text are stored.
  struct Place {
    const Byte* first;  // nullptr if they were copied
    std::size_t copied_to;
  };
  struct Added {
    Place bytes;
    std::size_t first, size, num_foreign;
  };
  struct Adding {
    Place bytes;
    std::size_t first_walk, at, num_foreign;
    bool is_after_foreign;
  };

  Adding begin(std::size_t most, Place bytes) {
    if (numbers_.size() < used_ + most + 1) {
      for (std::vector<std::uint32_t>* each : {&numbers_, &endings_, &stops_}) each->resize((used_ + most + 1) * 2);
    }
    stops_[used_] = 0;
    return {bytes, walks_.size(), used_, 0, true};
  }

  // No piece contains a foreign character: a new walk starts after it.
  TOKBENCH_ALWAYS_INLINE void put(Adding& adding, std::uint32_t number, std::ptrdiff_t stop) {
    numbers_[adding.at] = number;
    if (number == 0) {
      endings_[adding.at] = 0;
      ++adding.num_foreign;
    } else if (adding.is_after_foreign) {
      walks_.push_back({.at = adding.at, .stop = 0});
    }
    adding.is_after_foreign = number == 0;
    if (number != 0) walks_.back().stop = adding.at + 1;
    stops_[++adding.at] = static_cast<std::uint32_t>(stop);
  }

  void finish(const Adding& adding) {
    texts_.push_back({adding.bytes, used_, adding.at - used_, adding.num_foreign});
    used_ = adding.at + 1;
  }

  const UnigramModel<Real>& model_;
  std::vector<Added> texts_;
  std::size_t used_ = 0;  // elements of the next three in use: one more than characters for each text
  std::vector<std::uint32_t> numbers_, endings_, stops_;
  std::vector<typename PieceAutomaton<Real>::Walk> walks_;
  std::vector<Byte> copies_;
};

}  // namespace tokbench
