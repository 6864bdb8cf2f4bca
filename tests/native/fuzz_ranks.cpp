// A rank file is parsed by its definition or not at all: a written file is read back, and a changed one is
// either parsed as by a strict parser or left to the parser in Python.
#include "bpe/rank_file.hpp"
#include "fuzz.hpp"
#include "naive.hpp"
#include "vocabularies.hpp"

#include <map>
#include <set>

using namespace tokbench;
using fuzz::Input;
using fuzz::Random;

namespace {

constexpr Id kLimit = 5000;

std::string base64(const std::string& token) {
  constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < token.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) bits = bits << 8 | (i + j < token.size() ? static_cast<Byte>(token[i + j]) : 0u);
    for (std::size_t j = 0; j < 4; ++j) text += i + j < token.size() + 1 ? kAlphabet[bits >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::string line(const std::string& token, std::uint64_t rank) { return base64(token) + " " + std::to_string(rank); }

std::vector<std::string> lines_of(const std::string& data) {
  std::vector<std::string> lines(1);
  for (const char character : data) {
    if (character == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += character;
    }
  }
  while (!lines.empty() && (lines.back().empty() || lines.back() == "\r")) lines.pop_back();
  return lines;
}

// Each line must be the canonical form of its token and rank.
void check_lines(const std::string& data, const RankFile& file) {
  std::set<std::string> seen;
  std::set<Id> gaps(file.gaps.begin(), file.gaps.end());
  const std::vector<std::string> lines = lines_of(data);
  CHECK(file.starts.size() == lines.size() + gaps.size() + 1 && file.starts.front() == 0);
  CHECK(file.starts.back() == file.bytes.size());
  std::size_t at = 0;
  for (Id id = 0; id + 1 < file.starts.size(); ++id) {
    const std::string token(file.bytes.begin() + file.starts[id], file.bytes.begin() + file.starts[id + 1]);
    CHECK(token.empty() == gaps.contains(id));
    if (token.empty()) continue;
    std::string given = lines[at++];
    if (given.ends_with('\r')) given.pop_back();
    CHECK(given == line(token, id));
    CHECK(id < kLimit && seen.insert(token).second);
  }
}

std::string changed(std::string data, Random& random) {
  constexpr char kTelling[] = "A/+= \r\n09-z";
  for (std::size_t times = random.below(4); times != 0 && !data.empty(); --times) {
    const std::size_t at = random.below(data.size());
    const char character = random.one_in(2) ? kTelling[random.below(sizeof kTelling - 1)] : static_cast<char>(random.below(256));
    if (random.one_in(3)) {
      data.erase(at, 1 + random.below(3));
    } else if (random.one_in(2)) {
      data.insert(at, 1, character);
    } else {
      data[at] = character;
    }
  }
  return data;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostBytes = 200;
  Input input(data, size);
  Random random(input.word());
  const std::string text = naive::to_string(input.rest().first(std::min(input.rest().size(), kMostBytes)));
  const std::vector<std::string> tokens = fuzz::ranks_for(text, random);
  const bool has_gaps = random.one_in(2);
  const char* const line_end = random.one_in(4) ? "\r\n" : "\n";
  std::string written;
  std::uint64_t rank = 0;
  for (const std::string& token : tokens) {
    if (has_gaps) rank += random.below(4);
    written += line(token, rank++) + line_end;
  }
  for (std::size_t times = random.below(3); times != 0; --times) written += line_end;
  const bool is_same = random.one_in(3);
  const std::string given = is_same ? written : random.one_in(9) ? text : changed(written, random);
  const std::vector<Byte> block(given.begin(), given.end());  // of exact size, so that a sanitizer sees reads past its end
  const std::optional<RankFile> file = parse_ranks(block, kLimit);
  if (is_same && rank <= kLimit) CHECK(file.has_value());
  if (file) check_lines(given, *file);
  return 0;
}
