// Normalisation that makes of a text what it makes of each of its characters, but for the order of combining marks: lower case,
// NFD and NFKD, texts without accents, and BERT's. What it makes of them is given by the caller, who knows Unicode.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <vector>

#include "character_table.hpp"

namespace tokbench {

class CharacterChanges {
 public:
  // Each of `characters` becomes the parts from its number in `firsts` to the next one's, each with an order and the bytes from
  // its number in `starts` to the next one's, none where a mark is left out. Parts behind one another whose order is not 0
  // are sorted by it.
  CharacterChanges(std::span<const std::uint32_t> characters, std::span<const std::uint32_t> firsts, std::span<const Byte> orders,
                   std::span<const std::uint32_t> starts, Bytes text)
      : firsts_(firsts.begin(), firsts.end()), orders_(orders.begin(), orders.end()), starts_(starts.begin(), starts.end()),
        text_(text.begin(), text.end()) {
    check(characters);
    for (std::uint32_t i = 0; i < characters.size(); ++i) numbers_.at(characters[i]) = i;
    for (std::uint32_t c = 0; c < 0x80; ++c) {
      const std::uint32_t number = numbers_[c];
      ascii_[c] = number == kUnchanged ? static_cast<Byte>(c) : single_ascii(number);
    }
  }

  // What a text becomes, written to `buffer`, which grows where it has to. Bytes that begin no character stay.
  Bytes of(Bytes text, std::vector<Byte>& buffer) const {
    const Byte* p = text.data();
    const Byte* const end = p + text.size();
    if (buffer.size() < text.size()) buffer.resize(text.size());
    Byte* out = buffer.data();  // behind it there is room for what is left of the text
    Run run;
    while (p != end) {
      if (is_plain(*p)) {
        run.close(buffer, out);
        do {
          *out++ = ascii_[*p++];
        } while (p != end && is_plain(*p));
        continue;
      }
      const CodePoint character = code_point_at(p, end);
      const std::uint32_t number = numbers_[character.value];
      if (number == kUnchanged) {
        run.close(buffer, out);
        out = std::copy_n(p, character.length, out);
        p += character.length;
        continue;
      }
      p += character.length;
      for (std::uint32_t part = firsts_[number]; part < firsts_[number + 1]; ++part) {
        const std::size_t size = starts_[part + 1] - starts_[part];
        const auto written = static_cast<std::size_t>(out - buffer.data());
        if (const std::size_t needed = written + size + static_cast<std::size_t>(end - p); buffer.size() < needed) {
          buffer.resize(needed + needed / 2);
          out = buffer.data() + written;
        }
        if (orders_[part] == 0) {
          run.close(buffer, out);
        } else {
          run.add({written, size, orders_[part]});
        }
        out = std::copy_n(text_.begin() + starts_[part], size, out);
      }
    }
    run.close(buffer, out);
    return {buffer.data(), out};
  }

  // Whether ASCII letters become such letters, and spaces stay.
  bool keeps_words() const {
    if (ascii_[' '] != ' ') return false;
    const auto is_letter = [](std::uint32_t c) { return c < 0x80 && (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
    for (std::uint32_t c = 0; c < 0x80; ++c) {
      if (is_letter(c) && !is_letter(ascii_[c])) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint32_t kUnchanged = 0xFFFFFFFFu;
  static constexpr Byte kOther = 0xFF;  // what does not become one ASCII character

  struct Mark {
    std::size_t start, size;
    Byte order;
  };

  // The marks behind a character, at the end of what was written.
  class Run {
   public:
    void add(const Mark& mark) {
      is_sorted_ = is_sorted_ && (marks_.empty() || marks_.back().order <= mark.order);
      marks_.push_back(mark);
    }

    void close(std::vector<Byte>& buffer, const Byte* out) {
      if (marks_.empty()) [[likely]] return;
      if (!is_sorted_) {
        const auto first = static_cast<std::ptrdiff_t>(marks_.front().start);
        const std::vector<Byte> written(buffer.begin() + first, buffer.begin() + (out - buffer.data()));
        std::ranges::stable_sort(marks_, {}, &Mark::order);
        auto to = buffer.begin() + first;
        for (const Mark& mark : marks_) to = std::copy_n(written.begin() + (static_cast<std::ptrdiff_t>(mark.start) - first), mark.size, to);
      }
      marks_.clear();
      is_sorted_ = true;
    }

   private:
    std::vector<Mark> marks_;
    bool is_sorted_ = true;
  };

  bool is_plain(Byte byte) const { return byte < 0x80 && ascii_[byte] != kOther; }

  Byte single_ascii(std::uint32_t number) const {
    const std::uint32_t part = firsts_[number];
    const bool is_single = firsts_[number + 1] == part + 1 && orders_[part] == 0 && starts_[part + 1] == starts_[part] + 1;
    return is_single ? text_[starts_[part]] : kOther;
  }

  void check(std::span<const std::uint32_t> characters) const {
    const auto are_ends = [](std::span<const std::uint32_t> ends, std::size_t count, std::size_t last) {
      return ends.size() == count + 1 && ends.front() == 0 && ends.back() == last && std::ranges::is_sorted(ends);
    };
    if (!are_ends(firsts_, characters.size(), orders_.size()) || !are_ends(starts_, orders_.size(), text_.size())) {
      throw std::invalid_argument("the parts are not those of the characters, or the bytes not those of the parts");
    }
    if (std::ranges::any_of(characters, [](std::uint32_t c) { return c >= CodePoint::kNoCharacter; })) throw std::invalid_argument("no such code point");
    for (std::size_t part = 0; part < orders_.size(); ++part) {
      if (first_invalid(Bytes(text_).subspan(starts_[part], starts_[part + 1] - starts_[part]))) throw std::invalid_argument("a part is not UTF-8");
    }
  }

  std::vector<std::uint32_t> firsts_;
  std::vector<Byte> orders_;
  std::vector<std::uint32_t> starts_;
  std::vector<Byte> text_;
  CharacterTable<std::uint32_t> numbers_{kUnchanged};
  std::array<Byte, 0x80> ascii_{};
};

}  // namespace tokbench
