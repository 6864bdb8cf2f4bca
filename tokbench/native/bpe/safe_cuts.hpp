// Where texts of any units can be cut safely: what patterns.hpp says of bytes.
#pragma once

#include "common/texts.hpp"
#include "patterns.hpp"

namespace tokbench {

// is_safe_cut() for text with a code point a unit.
template <class Unit>
inline bool is_safe_cut(const Unit* units, std::size_t size, std::size_t cut) {
  const auto is_ascii_letter = [](Unit unit) { return unit < 0x80 && is_letter(class_of(unit)); };
  if (units[cut] == ' ') return cut + 1 < size && is_ascii_letter(units[cut - 1]) && is_ascii_letter(units[cut + 1]);
  return cut >= 2 && units[cut - 1] == '\n' && !is_space(class_of(units[cut - 2])) && is_letter(class_of(units[cut]));
}

// The first safe cut at `from` > 0 or behind it, in units; the size of the text where there is none.
template <class Unit, class IsSafeCut>
inline std::size_t first_safe_cut(const Unit* units, std::size_t size, std::size_t from, IsSafeCut is_safe) {
  for (std::size_t cut = from; cut < size; ++cut) {
    if ((units[cut] == ' ' || units[cut - 1] == '\n') && is_safe(cut)) return cut;
  }
  return size;
}

inline std::size_t first_safe_cut(Pattern pattern, const Text& text, std::size_t from) {
  if (!has_safe_cuts(pattern)) return text.size;
  const auto among = [&](const auto* units) {
    return first_safe_cut(units, text.size, from, [&](std::size_t cut) { return is_safe_cut(units, text.size, cut); });
  };
  switch (text.units) {
    case Units::Latin1:
      return among(static_cast<const std::uint8_t*>(text.data));
    case Units::Ucs2:
      return among(static_cast<const std::uint16_t*>(text.data));
    case Units::Ucs4:
      return among(static_cast<const std::uint32_t*>(text.data));
    case Units::Utf8:
      break;
  }
  const Bytes bytes(static_cast<const Byte*>(text.data), text.size);
  return first_safe_cut(bytes.data(), bytes.size(), from, [&](std::size_t cut) { return is_safe_cut(bytes, cut); });
}

}  // namespace tokbench
