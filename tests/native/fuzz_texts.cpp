// Text in units of any width is converted to the UTF-8 of its code points, and a lone surrogate is refused.
#include "common/texts.hpp"
#include "fuzz.hpp"
#include "naive.hpp"

using namespace tokbench;
using fuzz::Input;
using fuzz::Random;

namespace {

// Encodes by the definition of UTF-8, the inverse of naive::first_invalid.
std::string utf8_by_definition(const std::vector<std::uint32_t>& code_points) {
  std::string utf8;
  for (const std::uint32_t code_point : code_points) {
    const int more = code_point < 0x80 ? 0 : code_point < 0x800 ? 1 : code_point < 0x10000 ? 2 : 3;
    constexpr int kLeads[] = {0x00, 0xC0, 0xE0, 0xF0};
    utf8 += static_cast<char>(kLeads[more] | static_cast<int>(code_point >> 6 * more));
    for (int i = more - 1; i >= 0; --i) utf8 += static_cast<char>(0x80 | (code_point >> 6 * i & 0x3F));
  }
  return utf8;
}

template <class Unit>
void check(const std::vector<std::uint32_t>& code_points, Units kind, std::vector<Byte>& buffer) {
  const std::vector<Unit> units(code_points.begin(), code_points.end());
  const bool has_surrogate =
      std::ranges::any_of(code_points, [](std::uint32_t code_point) { return code_point >= 0xD800 && code_point < 0xE000; });
  for (const SimdTier tier : {SimdTier::Scalar, SimdTier::Avx2, SimdTier::Avx512}) {
    if (!has_tier(tier)) continue;
    try {
      const Bytes utf8 = utf8_of({units.data(), units.size(), kind}, buffer, tier);
      CHECK(!has_surrogate && naive::to_string(utf8) == utf8_by_definition(code_points));
    } catch (const LoneSurrogate&) {
      CHECK(has_surrogate);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::size_t width = input.below(3);
  Random random(input.word());
  constexpr std::uint32_t kEnds[] = {0x100, 0x10000, 0x110000};
  const std::size_t density = random.one_in(2) ? 40 : 1 + random.below(3);
  std::vector<std::uint32_t> code_points;
  for (const Byte byte : input.rest()) {
    const bool is_wide = random.one_in(density);
    const auto any = static_cast<std::uint32_t>(random.below(random.one_in(2) ? 0x1000 : kEnds[width]));
    code_points.push_back(is_wide ? any % kEnds[width] : byte % 0x80);
    const bool is_surrogate = code_points.back() >= 0xD800 && code_points.back() < 0xE000;
    if (is_surrogate && !random.one_in(20)) code_points.back() -= 0x800;  // otherwise almost all long texts would contain one
  }
  std::vector<Byte> buffer;
  for (int again = 0; again < 2; ++again) {  // the second time the buffer is allocated
    if (width == 0) check<std::uint8_t>(code_points, Units::Latin1, buffer);
    if (width == 1) check<std::uint16_t>(code_points, Units::Ucs2, buffer);
    check<std::uint32_t>(code_points, Units::Ucs4, buffer);
  }
  return 0;
}
