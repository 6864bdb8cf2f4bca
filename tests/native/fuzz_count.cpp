// Documents and sources are counted as by a single map, in any blocks and on any number of threads, and
// special tokens are cut out wherever the blocks end.
#include "bpe/pretoken_counter.hpp"
#include "fuzz.hpp"
#include "naive.hpp"

using namespace tokbench;
using fuzz::Input;
using fuzz::Random;

namespace {

struct Expected {
  naive::Counts counts;
  CounterTotals totals;
  std::optional<InvalidByte> invalid;

  void add(const std::string& document, Pattern pattern, const std::vector<std::string>& special_tokens) {
    if (document.empty()) return;
    totals.add({1, document.size(), 0});
    for (const std::string& part : naive::ordinary_parts(document, special_tokens)) {
      for (const std::string& pretoken : naive::pretokens(pattern, part)) {
        counts[pretoken] += 1;
        totals.pretokens += 1;
      }
    }
  }
};

// The text without bytes that are not UTF-8, because a counter reports only the first such place.
std::string repaired(std::string text) {
  while (const auto bad = naive::first_invalid(naive::to_bytes(text))) text.erase(*bad, 1);
  return text;
}

// Draws a token that overlaps others, a piece of the text, or a piece around a place where batches may be cut.
std::string special_token_for(const std::string& text, Random& random) {
  static const std::string kAwkward[] = {"<|a|>", "<|", "|>", "<|endoftext|>", "a", "aa", "aaa", " ", "\n", "\na", "a ", "é"};
  if (text.empty() || random.one_in(3)) return kAwkward[random.below(std::size(kAwkward))];
  std::size_t start = random.below(text.size());
  if (random.one_in(2)) {
    const std::size_t cut = text.find_first_of(" \n", start);
    if (cut != std::string::npos && cut > 0) start = cut - std::min(cut, random.between(0, 3));
  }
  return text.substr(start, random.between(1, 10));
}

std::vector<std::string> special_tokens_for(const std::string& text, Random& random) {
  std::vector<std::string> tokens;
  for (std::size_t left = random.below(4); left > 0; --left) {
    const std::string token = repaired(special_token_for(text, random));
    if (!token.empty()) tokens.push_back(token);
  }
  return tokens;
}

void feed(PretokenCounter& counter, const std::string& source, Random& random) {
  const std::size_t most = random.one_in(2) ? 5 : 300;
  for (std::size_t start = 0; start < source.size();) {
    const std::size_t size = std::min(random.between(1, most), source.size() - start);
    const Bytes block = naive::to_bytes(source).subspan(start, size);
    if (random.one_in(2)) {
      counter.feed(block);
    } else {  // like a read that returns less than there is room for
      const std::size_t prepared = size + random.below(20);
      std::copy(block.begin(), block.end(), counter.prepare(prepared).begin());
      counter.commit(size);
    }
    start += size;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto pattern = static_cast<Pattern>(input.below(kPatternNames.size()));
  const auto threads = static_cast<unsigned>(1 + input.below(3));
  const bool is_abandoned = input.below(32) == 0;
  const bool is_repaired = input.below(4) != 0;
  Random random(input.word());
  const std::string text = is_repaired ? repaired(naive::to_string(input.rest())) : naive::to_string(input.rest());
  const std::vector<std::string> special_tokens = special_tokens_for(text, random);

  PretokenCounter counter(PatternSplitter(pattern), SpecialTokens(special_tokens), threads, random.next());
  Expected expected;
  std::size_t num_sources = 0;
  for (std::size_t start = 0; start < text.size();) {
    std::string part = text.substr(start, random.between(1, text.size()));
    start += part.size();
    if (is_repaired) part = repaired(part);
    if (random.one_in(3)) {
      counter.add_document(naive::to_bytes(part));
      expected.add(part, pattern, special_tokens);
      continue;
    }
    const DocumentMode mode = random.one_in(2) ? DocumentMode::File : DocumentMode::Lines;
    counter.begin_source(mode);
    feed(counter, part, random);
    counter.end_source();
    const auto bad = naive::first_invalid(naive::to_bytes(part));
    if (bad && !expected.invalid) expected.invalid = InvalidByte{num_sources, *bad};
    num_sources += 1;
    for (const std::string& document : mode == DocumentMode::File ? std::vector{part} : naive::lines(part)) {
      expected.add(document, pattern, special_tokens);
    }
  }
  if (is_abandoned) return 0;
  counter.finish();

  CHECK(counter.invalid() == expected.invalid);
  if (expected.invalid) return 0;  // the counts are discarded then
  naive::Counts counts;
  counter.counts().for_each([&](Bytes pretoken, std::int64_t count) {
    CHECK(counts.emplace(naive::to_string(pretoken), count).second);
  });
  CHECK(counts == expected.counts);
  CHECK(counter.counts().size() == expected.counts.size());
  CHECK(counter.totals().documents == expected.totals.documents);
  CHECK(counter.totals().bytes == expected.totals.bytes);
  CHECK(counter.totals().pretokens == expected.totals.pretokens);
  return 0;
}
