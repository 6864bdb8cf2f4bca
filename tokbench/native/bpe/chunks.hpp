// Texts divided into chunks for threads: many short ones together, a long one in parts.
//
// A long text is cut only where the pre-tokens of both sides do not depend on the other side, so that its parts
// have the ids that it has.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "common/texts.hpp"
#include "patterns.hpp"

namespace tokbench {

// is_safe_cut() for text with a code point a unit.
template <class Unit>
inline bool is_safe_cut(const Unit* units, std::size_t size, std::size_t cut) {
  const auto is_ascii_letter = [](Unit unit) { return unit < 0x80 && is_letter(class_of(unit)); };
  if (units[cut] == ' ') return cut + 1 < size && is_ascii_letter(units[cut - 1]) && is_ascii_letter(units[cut + 1]);
  return cut >= 2 && units[cut - 1] == '\n' && !is_space(class_of(units[cut - 2])) && is_letter(class_of(units[cut]));
}

// The first safe cut at `from` > 0 or behind it, in units; the size of the text where there is none.
template <class Unit, class IsSafeCut>
inline std::size_t first_safe_cut(const Unit* units, std::size_t size, std::size_t from, IsSafeCut is_safe) {
  for (std::size_t cut = from; cut < size; ++cut) {
    if ((units[cut] == ' ' || units[cut - 1] == '\n') && is_safe(cut)) return cut;
  }
  return size;
}

inline std::size_t first_safe_cut(Pattern pattern, const Text& text, std::size_t from) {
  if (pattern == Pattern::None) return text.size;
  const auto among = [&](const auto* units) {
    return first_safe_cut(units, text.size, from, [&](std::size_t cut) { return is_safe_cut(units, text.size, cut); });
  };
  switch (text.units) {
    case Units::Latin1:
      return among(static_cast<const std::uint8_t*>(text.data));
    case Units::Ucs2:
      return among(static_cast<const std::uint16_t*>(text.data));
    case Units::Ucs4:
      return among(static_cast<const std::uint32_t*>(text.data));
    case Units::Utf8:
      break;
  }
  const Bytes bytes(static_cast<const Byte*>(text.data), text.size);
  return first_safe_cut(bytes.data(), bytes.size(), from, [&](std::size_t cut) { return is_safe_cut(bytes, cut); });
}

class Chunks {
 public:
  Chunks(std::span<const Text> texts, Pattern pattern) : texts_(texts) {
    std::size_t units = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::size_t left = texts[i].size;
      for (std::size_t cut; left > kChunkUnits * 2; left = texts[i].size - cut) {
        cut = first_safe_cut(pattern, texts[i], texts[i].size - left + kChunkUnits);
        if (cut == texts[i].size) break;
        starts_.push_back({i, cut});
        units = 0;
      }
      units += left;
      if (units >= kChunkUnits || i + 1 == texts.size()) {
        starts_.push_back({i + 1, 0});
        units = 0;
      }
    }
  }

  std::size_t size() const { return starts_.size() - 1; }

  // Calls use(number of the text, part of it, whether that is all of it) for what is in a chunk.
  template <class Use>
  void for_each_part(std::size_t chunk, Use use) const {
    const Start first = starts_[chunk], behind = starts_[chunk + 1];
    for (std::size_t i = first.text; i < behind.text || (i == behind.text && behind.unit != 0); ++i) {
      const std::size_t from = i == first.text ? first.unit : 0;
      const std::size_t to = i == behind.text ? behind.unit : texts_[i].size;
      use(i, texts_[i].part(from, to), to - from == texts_[i].size);
    }
  }

 private:
  static constexpr std::size_t kChunkUnits = 1 << 16;

  struct Start {
    std::size_t text;
    std::size_t unit;
  };

  std::span<const Text> texts_;
  std::vector<Start> starts_{{0, 0}};  // of the chunks, and behind the last one
};

// How many ids each text has, counted by threads that may have parts of the same text.
class TextCounts {
 public:
  explicit TextCounts(std::span<std::int64_t> counts) : counts_(counts) {}

  void add(std::size_t text, bool is_whole, std::size_t count) {
    if (is_whole) {
      counts_[text] = static_cast<std::int64_t>(count);
      return;
    }
    const std::lock_guard lock(mutex_);
    counts_[text] += static_cast<std::int64_t>(count);
  }

 private:
  std::span<std::int64_t> counts_;  // zero before
  std::mutex mutex_;                // guards those of texts in parts
};

}  // namespace tokbench
