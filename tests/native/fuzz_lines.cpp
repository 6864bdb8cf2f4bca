// Sums and checksums of lines: the fast implementations agree with the definitions on any bytes.
#include "corpus/lines.hpp"

#include <set>

#include "fuzz.hpp"

using namespace tokbench;
using namespace tokbench::corpus;
using fuzz::Input;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::uint64_t largest = input.word();
  const std::size_t most = input.below(40), fewest_bytes = input.below(40);
  const std::vector<Byte> block(input.rest().begin(), input.rest().end());  // of exact size, so that a sanitizer sees reads past its end

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
