// Splits text into the words that the encoder looks up, by BERT's rules.
#pragma once

#include "encoding/text_words.hpp"

namespace tokbench {

// A sink that stores where words start and stop.
struct WordPlaces {
  const Byte** next;
  const Byte* const* enough;

  void operator()(const Byte* start, const Byte* stop) {
    *next++ = start;
    *next++ = stop;
  }
  bool has_room() const { return next < enough; }
};

// The splitting function of a SIMD tier; all tiers give the same words. With `ideographs`, each ideograph is a word by itself.
SplitWords bert_words_of(bool ideographs, SimdTier tier = simd_tier());
SplitInto<WordPlaces> bert_word_places_of(bool ideographs, SimdTier tier = simd_tier());

}  // namespace tokbench
