// The safe cuts of patterns.hpp for texts in any units.
#pragma once

#include "common/texts.hpp"
#include "patterns.hpp"

namespace tokbench {

// is_safe_cut() for text with one code point per unit.
template <class Unit>
inline bool is_safe_cut(const Unit* units, std::size_t size, std::size_t cut) {
  const auto is_ascii_letter = [](Unit unit) { return unit < 0x80 && is_letter(class_of(unit)); };
  if (units[cut] == ' ') return cut + 1 < size && is_ascii_letter(units[cut - 1]) && is_ascii_letter(units[cut + 1]);
  return cut >= 2 && units[cut - 1] == '\n' && !is_space(class_of(units[cut - 2])) && is_letter(class_of(units[cut]));
}

// The first safe cut at or after `from` > 0, in units; the size of the text if there is none.
template <class Unit, class IsSafeCut>
inline std::size_t first_safe_cut(const Unit* units, std::size_t size, std::size_t from, IsSafeCut is_safe) {
  for (std::size_t cut = from; cut < size; ++cut) {
    if ((units[cut] == ' ' || units[cut - 1] == '\n') && is_safe(cut)) return cut;
  }
  return size;
}

// Calls find(units) with the units of a text in their type, and returns its result.
template <class Find>
inline std::size_t among_units(const Text& text, const Find& find) {
  switch (text.units) {
    case Units::Ucs2:
      return find(static_cast<const std::uint16_t*>(text.data));
    case Units::Ucs4:
      return find(static_cast<const std::uint32_t*>(text.data));
    default:
      return find(static_cast<const std::uint8_t*>(text.data));
  }
}

inline std::size_t first_safe_cut(Pattern pattern, const Text& text, std::size_t from) {
  if (!has_safe_cuts(pattern)) return text.size;
  if (text.units == Units::Utf8) {
    const Bytes bytes(static_cast<const Byte*>(text.data), text.size);
    return first_safe_cut(bytes.data(), bytes.size(), from, [&](std::size_t cut) { return is_safe_cut(bytes, cut); });
  }
  return among_units(text, [&](const auto* units) {
    return first_safe_cut(units, text.size, from, [&](std::size_t cut) { return is_safe_cut(units, text.size, cut); });
  });
}

// The first space between two ASCII letters at or after `from` > 0, in units; the size of the text if there is none.
inline std::size_t first_space_between_letters(const Text& text, std::size_t from) {
  return among_units(text, [&](const auto* units) {
    const auto is_ascii_letter = [&](std::size_t i) { return units[i] < 0x80 && is_letter(class_of(units[i])); };
    for (std::size_t cut = from; cut + 1 < text.size; ++cut) {
      if (units[cut] == ' ' && is_ascii_letter(cut - 1) && is_ascii_letter(cut + 1)) return cut;
    }
    return text.size;
  });
}

// The last space between two ASCII letters after `from`, or 0 if there is none.
inline std::size_t last_space_between_letters(Bytes text, std::size_t from) {
  const auto is_ascii_letter = [&](std::size_t i) { return text[i] < 0x80 && is_letter(class_of(text[i])); };
  for (std::size_t cut = text.size(); cut-- > from + 1;) {
    if (text[cut] == ' ' && cut + 1 < text.size() && is_ascii_letter(cut - 1) && is_ascii_letter(cut + 1)) return cut;
  }
  return 0;
}

}  // namespace tokbench
