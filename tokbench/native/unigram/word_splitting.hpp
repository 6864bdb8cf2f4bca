// Text → the words that an encoder looks up: cut at white space, or before it.
#pragma once

#include "encoding/text_words.hpp"

namespace tokbench {

enum class WordCut : std::uint8_t {
  Nowhere,       // the text is one word
  AtSpaces,      // words are what stands between spaces
  AtWhiteSpace,  // the same between spaces, tabs, "\n" and "\r"
  BeforeSpaces,  // the spaces in front of a word are part of it
};

// The sink that writes down where words begin and end.
struct CutPlaces {
  const Byte** next;
  const Byte* const* enough;

  void operator()(const Byte* start, const Byte* stop) {
    *next++ = start;
    *next++ = stop;
  }
  bool has_room() const { return next < enough; }
};

// How a tier cuts into words: all tiers alike.
SplitWords words_of(WordCut cut, SimdTier tier = simd_tier());
SplitInto<CutPlaces> word_places_of(WordCut cut, SimdTier tier = simd_tier());

}  // namespace tokbench
