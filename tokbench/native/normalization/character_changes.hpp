// Normalizations that map each character by itself, apart from the canonical order of combining marks: lower-casing, NFD, NFKD,
// removal of accents, and BERT's. The caller provides the mapping.
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
  using Origin = std::uint32_t;

  // Maps characters[i] to parts[firsts[i]:firsts[i + 1]]. Part j has the order orders[j] and the bytes text[starts[j]:starts[j
  // + 1]], none if a mark is removed. Consecutive parts with orders other than 0 are sorted by these. inserted[j] says whether
  // the part was inserted after another one when its character was decomposed.
  CharacterChanges(std::span<const std::uint32_t> characters, std::span<const std::uint32_t> firsts, std::span<const Byte> orders,
                   std::span<const Byte> inserted, std::span<const std::uint32_t> starts, Bytes text)
      : firsts_(firsts.begin(), firsts.end()), orders_(orders.begin(), orders.end()), inserted_(inserted.begin(), inserted.end()),
        starts_(starts.begin(), starts.end()), text_(text.begin(), text.end()) {
    check(characters);
    for (std::uint32_t i = 0; i < characters.size(); ++i) numbers_.at(characters[i]) = i;
    for (std::uint32_t c = 0; c < 0x80; ++c) {
      const std::uint32_t number = numbers_[c];
      ascii_[c] = number == kUnchanged ? static_cast<Byte>(c) : single_ascii(number);
    }
  }

  // The normalized text, written to `buffer`, which grows as needed. Invalid bytes are kept.
  Bytes of(Bytes text, std::vector<Byte>& buffer) const { return made<false>(text, buffer, nullptr); }

  // The same; origins[i] is the start of the character of `text` that byte i comes from.
  Bytes of(Bytes text, std::vector<Byte>& buffer, std::vector<Origin>& origins) const {
    if (text.size() > UINT32_MAX) throw std::length_error("a text of more than 4 GB");
    return made<true>(text, buffer, &origins);
  }

  // Whether ASCII letters map to ASCII letters, and spaces to themselves.
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
  static constexpr Byte kOther = 0xFF;  // does not map to a single ASCII character

  struct Mark {
    std::size_t start, size;
    Byte order;
    bool is_inserted;
    Origin origin;
  };

  // The combining marks after a character, at the end of the output.
  class Run {
   public:
    void add(const Mark& mark) {
      is_sorted_ = is_sorted_ && (marks_.empty() || marks_.back().order <= mark.order);
      marks_.push_back(mark);
    }

    // Sorts the marks and writes them. `origins`, if given, are those of the output; `before` is the origin of the character
    // before the marks.
    void close(std::vector<Byte>& buffer, const Byte* out, std::vector<Origin>* origins, Origin before) {
      if (marks_.empty()) [[likely]] return;
      if (!is_sorted_) {
        const auto first = static_cast<std::ptrdiff_t>(marks_.front().start);
        const std::vector<Byte> written(buffer.begin() + first, buffer.begin() + (out - buffer.data()));
        if (origins != nullptr) note_origins();
        std::ranges::stable_sort(marks_, {}, &Mark::order);
        auto to = buffer.begin() + first;
        for (const Mark& mark : marks_) to = std::copy_n(written.begin() + (static_cast<std::ptrdiff_t>(mark.start) - first), mark.size, to);
        if (origins != nullptr) place(origins->begin() + first, before);
      }
      marks_.clear();
      is_sorted_ = true;
    }

   private:
    void note_origins() {
      origins_.clear();
      for (const Mark& mark : marks_) {
        if (!mark.is_inserted) origins_.push_back(mark.origin);
      }
    }

    // An inserted mark has the origin of the character that now precedes it; the other marks keep the origins in their old
    // order.
    void place(std::vector<Origin>::iterator to, Origin last) const {
      auto next = origins_.begin();
      for (const Mark& mark : marks_) {
        if (!mark.is_inserted) last = *next++;
        to = std::fill_n(to, mark.size, last);
      }
    }

    std::vector<Mark> marks_;
    std::vector<Origin> origins_;
    bool is_sorted_ = true;
  };

  template <bool kPlaced>
  Bytes made(Bytes text, std::vector<Byte>& buffer, [[maybe_unused]] std::vector<Origin>* origins) const {
    const Byte* p = text.data();
    const Byte* const end = p + text.size();
    if (buffer.size() < text.size()) buffer.resize(text.size());
    if constexpr (kPlaced) origins->resize(std::max(origins->size(), buffer.size()));
    Byte* out = buffer.data();  // always followed by room for the rest of the text
    Run run;
    Origin before = 0;  // origin of the last part with order 0
    const auto origin = [&](const Byte* character) { return static_cast<Origin>(character - text.data()); };
    const auto close = [&] { run.close(buffer, out, origins, before); };
    const auto note = [&]([[maybe_unused]] const Byte* character, [[maybe_unused]] std::size_t size) {
      if constexpr (kPlaced) std::fill_n(origins->begin() + (out - buffer.data()), size, origin(character));
    };
    while (p != end) {
      if (is_plain(*p)) {
        close();
        do {
          note(p, 1);
          *out++ = ascii_[*p++];
        } while (p != end && is_plain(*p));
        before = origin(p - 1);
        continue;
      }
      const Byte* const start = p;
      const CodePoint character = code_point_at(p, end);
      const std::uint32_t number = numbers_[character.value];
      p += character.length;
      if (number == kUnchanged) {
        close();
        note(start, character.length);
        out = std::copy_n(start, character.length, out);
        before = origin(start);
        continue;
      }
      for (std::uint32_t part = firsts_[number]; part < firsts_[number + 1]; ++part) {
        const std::size_t size = starts_[part + 1] - starts_[part];
        const auto written = static_cast<std::size_t>(out - buffer.data());
        if (const std::size_t needed = written + size + static_cast<std::size_t>(end - p); buffer.size() < needed) {
          buffer.resize(needed + needed / 2);
          if constexpr (kPlaced) origins->resize(buffer.size());
          out = buffer.data() + written;
        }
        if (orders_[part] == 0) {
          close();
          before = origin(start);
        } else {
          run.add({written, size, orders_[part], inserted_[part] != 0, origin(start)});
        }
        note(start, size);
        out = std::copy_n(text_.begin() + starts_[part], size, out);
      }
    }
    close();
    return {buffer.data(), out};
  }

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
    if (!are_ends(firsts_, characters.size(), orders_.size()) || !are_ends(starts_, orders_.size(), text_.size()) ||
        inserted_.size() != orders_.size()) {
      throw std::invalid_argument("the parts are not those of the characters, or the bytes not those of the parts");
    }
    if (std::ranges::any_of(characters, [](std::uint32_t c) { return c >= CodePoint::kNoCharacter; })) throw std::invalid_argument("no such code point");
    for (std::size_t part = 0; part < orders_.size(); ++part) {
      if (first_invalid(Bytes(text_).subspan(starts_[part], starts_[part + 1] - starts_[part]))) throw std::invalid_argument("a part is not UTF-8");
    }
  }

  std::vector<std::uint32_t> firsts_;
  std::vector<Byte> orders_;
  std::vector<Byte> inserted_;
  std::vector<std::uint32_t> starts_;
  std::vector<Byte> text_;
  CharacterTable<std::uint32_t> numbers_{kUnchanged};
  std::array<Byte, 0x80> ascii_{};
};

}  // namespace tokbench
