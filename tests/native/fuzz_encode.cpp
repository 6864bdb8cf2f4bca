// The encoder merges as the definition does: by scanning and with a heap, with and without cached words, for one
// text and for batches, with its own split and with a given one, by merges, by ranks and by both.
#include "bpe/family.hpp"
#include "batches.hpp"
#include "naive.hpp"
#include "vocabularies.hpp"

#include <functional>

using namespace tokbench;
using fuzz::check_batch;
using fuzz::found_in;
using fuzz::Input;
using fuzz::Random;
using naive::Word;

namespace {

// Calls merge(bytes) for each pre-token and joins the ids.
template <class Merge>
Word encoded(Pattern pattern, const std::string& text, Merge merge) {
  Word ids;
  for (const std::string& pretoken : naive::pretokens(pattern, text)) {
    const Word merged = merge(pretoken);
    ids.insert(ids.end(), merged.begin(), merged.end());
  }
  return ids;
}

Word by_merges(Pattern pattern, const std::string& text, const std::vector<std::array<Id, 2>>& merges) {
  std::map<naive::Pair, Id> made;
  for (std::size_t i = 0; i < merges.size(); ++i) made.emplace(naive::Pair(merges[i][0], merges[i][1]), 256 + i);
  return encoded(pattern, text, [&](const std::string& pretoken) {
    const Bytes bytes = naive::to_bytes(pretoken);
    const auto rank_of = [&](Id left, Id right) {
      const auto found = made.find({left, right});
      return found == made.end() ? naive::kNever : found->second;
    };
    return naive::merge_by_rank(Word(bytes.begin(), bytes.end()), rank_of, std::identity());
  });
}

std::map<std::string, Id> ids_of(const std::vector<std::string>& tokens) {
  std::map<std::string, Id> ids;
  for (std::size_t i = 0; i < tokens.size(); ++i) ids.emplace(tokens[i], i);
  return ids;
}

Word bytes_of(const std::string& pretoken, const std::map<std::string, Id>& ids) {
  Word word;
  for (const char byte : pretoken) word.push_back(ids.at(std::string(1, byte)));
  return word;
}

Word by_ranks(Pattern pattern, const std::string& text, const std::vector<std::string>& ranks) {
  const std::map<std::string, Id> ids = ids_of(ranks);
  return encoded(pattern, text, [&](const std::string& pretoken) {
    if (const auto whole = ids.find(pretoken); whole != ids.end()) return Word{whole->second};
    const auto rank_of = [&](Id left, Id right) {
      const auto found = ids.find(ranks[left] + ranks[right]);
      return found == ids.end() ? naive::kNever : found->second;
    };
    return naive::merge_by_rank(bytes_of(pretoken, ids), rank_of, std::identity());
  });
}

Word by_parts(Pattern pattern, const std::string& text, const fuzz::Parts& parts, bool whole_tokens_first) {
  const std::map<std::string, Id> ids = ids_of(parts.tokens);
  std::map<naive::Pair, std::uint32_t> ranks;
  for (std::size_t i = 0; i < parts.merges.size(); ++i) {
    ranks.emplace(naive::Pair(parts.merges[i][0], parts.merges[i][1]), i);
  }
  return encoded(pattern, text, [&](const std::string& pretoken) {
    const auto whole = whole_tokens_first ? ids.find(pretoken) : ids.end();
    if (whole != ids.end()) return Word{whole->second};
    const auto rank_of = [&](Id left, Id right) {
      const auto found = ranks.find({left, right});
      return found == ranks.end() ? naive::kNever : found->second;
    };
    const auto made = [&](std::uint32_t rank) { return parts.merges[rank][2]; };
    return naive::merge_by_rank(bytes_of(pretoken, ids), rank_of, made);
  });
}

void check_texts(const BpeEncoder& encoder, Bytes text, Random& random) {
  const std::vector<Byte> bytes(text.begin(), text.end());
  if (random.one_in(2)) return check_batch(encoder, bytes, Units::Utf8, random);
  if (first_invalid(text)) return check_batch(encoder, bytes, Units::Latin1, random);
  check_batch(encoder, naive::code_points(text), Units::Ucs4, random);
}

void check(const BpeEncoder& encoder, Pattern pattern, Bytes text, const Word& expected, Random& random) {
  if (random.one_in(2)) encoder.complete();
  if (random.one_in(2)) check_texts(encoder, text, random);  // no thread has seen these words yet
  CHECK(found_in(encoder.encode(text)) == expected);
  CHECK(found_in(encoder.encode(text)) == expected);  // now from the cache
  CHECK(found_in(encoder.encode_split(text, naive::pretoken_ends(pattern, text))) == expected);
  check_texts(encoder, text, random);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostBytes = 500;  // the definition is slow
  Input input(data, size);
  const auto pattern = static_cast<Pattern>(input.below(kPatternNames.size()));
  const std::size_t kind = input.below(3);
  Random random(input.word());
  const std::string given = naive::to_string(input.rest().first(std::min(input.rest().size(), kMostBytes)));
  const std::string text = random.one_in(3) ? fuzz::in_few_letters(given, random) : given;
  const std::vector<Byte> block(text.begin(), text.end());  // of exact size, so that a sanitizer sees reads past its end
  const Bytes bytes = block;
  if (kind == 0) {
    const std::vector<std::array<Id, 2>> merges = fuzz::merges_for(text, random);
    check({Vocabulary::from_merges(merges), pattern}, pattern, bytes, by_merges(pattern, text, merges), random);
  } else if (kind == 1) {
    const std::vector<std::string> ranks = fuzz::ranks_for(text, random);
    check({Vocabulary::from_ranks(fuzz::views_of(ranks)), pattern}, pattern, bytes, by_ranks(pattern, text, ranks), random);
  } else {
    const fuzz::Parts parts = fuzz::parts_for(text, random);
    const bool whole_tokens_first = random.one_in(2);
    check({Vocabulary::from_parts(fuzz::views_of(parts.tokens), parts.merges, whole_tokens_first), pattern}, pattern, bytes,
          by_parts(pattern, text, parts, whole_tokens_first), random);
  }
  return 0;
}
