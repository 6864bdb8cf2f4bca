// NFC, Unicode's composed normal form.
//
// The definition decomposes a text, sorts its combining marks and composes characters. The fast path applies it only to runs in
// which something may change. A run ends before a *still* character, which does not change and blocks all interaction, so that
// runs can be normalized independently. Most texts have few such runs, and nearly all of these are already in NFC.
//
// Source: Unicode Standard Annex #15, sections 1.3 and 9.
#pragma once

#include <algorithm>
#include <bit>
#include <tuple>

#include "canonical_characters.hpp"
#include "common/byte_classes.hpp"
#include "common/texts.hpp"

namespace tokbench {

// Appends the NFC of characters to `out`, by the definition.
inline void compose_into(std::vector<std::uint32_t>& out, std::span<const std::uint32_t> characters) {
  const CanonicalCharacters& all = CanonicalCharacters::all();
  std::vector<std::uint32_t> parts;
  for (const std::uint32_t each : characters) all.decompose(each, [&](std::uint32_t part) { parts.push_back(part); });
  const auto is_starter = [&](std::uint32_t c) { return all.combining_class(c) == 0; };
  for (auto p = parts.begin(); p != parts.end();) {
    p = std::find_if_not(p, parts.end(), is_starter);
    const auto after = std::find_if(p, parts.end(), is_starter);
    std::stable_sort(p, after, [&](std::uint32_t a, std::uint32_t b) { return all.combining_class(a) < all.combining_class(b); });
    p = after;
  }
  constexpr std::size_t kNowhere = SIZE_MAX;
  std::size_t starter = kNowhere;  // index of the last starter in `out`
  std::uint8_t before = 0;         // combining class of the last character after the starter
  for (const std::uint32_t part : parts) {
    const std::uint8_t number = all.combining_class(part);
    const bool is_beside = starter + 1 == out.size();
    if (starter != kNowhere && (is_beside || before < number)) {
      if (const std::uint32_t whole = all.composed(out[starter], part); whole != CanonicalCharacters::kNone) {
        out[starter] = whole;
        continue;
      }
    }
    if (number == 0) starter = out.size();
    before = number;
    out.push_back(part);
  }
}

// Whether a byte may start a character that is not still. No character below U+0300 is, nor are the first 128 of Cyrillic, the
// first 24,000 of Han, and most Hangul syllables.
inline constexpr bool may_begin_moving(Byte byte) {
  const auto is_in = [byte](Byte first, Byte last) { return byte >= first && byte <= last; };
  return byte >= 0xCC && !is_in(0xCF, 0xD1) && !is_in(0xE4, 0xE9) && !is_in(0xEB, 0xEC);
}

// The same for kBlock bytes, as a mask.
inline Mask leads_of_moving(const Byte* block) {
  Mask found = 0;
#if defined(__SSE2__)
  const auto all = [](int byte) { return _mm_set1_epi8(static_cast<char>(byte)); };
  const auto is_in = [&](__m128i bytes, int first, int last) {
    const __m128i above = _mm_sub_epi8(bytes, all(first));
    return _mm_cmpeq_epi8(_mm_min_epu8(above, all(last - first)), above);
  };
  const auto bytes_at = [&](unsigned i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + i)); };
  const __m128i together = _mm_or_si128(_mm_or_si128(bytes_at(0), bytes_at(16)), _mm_or_si128(bytes_at(32), bytes_at(48)));
  if (_mm_movemask_epi8(together) == 0) return 0;  // ASCII, the usual case
  for (unsigned i = 0; i < kBlock; i += 16) {
    const __m128i bytes = bytes_at(i);
    const __m128i still = _mm_or_si128(is_in(bytes, 0xCF, 0xD1), _mm_or_si128(is_in(bytes, 0xE4, 0xE9), is_in(bytes, 0xEB, 0xEC)));
    const __m128i moving = _mm_andnot_si128(still, is_in(bytes, 0xCC, 0xFF));
    found |= static_cast<Mask>(static_cast<std::uint32_t>(_mm_movemask_epi8(moving))) << i;
  }
#else
  for (unsigned i = 0; i < kBlock; ++i) found |= static_cast<Mask>(may_begin_moving(block[i])) << i;
#endif
  return found;
}

class Nfc {
 public:
  // The NFC of well-formed UTF-8: the text itself, or a copy in `buffer`.
  static Bytes of(Bytes text, std::vector<Byte>& buffer) {
    const Byte* const end = text.data() + text.size();
    const Byte* copied = text.data();
    buffer.clear();
    std::vector<std::uint32_t> characters, made;
    for_each_doubtful(text, [&](Bytes run) {
      characters.clear();
      made.clear();
      for_each_character(run, [&](std::uint32_t each) { characters.push_back(each); });
      compose_into(made, characters);
      if (made == characters) return;
      buffer.insert(buffer.end(), copied, run.data());
      for (const std::uint32_t each : made) append(each, buffer);
      copied = run.data() + run.size();
    });
    if (copied == text.data()) return text;
    buffer.insert(buffer.end(), copied, end);
    return buffer;
  }

  // The same by the definition; always written to `buffer`.
  static Bytes by_definition(Bytes text, std::vector<Byte>& buffer) {
    std::vector<std::uint32_t> characters, made;
    for_each_character(text, [&](std::uint32_t each) { characters.push_back(each); });
    compose_into(made, characters);
    buffer.clear();
    for (const std::uint32_t each : made) append(each, buffer);
    return buffer;
  }

 private:
  template <class Use>
  static void for_each_character(Bytes text, const Use& use) {
    const Byte* const end = text.data() + text.size();
    for (const Byte* p = text.data(); p != end;) {
      const CodePoint character = code_point_at(p, end);
      use(character.value);
      p += character.length;
    }
  }

  static void append(std::uint32_t character, std::vector<Byte>& buffer) {
    Byte bytes[4];
    buffer.insert(buffer.end(), bytes, write_character(character, bytes));
  }

  // Calls use(run) for each run that is not certainly in NFC, together with the still character before it.
  template <class Use>
  static void for_each_doubtful(Bytes text, const Use& use) {
    const CanonicalCharacters& all = CanonicalCharacters::all();
    const Byte* const end = text.data() + text.size();
    const Byte* after = text.data();  // everything before it was examined
    for (const Byte* block = text.data(); block < end; block += kBlock) {
      const auto size = std::min(static_cast<std::size_t>(end - block), kBlock);
      Byte padded[kBlock];
      const Byte* known = block;
      if (size < kBlock) {
        std::fill(std::copy(block, end, padded), padded + kBlock, Byte{0});
        known = padded;
      }
      for (Mask leads = leads_of_moving(known); leads != 0; leads &= leads - 1) {
        const Byte* const p = block + std::countr_zero(leads);
        if (p < after || all.is_still(code_point_at(p, end).value)) continue;
        const Byte* start = p;
        while (start != text.data() && is_continuation(*--start)) {
        }
        bool is_normal;
        std::tie(after, is_normal) = seen_run(start, p, end);
        if (!is_normal) use(Bytes(start, after));
      }
      if (static_cast<std::size_t>(end - block) <= kBlock) break;
    }
  }

  // The end of the run whose first character that is not still is at `p`, and whether it is certainly in NFC. `start` is the
  // character before it, or `p` at the start of a text.
  static std::pair<const Byte*, bool> seen_run(const Byte* start, const Byte* p, const Byte* end) {
    const CanonicalCharacters& all = CanonicalCharacters::all();
    std::uint32_t starter = start == p ? CanonicalCharacters::kNone : code_point_at(start, end).value;
    std::uint8_t before = 0;
    bool is_normal = true;
    while (p != end) {
      const CodePoint found = code_point_at(p, end);
      if (all.is_still(found.value)) break;
      p += found.length;
      if (!is_normal) continue;
      is_normal = stays(found.value, starter, before);
      before = all.combining_class(found.value);
      if (before == 0) starter = found.value;
    }
    return {p, is_normal};
  }

  // Whether a character certainly keeps its place and form after a text in NFC with the given last starter, and the given
  // combining class of the last character after that.
  static bool stays(std::uint32_t character, std::uint32_t starter, std::uint8_t before) {
    const CanonicalCharacters& all = CanonicalCharacters::all();
    const std::uint8_t number = all.combining_class(character);
    if (all.is_taken_apart(character) || (number != 0 && number < before)) return false;
    if (!all.is_second_part(character) || starter == CanonicalCharacters::kNone) return true;
    if (before != 0 && before >= number) return true;  // blocked by the mark before it
    // The mark may have to be ordered between the parts of the starter.
    if (number != 0 && all.is_made_of_parts(starter)) return false;
    return all.composed(starter, character) == CanonicalCharacters::kNone;
  }
};

}  // namespace tokbench
