// The Splitter of a pattern (training/counter.hpp): adjacent pre-tokens.
#pragma once

#include "pretoken_pattern.hpp"
#include "training/counter.hpp"

namespace tokbench {

class PatternSplitter {
 public:
  explicit PatternSplitter(PretokenPattern pattern) : pattern_(std::move(pattern)), split_(pattern_.split()) {}

  std::size_t last_safe_cut(Bytes text, std::size_t from) const { return pattern_.last_safe_cut(text, from); }

  template <class Sink>
  void for_each_some(Bytes text, Sink sink) const {
    const Byte* const end = text.data() + text.size();
    const Byte* places[1 + kMostPretokens];
    for (const Byte* p = text.data(); p != end;) {
      places[0] = p;
      PretokenEnds ends{places + 1, places + 1 + kEnoughPretokens};
      p = split_(p, end, ends);
      sink(PretokenPlaces<1>{places, static_cast<std::size_t>(ends.next - places - 1)});
    }
  }

 private:
  static_assert(kMostPretokens <= PretokenTable::kMostAtOnce);

  PretokenPattern pattern_;
  Split split_;
};

using PretokenCounter = Counter<PatternSplitter>;

}  // namespace tokbench
