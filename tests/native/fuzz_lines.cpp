// Sums and checksums of lines, and shapes of JSON texts: the fast implementations agree with the definitions on any bytes.
#include "corpus/json_shape.hpp"
#include "corpus/lines.hpp"

#include <set>
#include <string_view>

#include "fuzz.hpp"

using namespace tokbench;
using namespace tokbench::corpus;
using fuzz::Input;

namespace {

// Byte by byte; what is in a string, after a backslash or in a number is remembered.
void check_json_shape(Bytes text) {
  std::uint64_t objects = 0, keys = 0, level = 0, depth = 0, digits = 0;
  bool is_in_string = false, is_escaped = false, is_fraction = false, is_large = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const Byte byte = i < text.size() ? text[i] : ' ';
    if (is_in_string) {
      is_in_string = is_escaped || byte != '"';
      is_escaped = !is_escaped && byte == '\\';
      continue;
    }
    const bool is_digit = byte >= '0' && byte <= '9';
    if (!is_digit) {
      const bool begins_fraction = digits > 0 && !is_fraction && (byte == '.' || byte == 'e' || byte == 'E');
      is_large |= digits > 18 && !is_fraction && !begins_fraction;
      is_fraction = begins_fraction;
      digits = 0;
    }
    digits += is_digit;
    is_in_string = byte == '"';
    objects += byte == '{';
    keys += byte == ':';
    level += byte == '{' || byte == '[';
    level -= level > 0 && (byte == '}' || byte == ']');
    depth = std::max(depth, level);
  }
  const JsonShape shape(text);
  CHECK(shape.num_objects == objects && shape.num_keys == keys && shape.depth == depth && shape.has_large_integer == is_large);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::uint64_t largest = input.word();
  const std::size_t most = input.below(40), fewest_bytes = input.below(40);
  const std::vector<Byte> block(input.rest().begin(), input.rest().end());  // of exact size, so that a sanitizer sees reads past its end

  check_json_shape(block);
  std::vector<Byte> json(block);
  constexpr std::string_view kLetters = "{}[]:,\"\\.eE- x01234567890123456789";
  for (Byte& byte : json) byte = static_cast<Byte>(kLetters[byte % kLetters.size()]);
  check_json_shape(json);

  CHECK(sha256(block, fastest_sha_blocks()) == sha256(block, sha_blocks));
  CHECK(crc32(block) == ~crc_by_bytes(~0u, block));

  std::uint64_t number = 0, num_bytes = 0;
  std::set<std::uint64_t> beginnings;
  std::array<std::uint32_t, 8> total{};  // the sum modulo 2^256, by schoolbook addition
  for_each_line(block, [&](Bytes line) {
    if (is_blank(line)) return;
    CHECK(!stripped(line).empty());
    if (line.back() == '\r') line = line.first(line.size() - 1);
    const Digest digest = sha256(line, sha_blocks);
    std::uint64_t carry = 0;
    for (std::size_t i = total.size(); i-- > 0; carry >>= 32) {
      carry += std::uint64_t{total[i]} + digest[i];
      total[i] = static_cast<std::uint32_t>(carry);
    }
    const std::uint64_t beginning = std::uint64_t{digest[0]} << 32 | digest[1];
    if (beginning <= largest) beginnings.insert(beginning);
    ++number;
    num_bytes += line.size();
  });
  const LineDocuments documents(block, largest, most);
  CHECK(documents.number == number && documents.num_bytes == num_bytes);
  std::array<Byte, 32> sum{};
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<Byte>(total[i / 4] >> (24 - 8 * (i % 4)));
  CHECK(documents.sum() == sum);
  std::vector<std::uint64_t> smallest(beginnings.begin(), beginnings.end());
  smallest.resize(std::min(most, smallest.size()));
  CHECK(documents.smallest == smallest);

  const LineSums sums(block, static_cast<std::uint32_t>(largest), fewest_bytes);
  CHECK(sums.number == number && sums.sampled.size() <= number);
  for (const auto& [checksum, line] : sums.sampled) {
    CHECK(checksum == crc32(line) && checksum <= static_cast<std::uint32_t>(largest) && line.size() >= fewest_bytes);
  }
  return 0;
}
