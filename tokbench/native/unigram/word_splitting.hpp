// Splits text into the words that the encoder looks up: at white space, or before it.
#pragma once

#include "encoding/text_words.hpp"

namespace tokbench {

enum class WordCut : std::uint8_t {
  Nowhere,       // the whole text is one word
  AtSpaces,      // words are separated by spaces, which belong to no word
  AtWhiteSpace,  // words are separated by spaces, tabs, "\n" and "\r"
  BeforeSpaces,  // a word includes the spaces in front of it
};

// A sink that stores where words start and stop.
struct CutPlaces {
  const Byte** next;
  const Byte* const* enough;

  void operator()(const Byte* start, const Byte* stop) {
    *next++ = start;
    *next++ = stop;
  }
  bool has_room() const { return next < enough; }
};

// The splitting function of a SIMD tier; all tiers give the same words.
SplitWords words_of(WordCut cut, SimdTier tier = simd_tier());
SplitInto<CutPlaces> word_places_of(WordCut cut, SimdTier tier = simd_tier());

}  // namespace tokbench
