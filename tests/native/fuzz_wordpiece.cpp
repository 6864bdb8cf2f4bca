// WordPiece gives the ids and spans of its definition: words are split in every tier and matched from the left, for one text and for
// batches, on threads, with and without cached words.
#include "batches.hpp"
#include "naive.hpp"
#include "wordpiece/places.hpp"
#include "wordpiece/word_scanner.hpp"

#include <set>

using namespace tokbench;
using fuzz::Found;
using fuzz::found_in;
using fuzz::Input;
using fuzz::Random;

namespace {

struct Vocabulary {
  std::vector<std::string> pieces;
  std::vector<Id> ids;
  std::string prefix;
  Id unknown = 7;
  std::size_t most_characters;
  BertRules rules;

  Pieces made() const {
    const std::vector<std::string_view> views(pieces.begin(), pieces.end());
    return Pieces(views, ids, {rules, prefix, unknown, most_characters});
  }
};

// A vocabulary of characters and slices of the normalized text, with and without the prefix.
Vocabulary vocabulary_for(Bytes text, Random& random) {
  Vocabulary vocabulary;
  vocabulary.rules = {random.one_in(2), random.one_in(2), random.one_in(2), random.one_in(2)};
  vocabulary.most_characters = random.one_in(3) ? random.below(12) : 1000;
  vocabulary.prefix = random.one_in(3) ? "" : random.one_in(3) ? "a" : "##";
  NormalText normal;
  std::vector<std::string> words;
  for_each_normal_word<false>(vocabulary.rules, text, normal, [&](std::size_t start, std::size_t size, std::size_t) {
    const auto first = normal.bytes.begin() + static_cast<std::ptrdiff_t>(start);
    words.emplace_back(first, first + static_cast<std::ptrdiff_t>(size));
  });
  std::set<std::string> pieces;
  for (const std::string& word : words) {
    std::vector<std::size_t> starts;
    const Byte* const p = reinterpret_cast<const Byte*>(word.data());
    for (std::size_t start = 0; start < word.size(); start += text_character_at(p + start, p + word.size()).length) {
      starts.push_back(start);
    }
    starts.push_back(word.size());
    const auto insert = [&](std::size_t first, std::size_t after, bool is_inside) {
      const std::string slice = word.substr(starts[first], starts[after] - starts[first]);
      if (!first_invalid(naive::to_bytes(slice))) pieces.insert(is_inside ? vocabulary.prefix + slice : slice);
    };
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
      if (!random.one_in(20)) insert(i, i + 1, false);
      if (!random.one_in(8)) insert(i, i + 1, true);
    }
    for (std::size_t left = random.below(4); left > 0; --left) {
      const std::size_t first = random.below(starts.size() - 1);
      insert(first, std::min(first + random.between(1, 9), starts.size() - 1), random.one_in(2));
    }
  }
  for (const std::string& piece : pieces) {
    vocabulary.ids.push_back(static_cast<Id>(8 + 3 * vocabulary.pieces.size()));
    vocabulary.pieces.push_back(piece);
  }
  return vocabulary;
}

// Takes the longest matching piece at each place.
Found matched(const Vocabulary& vocabulary, const std::map<std::string, Id>& ids, const std::string& word, std::size_t characters) {
  if (characters > vocabulary.most_characters) return {vocabulary.unknown};
  Found found;
  for (std::size_t start = 0; start < word.size();) {
    std::size_t size = word.size() - start;
    const std::string mark = start == 0 ? "" : vocabulary.prefix;
    while (size > 0 && !ids.contains(mark + word.substr(start, size))) --size;
    if (size == 0) return {vocabulary.unknown};
    found.push_back(ids.at(mark + word.substr(start, size)));
    start += size;
  }
  return found;
}

Found defined(const Vocabulary& vocabulary, Bytes text) {
  std::map<std::string, Id> ids;
  for (std::size_t i = 0; i < vocabulary.pieces.size(); ++i) ids.emplace(vocabulary.pieces[i], vocabulary.ids[i]);
  NormalText normal;
  Found found;
  for_each_normal_word<false>(vocabulary.rules, text, normal, [&](std::size_t start, std::size_t size, std::size_t characters) {
    const auto first = normal.bytes.begin() + static_cast<std::ptrdiff_t>(start);
    const Found word = matched(vocabulary, ids, {first, first + static_cast<std::ptrdiff_t>(size)}, characters);
    found.insert(found.end(), word.begin(), word.end());
  });
  return found;
}

std::vector<const Byte*> places_in(Bytes text, bool ideographs, SimdTier tier) {
  const auto split = bert_word_places_of(ideographs, tier);
  const Byte* const end = text.data() + text.size();
  std::vector<const Byte*> places;
  const Byte* found[2 * kMostPretokens];
  for (const Byte* p = text.data(); p != end;) {
    WordPlaces words{found, found + 2 * kEnoughPretokens};
    p = split(p, end, words);
    places.insert(places.end(), static_cast<const Byte**>(found), words.next);
  }
  return places;
}

void check_cuts(Bytes text, bool ideographs) {
  std::vector<const Byte*> expected;
  const Byte* const end = text.data() + text.size();
  for (const Byte* p = text.data(); p != end;) {
    const WordFound word = ideographs ? next_word<true>(p, end) : next_word<false>(p, end);
    if (word.start != word.stop) expected.insert(expected.end(), {word.start, word.stop});
    p = word.stop;
  }
  for (const SimdTier tier : {SimdTier::Scalar, SimdTier::Swar, SimdTier::Avx2, SimdTier::Avx512}) {
    if (has_tier(tier)) CHECK(places_in(text, ideographs, tier) == expected);
  }
}

template <class Unit>
void check_texts(const WordPieceEncoder& encoder, const std::vector<Unit>& text, Units kind, Random& random) {
  const std::vector<Text> texts = fuzz::cut_into_texts(text, kind, random);
  const auto threads = static_cast<unsigned>(random.below(4));
  fuzz::check_batch(encoder, texts, threads);
  const Placed placed = placed_texts<Placing>(encoder, texts, threads);
  CHECK(placed.counts == encoder.count_batch(texts, threads));
  CHECK(placed.ids == found_in(encoder.encode_batch(texts, threads).ids));
}

void check_places(const WordPieceEncoder& encoder, Bytes text, std::size_t count) {
  const Text texts[] = {text};
  const Placed placed = placed_texts<Placing>(encoder, texts, 1);
  CHECK(placed.ids.size() == count && placed.starts.size() == count && placed.stops.size() == count);
  for (std::size_t i = 0; i < count; ++i) {
    CHECK(placed.starts[i] >= 0 && placed.starts[i] < placed.stops[i] && placed.stops[i] <= static_cast<std::int64_t>(text.size()));
    CHECK(i == 0 || (placed.starts[i] >= placed.starts[i - 1] && placed.stops[i] >= placed.stops[i - 1]));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostBytes = 2000;
  Input input(data, size);
  Random random(input.word());
  const std::string text = naive::to_string(input.rest().first(std::min(input.rest().size(), kMostBytes)));
  const std::vector<Byte> block(text.begin(), text.end());  // of exact size, so that a sanitizer sees reads past its end
  const Bytes bytes = block;
  check_cuts(bytes, true);
  check_cuts(bytes, false);
  const Vocabulary vocabulary = vocabulary_for(bytes, random);
  const Found expected = defined(vocabulary, bytes);
  const WordPieceEncoder encoder(vocabulary.made(), WordPieceFamily(vocabulary.rules));
  CHECK(found_in(encoder.encode(bytes)) == expected);
  CHECK(found_in(encoder.encode(bytes)) == expected);  // now from the store
  check_places(encoder, bytes, expected.size());
  check_texts(encoder, block, Units::Utf8, random);
  if (!first_invalid(bytes)) check_texts(encoder, naive::code_points(bytes), Units::Ucs4, random);
  return 0;
}
