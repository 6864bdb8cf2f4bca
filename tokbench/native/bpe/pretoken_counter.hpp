// The Splitter of a named pattern (training/counter.hpp): adjacent pre-tokens.
#pragma once

#include "splitting.hpp"
#include "training/counter.hpp"

namespace tokbench {

class PatternSplitter {
 public:
  explicit PatternSplitter(Pattern pattern) : pattern_(pattern), split_(split_of(pattern)) {}

  std::size_t last_safe_cut(Bytes text, std::size_t from) const { return tokbench::last_safe_cut(pattern_, text, from); }

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

  Pattern pattern_;
  Split split_;
};

using PretokenCounter = Counter<PatternSplitter>;

}  // namespace tokbench
