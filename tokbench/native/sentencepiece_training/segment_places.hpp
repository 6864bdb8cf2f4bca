// Maps a position in the codes to its segment.
#pragma once

#include <bit>

#include "segments.hpp"

namespace tokbench::sentencepiece {

// One bit per position, set where a segment ends, and prefix sums of these bits: two bits per position in all.
class SegmentPlaces {
 public:
  explicit SegmentPlaces(const Segments& segments) : words_(segments.codes.size() / kBits + 1) {
    for (std::size_t i = 1; i < segments.starts.size(); ++i) {
      const std::size_t end = segments.starts[i] - 1;
      words_[end / kBits].ends |= std::uint64_t{1} << end % kBits;
    }
    for (std::size_t i = 1; i < words_.size(); ++i) {
      words_[i].before = words_[i - 1].before + static_cast<std::uint32_t>(std::popcount(words_[i - 1].ends));
    }
  }

  // The number of segments that end before a position.
  std::size_t segment_of(std::size_t position) const {
    const Word& word = words_[position / kBits];
    const std::uint64_t before = word.ends & ((std::uint64_t{1} << position % kBits) - 1);
    return word.before + static_cast<std::size_t>(std::popcount(before));
  }

 private:
  static constexpr std::size_t kBits = 64;

  struct Word {
    std::uint64_t ends = 0;
    std::uint32_t before = 0;
  };

  std::vector<Word> words_;
};

}  // namespace tokbench::sentencepiece
