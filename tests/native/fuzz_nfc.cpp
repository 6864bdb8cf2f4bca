// Composing only the uncertain runs of a text gives the same NFC as composing the whole text.
#include "fuzz.hpp"
#include "naive.hpp"
#include "normalization/nfc.hpp"

using namespace tokbench;
using fuzz::Input;
using fuzz::Random;

namespace {

// Letters and marks that combine: Latin, Bengali, Tibetan and Hangul, of combining classes from 0 to 240.
constexpr std::uint32_t kLively[] = {'a', 'e', 0xE9, 0x1EB9, 0x212B, 0x301, 0x308, 0x323, 0x338, 0x344, 0x345, 0x334, 0x995, 0x9C7,
                                     0x9BE, 0x9D7, 0x9CB, 0x93C, 0xF71, 0xF72, 0xF73, 0xF74, 0x103A, 0x1025, 0x102E, 0x1100, 0x1161,
                                     0x11A8, 0xAC00, 0xAC01, 0x304B, 0x3099, 0x5B57, 0x2019, 0x1D15E, 0x1D165, 0x110A5, 0x110BA};

std::uint32_t drawn(Random& random) {
  if (!random.one_in(8)) return kLively[random.below(std::size(kLively))];
  const auto any = static_cast<std::uint32_t>(random.below(random.one_in(2) ? 0x3100 : 0x110000));
  return any >= 0xD800 && any < 0xE000 ? any - 0x800 : any;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Random random(input.word());
  const std::size_t density = 1 + random.below(40);
  std::vector<Byte> utf8;
  for (const Byte byte : input.rest()) {
    Byte bytes[4];
    const std::uint32_t code_point = random.one_in(density) ? drawn(random) : byte % 0x80u;
    utf8.insert(utf8.end(), bytes, write_character(code_point, bytes));
  }
  const std::vector<Byte> block(utf8);  // of exact size, so that a sanitizer sees reads past its end
  std::vector<Byte> buffer, whole;
  const std::string expected = naive::to_string(Nfc::by_definition(block, whole));
  CHECK(naive::to_string(Nfc::of(block, buffer)) == expected);
  const Bytes again = Nfc::of(whole, buffer);
  CHECK(naive::to_string(again) == expected);
  for (unsigned byte = 0; byte < 0x100; ++byte) {
    Byte bytes[kBlock] = {};
    bytes[byte % kBlock] = static_cast<Byte>(byte);
    CHECK(leads_of_moving(bytes) == static_cast<Mask>(may_begin_moving(static_cast<Byte>(byte))) << byte % kBlock);
  }
  return 0;
}
