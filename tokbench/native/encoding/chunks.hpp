// Divides texts into chunks for threads: several short texts in one chunk, a long text in several.
//
// A long text is cut only where the words on each side do not depend on the other side, so that the ids of its parts are the ids
// of the whole. The family decides where that is (family.hpp).
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "common/texts.hpp"

namespace tokbench {

class Chunks {
 public:
  template <class AFamily>
  Chunks(std::span<const Text> texts, const AFamily& family) : texts_(texts) {
    std::size_t units = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::size_t left = texts[i].size;
      for (std::size_t cut; left > kChunkUnits * 2; left = texts[i].size - cut) {
        cut = family.first_safe_cut(texts[i], texts[i].size - left + kChunkUnits);
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

  // Calls use(index of the text, part of it, which ends of the text the part contains) for each part in a chunk.
  template <class Use>
  void for_each_part(std::size_t chunk, Use use) const {
    const Start first = starts_[chunk], after = starts_[chunk + 1];
    for (std::size_t i = first.text; i < after.text || (i == after.text && after.unit != 0); ++i) {
      const std::size_t from = i == first.text ? first.unit : 0;
      const std::size_t to = i == after.text ? after.unit : texts_[i].size;
      use(i, texts_[i].part(from, to), TextEnds{from == 0, to == texts_[i].size});
    }
  }

 private:
  static constexpr std::size_t kChunkUnits = 1 << 16;

  struct Start {
    std::size_t text;
    std::size_t unit;
  };

  std::span<const Text> texts_;
  std::vector<Start> starts_{{0, 0}};  // where each chunk starts, and the end of the last one
};

// The number of ids of each text, added up by threads that may work on parts of the same text.
class TextCounts {
 public:
  explicit TextCounts(std::span<std::int64_t> counts) : counts_(counts) {}

  void add(std::size_t text, TextEnds ends, std::size_t count) {
    if (ends.is_first && ends.is_last) {
      counts_[text] = static_cast<std::int64_t>(count);
      return;
    }
    const std::lock_guard lock(mutex_);
    counts_[text] += static_cast<std::int64_t>(count);
  }

 private:
  std::span<std::int64_t> counts_;  // must be zero at first
  std::mutex mutex_;                // guards the counts of texts in several parts
};

}  // namespace tokbench
