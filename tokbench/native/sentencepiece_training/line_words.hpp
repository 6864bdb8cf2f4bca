// The words of lines as they stand in a text: what is normalised and cut further is each distinct one, once.
#pragma once

#include <vector>

#include "training/counter.hpp"

namespace tokbench::sentencepiece {

// How the white space of a line is read.
struct Spacing {
  bool dummy_prefix;  // a line begins as if a space stood before it
  bool collapse;      // one space for many, none at either end
  bool whole_lines;   // words are not parted at spaces
};

// What a counter counts: the spaces before a word, and what follows up to the next space.
class LineWords {
 public:
  explicit LineWords(Spacing spacing) : spacing_(spacing) {}

  // Lines have nothing to do with each other.
  std::size_t last_safe_cut(Bytes text, std::size_t from) const {
    for (std::size_t end = text.size(); end > from; --end) {
      if (text[end - 1] == '\n') return end;
    }
    return 0;
  }

  template <class Sink>
  void for_each_some(Bytes text, Sink sink) const {
    Batch<Sink> batch(sink);
    std::size_t start = 0;
    while (start < text.size()) {
      const void* const found = std::memchr(text.data() + start, '\n', text.size() - start);
      const std::size_t stop = found ? static_cast<std::size_t>(static_cast<const Byte*>(found) - text.data()) : text.size();
      std::size_t end = stop;
      while (end > start && text[end - 1] == '\r') --end;
      if (end > start) split_line(text.data() + start, text.data() + end, batch);
      start = stop + 1;
    }
    batch.flush();
  }

 private:
  // Words that go to the sink together; the first ones of their lines stand in a room of their own, behind their space.
  template <class Sink>
  class Batch {
   public:
    explicit Batch(Sink& sink) : sink_(sink) {}

    void add(const Byte* p, const Byte* stop) {
      places_[2 * count_] = p;
      places_[2 * count_ + 1] = stop;
      if (++count_ == PretokenTable::kMostAtOnce) flush();
    }

    void add_behind_space(const Byte* p, const Byte* stop) {
      const auto size = static_cast<std::size_t>(stop - p) + 1;
      if (used_ + size + kKeyPadding > room_.size()) {
        flush();
        room_.resize(std::max<std::size_t>(kRoom, size + kKeyPadding));
      }
      Byte* const word = room_.data() + used_;
      word[0] = ' ';
      std::memcpy(word + 1, p, size - 1);
      used_ += size;
      add(word, word + size);
    }

    void flush() {
      if (count_ != 0) sink_(PretokenPlaces<2>{places_, count_});
      count_ = used_ = 0;
    }

   private:
    static constexpr std::size_t kRoom = 1 << 12;

    Sink& sink_;
    const Byte* places_[2 * PretokenTable::kMostAtOnce];
    std::size_t count_ = 0, used_ = 0;
    std::vector<Byte> room_;
  };

  template <class Batch>
  void split_line(const Byte* p, const Byte* end, Batch& batch) const {
    if (spacing_.whole_lines) {
      add_first(p, end, batch);
      return;
    }
    bool is_first = true;
    while (p < end) {
      const Byte* word = p;
      while (word < end && *word == ' ') ++word;
      const Byte* stop = word;
      while (stop < end && *stop != ' ') ++stop;
      if (spacing_.collapse && word == stop) return;
      if (is_first) {
        add_first(spacing_.collapse ? word : p, stop, batch);
      } else {
        batch.add(spacing_.collapse ? word - 1 : p, stop);
      }
      is_first = false;
      p = stop;
    }
  }

  template <class Batch>
  void add_first(const Byte* p, const Byte* stop, Batch& batch) const {
    if (spacing_.dummy_prefix) {
      batch.add_behind_space(p, stop);
    } else {
      batch.add(p, stop);
    }
  }

  Spacing spacing_;
};

using LineWordCounter = Counter<LineWords>;

}  // namespace tokbench::sentencepiece
