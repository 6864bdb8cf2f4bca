// Text → the words that an encoder looks up, as BERT cuts it.
#pragma once

#include "encoding/text_words.hpp"

namespace tokbench {

// The sink that writes down where words begin and end.
struct WordPlaces {
  const Byte** next;
  const Byte* const* enough;

  void operator()(const Byte* start, const Byte* stop) {
    *next++ = start;
    *next++ = stop;
  }
  bool has_room() const { return next < enough; }
};

// How a tier cuts into words: all tiers alike. `ideographs` says whether each of them is a word alone.
SplitWords bert_words_of(bool ideographs, SimdTier tier = simd_tier());
SplitInto<WordPlaces> bert_word_places_of(bool ideographs, SimdTier tier = simd_tier());

}  // namespace tokbench
