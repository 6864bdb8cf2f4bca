// Known ids become the bytes of their tokens, unknown ones are found, and what was encoded comes back.
#include "decoder.hpp"
#include "encoder.hpp"
#include "fuzz.hpp"
#include "naive.hpp"
#include "vocabularies.hpp"

using namespace tokbench;
using fuzz::Input;
using fuzz::Random;

namespace {

std::string decoded(const Vocabulary& vocabulary, std::span<const Id> ids) {
  CHECK(!first_unknown(vocabulary, ids));
  std::vector<Byte> bytes(decoded_size(vocabulary, ids));
  decode(vocabulary, ids, bytes.data(), bytes.size());
  return naive::to_string(bytes);
}

void check_unknown(const Vocabulary& vocabulary, std::vector<Id> ids, Random& random) {
  if (ids.empty()) return;
  const Id beyond = static_cast<Id>(vocabulary.size());
  const std::size_t first = random.below(ids.size());
  ids[first] = random.one_in(2) ? beyond : static_cast<Id>(beyond + random.below(0xFFFFFFFFu - beyond + 1));
  ids[random.between(first, ids.size() - 1)] = 0xFFFFFFFFu;
  CHECK(first_unknown(vocabulary, ids) == first);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto pattern = static_cast<Pattern>(input.below(kPatternNames.size()));
  Random random(input.word());
  const std::string text = naive::to_string(input.rest());

  const std::vector<std::string> ranks = fuzz::ranks_for(text, random);
  const Encoder encoder(Vocabulary::from_ranks(fuzz::views_of(ranks)), pattern);
  std::vector<Id> ids;
  std::string expected;
  for (std::size_t left = random.below(200); left > 0; --left) {
    ids.push_back(static_cast<Id>(random.below(ranks.size())));
    expected += ranks[ids.back()];
  }
  CHECK(decoded(encoder.vocabulary(), ids) == expected);
  CHECK(decoded(encoder.vocabulary(), encoder.encode(input.rest()).view()) == text);
  check_unknown(encoder.vocabulary(), ids, random);

  const Encoder learned(Vocabulary::from_merges(fuzz::merges_for(text, random)), pattern);
  CHECK(decoded(learned.vocabulary(), learned.encode(input.rest()).view()) == text);
  return 0;
}
