// Known ids decode to the bytes of their tokens, unknown ids are found, and encoded texts decode to themselves.
#include "bpe/decoder.hpp"
#include "bpe/family.hpp"
#include "fuzz.hpp"
#include "naive.hpp"
#include "vocabularies.hpp"

using namespace tokbench;
using fuzz::Input;
using fuzz::Random;

namespace {

std::string decoded(const Decoder& decoder, std::span<const Id> ids) {
  std::vector<Byte> bytes(decoder.decoded_size(ids).value());
  CHECK(decoder.decode(ids, bytes.data(), bytes.size()));
  for (unsigned threads = 1; threads <= 3; ++threads) {
    const Decoding decoding(decoder, ids, threads);
    CHECK(!decoding.unknown());
    std::vector<Byte> same(decoding.size());
    CHECK(decoding.write(same.data()));
    CHECK(same == bytes);
  }
  return naive::to_string(bytes);
}

std::vector<std::string> entries_of(const Vocabulary& vocabulary) {
  std::vector<std::string> entries;
  for (Id id = 0; id < vocabulary.size(); ++id) entries.push_back(naive::to_string(vocabulary.token(id)));
  return entries;
}

// Any text that is encoded with a vocabulary decodes to itself.
void check_text(const BpeEncoder& encoder, Bytes text) {
  const std::vector<std::string> entries = entries_of(*encoder.model());
  CHECK(decoded(Decoder(fuzz::views_of(entries)), encoder.encode(text).view()) == naive::to_string(text));
}

// The first unknown id is found, whether it is beyond the vocabulary or a gap in it.
void check_unknown(std::vector<std::string> entries, std::vector<Id> ids, Random& random) {
  if (ids.empty()) return;
  const Id beyond = static_cast<Id>(entries.size());
  const Id gap = static_cast<Id>(random.below(entries.size()));
  entries[gap].clear();
  const std::array<Id, 3> unknown{gap, beyond, static_cast<Id>(beyond + random.below(0xFFFFFFFFu - beyond + 1))};
  for (std::size_t more = random.between(1, 3); more > 0; --more) ids[random.below(ids.size())] = unknown[random.below(3)];
  const auto first = std::ranges::find_if(ids, [&](Id id) { return id >= beyond || id == gap; }) - ids.begin();
  const Decoder decoder(fuzz::views_of(entries));
  CHECK(!decoder.decoded_size(ids));
  CHECK(Decoding(decoder, ids, 2).unknown() == static_cast<std::size_t>(first));
}

// Another thread may change an array of ids while it is decoded: a change of the size is noticed, any other is harmless.
void check_change(const std::vector<std::string>& entries, std::vector<Id> ids, Random& random) {
  if (ids.empty()) return;
  const Decoder decoder(fuzz::views_of(entries));
  const Decoding decoding(decoder, ids, 2);
  std::vector<Byte> bytes(decoding.size());
  Id& changed = ids[random.below(ids.size())];
  const std::size_t before = entries[changed].size();
  changed = random.one_in(4) ? 0xFFFFFFFFu : static_cast<Id>(random.below(entries.size()));
  const bool as_long = changed < entries.size() && entries[changed].size() == before;
  CHECK(decoding.write(bytes.data()) == as_long);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto pattern = static_cast<Pattern>(input.below(kPatternNames.size()));
  Random random(input.word());
  const std::string text = naive::to_string(input.rest());

  const std::vector<std::string> entries = fuzz::ranks_for(text, random);
  std::vector<Id> ids;
  std::string expected;
  for (std::size_t left = random.below(200); left > 0; --left) {
    ids.push_back(static_cast<Id>(random.below(entries.size())));
    expected += entries[ids.back()];
  }
  CHECK(decoded(Decoder(fuzz::views_of(entries)), ids) == expected);
  check_unknown(entries, ids, random);
  check_change(entries, ids, random);

  check_text(BpeEncoder(Vocabulary::from_ranks(fuzz::views_of(entries)), pattern), input.rest());
  check_text(BpeEncoder(Vocabulary::from_merges(fuzz::merges_for(text, random)), pattern), input.rest());
  return 0;
}
