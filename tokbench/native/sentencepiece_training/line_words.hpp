// Splits raw text into lines and words. Each distinct word is normalized and split further only once.
#pragma once

#include <string_view>
#include <vector>

#include "training/counter.hpp"

namespace tokbench::sentencepiece {

// How white space in a line is treated.
struct Spacing {
  bool dummy_prefix;  // a space is added in front of each line
  bool collapse;      // extra spaces are removed, and those at both ends
  bool whole_lines;   // lines are not split at spaces
};

// The Splitter for counting (training/counter.hpp): a word consists of the spaces before it and all characters up to the next
// space. ▁ counts as a space, except that extra ones are not removed. ▅, which SentencePiece's trainers reserve, ends a line.
class LineWords {
 public:
  explicit LineWords(Spacing spacing) : spacing_(spacing) {}

  // Lines are independent of each other.
  std::size_t last_safe_cut(Bytes text, std::size_t from) const {
    for (std::size_t end = text.size(); end > from; --end) {
      if (text[end - 1] == '\n') return end;
    }
    return 0;
  }

  template <class Sink>
  void for_each_some(Bytes text, Sink sink) const {
    if (next_mark(text, 0) == kNone) {
      split_lines(text, sink);
    } else {
      const std::vector<Byte> plain = without_marks(text);
      split_lines(Bytes(plain).first(plain.size() - kKeyPadding), sink);
    }
  }

 private:
  static constexpr std::size_t kNone = std::string_view::npos;
  static constexpr std::string_view kMarks = "\xE2\x96";  // common prefix of ▁ and ▅, which end in 81 and 85

  std::size_t next_mark(Bytes text, std::size_t from) const {
    const std::string_view characters(reinterpret_cast<const char*>(text.data()), text.size());
    for (std::size_t at = from; (at = characters.find(kMarks, at)) != kNone; at += kMarks.size()) {
      const Byte last = at + kMarks.size() < text.size() ? text[at + kMarks.size()] : Byte{0};
      if (last == 0x85 || (last == 0x81 && !spacing_.collapse)) return at;
    }
    return kNone;
  }

  // Replaces each ▅ by a line end and each ▁ by a space; adds padding.
  std::vector<Byte> without_marks(Bytes text) const {
    std::vector<Byte> plain;
    plain.reserve(text.size() + kKeyPadding);
    std::size_t start = 0;
    for (std::size_t found; (found = next_mark(text, start)) != kNone; start = found + kMarks.size() + 1) {
      plain.insert(plain.end(), text.begin() + static_cast<std::ptrdiff_t>(start), text.begin() + static_cast<std::ptrdiff_t>(found));
      plain.push_back(text[found + kMarks.size()] == 0x85 ? '\n' : ' ');
    }
    plain.insert(plain.end(), text.begin() + static_cast<std::ptrdiff_t>(start), text.end());
    plain.resize(plain.size() + kKeyPadding);
    return plain;
  }

  template <class Sink>
  void split_lines(Bytes text, Sink& sink) const {
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

  // A group of words for the sink. The first word of a line is copied with the space in front of it.
  template <class Sink>
  class Batch {
   public:
    explicit Batch(Sink& sink) : sink_(sink) {}

    void add(const Byte* p, const Byte* stop) {
      places_[2 * count_] = p;
      places_[2 * count_ + 1] = stop;
      if (++count_ == PretokenTable::kMostAtOnce) flush();
    }

    void add_after_space(const Byte* p, const Byte* stop) {
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
      batch.add_after_space(p, stop);
    } else {
      batch.add(p, stop);
    }
  }

  Spacing spacing_;
};

using LineWordCounter = Counter<LineWords>;

}  // namespace tokbench::sentencepiece
