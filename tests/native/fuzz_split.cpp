// For any bytes: pre-tokens cover the text in order, are the same in every tier and at every alignment of the text,
// do not change when the text is cut at safe places, and the first byte that is not UTF-8 is found.
#include "bpe/safe_cuts.hpp"
#include "fuzz.hpp"
#include "naive.hpp"

using namespace tokbench;

namespace {

using Ends = std::vector<std::size_t>;

void check_cover(const Ends& ends, Bytes text) {
  std::size_t position = 0;
  for (const std::size_t end : ends) {
    CHECK(end > position);
    position = end;
  }
  CHECK(position == text.size());
}

Ends ends_when_cut(Pattern pattern, Bytes text, const Ends& cuts) {
  Ends joined;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::size_t stop = i < cuts.size() ? cuts[i] : text.size();
    for (const std::size_t end : naive::pretoken_ends(pattern, text.subspan(start, stop - start))) joined.push_back(start + end);
    start = stop;
  }
  return joined;
}

// Blocks of 64 bytes are counted from the beginning of the text: prefixes of different lengths shift it in its blocks.
void check_tiers(Pattern pattern, Bytes text, const Ends& ends) {
  for (const SimdTier tier : {SimdTier::Swar, SimdTier::Avx2, SimdTier::Avx512}) {
    if (!has_tier(tier)) continue;
    CHECK(naive::pretoken_ends(pattern, text, tier) == ends);
    for (std::size_t shift = 1; shift < kBlock && text.size() < 200; shift += 3) {
      std::vector<Byte> shifted(shift, 'a');
      shifted.back() = ' ';
      shifted.insert(shifted.end(), text.begin(), text.end());
      CHECK(naive::pretoken_ends(pattern, shifted, tier) == naive::pretoken_ends(pattern, shifted));
    }
  }
}

void check_classes(Bytes text) {
  for (std::size_t start = 0; start + kBlock <= text.size(); ++start) {
    const ByteClasses classes = classify_by_words(text.data() + start);
    for (const SimdTier tier : {SimdTier::Avx2, SimdTier::Avx512}) {
      if (has_tier(tier)) CHECK(classify_of(tier)(text.data() + start) == classes);
    }
    for (std::size_t i = 0; i < kBlock; ++i) {
      const Byte byte = text[start + i];
      const auto kind = class_of(byte);
      const auto has = [i](Mask mask) { return (mask >> i & 1) != 0; };
      CHECK(has(classes.high) == (byte >= 0x80));
      CHECK(has(classes.upper) == (byte < 0x80 && is_upper(kind)));
      CHECK(has(classes.lower) == (byte < 0x80 && is_small(kind)));
      CHECK(has(classes.digits) == (byte < 0x80 && is_number(kind)));
      CHECK(has(classes.white) == (byte < 0x80 && is_space(kind)));
      CHECK(has(classes.spaces) == (byte == ' ') && has(classes.newlines) == is_newline(byte));
      CHECK(has(classes.apostrophes) == (byte == '\'') && has(classes.slashes) == (byte == '/'));
    }
  }
}

void check_safe_cuts(Pattern pattern, Bytes text, const Ends& ends) {
  Ends safe;
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    if (is_safe_cut(text, cut)) safe.push_back(cut);
  }
  CHECK(last_safe_cut(pattern, text, 0) == (safe.empty() ? 0 : safe.back()));
  CHECK(ends_when_cut(pattern, text, safe) == ends);
  constexpr std::size_t kFewEnough = 64;  // each cut alone too, because cuts can hide one another's faults
  for (std::size_t i = 0; i < std::min(safe.size(), kFewEnough); ++i) {
    CHECK(ends_when_cut(pattern, text, {safe[i]}) == ends);
  }
}

// The first safe cut after each place is the same in bytes and in code points.
template <class Unit>
void check_cuts_of(const std::vector<Unit>& units, Units kind, const std::vector<std::size_t>& offsets, Bytes text) {
  for (std::size_t from = 1; from < units.size(); ++from) {
    const std::size_t cut = first_safe_cut(Pattern::Gpt4, {units.data(), units.size(), kind}, from);
    CHECK(offsets[cut] == first_safe_cut(Pattern::Gpt4, text, offsets[from]));
  }
}

void check_unit_cuts(Bytes input) {
  const Bytes text = input.subspan(std::min(input.size(), fuzz::Input::kOptionBytes));  // the bytes before it are random
  if (text.size() > 200 || first_invalid(text)) return;
  const std::vector<std::uint32_t> code_points = naive::code_points(text);
  std::vector<std::size_t> offsets;  // of the code points, and of the end
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_continuation(text[i])) offsets.push_back(i);
  }
  offsets.push_back(text.size());
  check_cuts_of(code_points, Units::Ucs4, offsets, text);
  const std::uint32_t highest = code_points.empty() ? 0 : *std::ranges::max_element(code_points);
  if (highest < 0x10000) check_cuts_of(std::vector<std::uint16_t>(code_points.begin(), code_points.end()), Units::Ucs2, offsets, text);
  if (highest < 0x100) check_cuts_of(std::vector<std::uint8_t>(code_points.begin(), code_points.end()), Units::Latin1, offsets, text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes text(data, size);
  CHECK(first_invalid(text) == naive::first_invalid(text));
  check_classes(text);
  check_unit_cuts(text);
  for (const std::string_view name : kPatternNames) {
    const Pattern pattern = pattern_named(name);
    const Ends ends = naive::pretoken_ends(pattern, text);
    check_cover(ends, text);
    check_tiers(pattern, text, ends);
    if (pattern == Pattern::None) {
      CHECK(ends.size() == (text.empty() ? 0 : 1));
    } else if (has_safe_cuts(pattern)) {
      check_safe_cuts(pattern, text, ends);
    }
  }
  return 0;
}
