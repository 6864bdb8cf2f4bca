// What the text of a JSON value tells before it is parsed: how many objects and keys it has, how deeply it is nested, and whether
// it has integers of more than 18 digits, which parsers read in different ways.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/utf8.hpp"

namespace tokbench::corpus {

// The shape of a valid JSON text; of any other text, numbers without a meaning.
struct JsonShape {
  std::uint64_t num_objects = 0, num_keys = 0, depth = 0;
  bool has_large_integer = false;

  explicit JsonShape(Bytes text) {
    std::uint64_t level = 0;
    const Byte* p = text.data();
    const Byte* const end = p + text.size();
    while (p != end) {
      const Byte byte = *p++;
      switch (byte) {
        case '"':
          p = after_string(p, end);
          break;
        case '{':
          ++num_objects;
          [[fallthrough]];
        case '[':
          depth = std::max(depth, ++level);
          break;
        case '}':
        case ']':
          level -= level > 0;
          break;
        case ':':
          ++num_keys;
          break;
        default:
          if (byte >= '0' && byte <= '9') p = after_number(p, end);
      }
    }
  }

 private:
  static constexpr std::ptrdiff_t kMostDigits = 18;

  // `p` is behind the opening quotation mark.
  static const Byte* after_string(const Byte* p, const Byte* end) {
    while (p != end && *p != '"') p += *p == '\\' && end - p > 1 ? 2 : 1;
    return p == end ? end : p + 1;
  }

  // `p` is behind the first digit.
  const Byte* after_number(const Byte* p, const Byte* end) {
    const auto skip_digits = [&] {
      while (p != end && *p >= '0' && *p <= '9') ++p;
    };
    const Byte* const first = p - 1;
    skip_digits();
    const bool is_integer = p == end || (*p != '.' && *p != 'e' && *p != 'E');
    has_large_integer |= is_integer && p - first > kMostDigits;
    if (!is_integer) {
      ++p;
      skip_digits();  // an exponent behind a fraction has too few digits to matter
    }
    return p;
  }
};

}  // namespace tokbench::corpus
