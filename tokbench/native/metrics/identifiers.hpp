// The boundaries between the parts of an identifier: camelCase, snake_case, letters and digits.
#pragma once

#include <cstddef>

#include "common/utf8.hpp"

namespace tokbench::metrics {

inline bool is_small(Byte byte) { return byte >= 'a' && byte <= 'z'; }
inline bool is_capital(Byte byte) { return byte >= 'A' && byte <= 'Z'; }
inline bool is_ascii_digit(Byte byte) { return byte >= '0' && byte <= '9'; }

// Whether there is a boundary between text[i - 1] and text[i], neither of which is an underscore.
inline bool parts_meet(Bytes text, std::size_t i) {
  const Byte before = text[i - 1], after = text[i];
  if (is_ascii_digit(before) != is_ascii_digit(after)) return true;
  if (is_small(before)) return is_capital(after);
  return is_capital(before) && is_capital(after) && i + 1 < text.size() && is_small(text[i + 1]);
}

// Calls sink(left, right) for each boundary of an identifier: the two positions that hit it, which differ only for a run of
// underscores. A position at an end of the identifier does not count.
template <class Sink>
void for_each_identifier_boundary(Bytes text, Sink sink) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (text[i] != '_') {
      if (i > 0 && text[i - 1] != '_' && parts_meet(text, i)) sink(i, i);
      ++i;
      continue;
    }
    const std::size_t left = i;
    while (i < text.size() && text[i] == '_') ++i;
    if (left > 0 && i < text.size()) {
      sink(left, i);
    } else if (left > 0) {
      sink(left, left);
    } else if (i < text.size()) {
      sink(i, i);
    }
  }
}

}  // namespace tokbench::metrics
