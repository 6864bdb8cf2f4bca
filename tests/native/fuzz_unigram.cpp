// Unigram gives the ids of its definition, the best sum of scores over the whole normalized text, with and without cached words,
// in every tier, for one text and for batches, on threads.
#include <map>
#include <set>

#include "batches.hpp"
#include "naive.hpp"
#include "normalization/piece_places.hpp"
#include "unigram/family.hpp"
#include "unigram/places.hpp"
#include "unigram/word_cuts.hpp"

using namespace tokbench;
using fuzz::check_batch;
using fuzz::Found;
using fuzz::found_in;
using fuzz::Input;
using fuzz::Random;

namespace {

struct Vocabulary {
  std::vector<std::string> pieces;
  std::vector<float> scores;
  UnigramRules<float> rules;
  NormalizerOptions options;

  template <class Real>
  std::vector<typename UnigramModel<Real>::Piece> scored() const {
    std::vector<typename UnigramModel<Real>::Piece> made;
    for (std::size_t i = 0; i < pieces.size(); ++i) made.push_back({pieces[i], static_cast<Id>(i + 1), static_cast<Real>(scores[i])});
    return made;
  }
  NormalForm form() const {
    const std::vector<std::string_view> views(pieces.begin(), pieces.end());
    return NormalForm(Normalizer(CharacterMap(), Symbols(), options), views);
  }
};

// A vocabulary of slices of the normalized text, with scores whose sums are often equal.
Vocabulary vocabulary_for(Bytes text, Random& random) {
  Vocabulary vocabulary;
  vocabulary.options = {random.one_in(2), random.one_in(2), !random.one_in(8), random.one_in(8)};
  NormalizedText normal;
  Normalizer(CharacterMap(), Symbols(), vocabulary.options).normalize(text, {true, true}, normal);
  std::vector<std::size_t> starts;
  const Byte* const end = normal.bytes.data() + normal.bytes.size();
  for (std::size_t at = 0; at < normal.bytes.size(); at += std::max(1u, well_formed_length(&normal.bytes[at], end))) starts.push_back(at);
  starts.push_back(normal.bytes.size());
  std::set<std::string> pieces;
  if (!random.one_in(4)) pieces.emplace(kSpaceMark);
  for (std::size_t left = starts.size() < 2 ? 0 : random.below(40); left > 0; --left) {
    const std::size_t first = random.below(starts.size() - 1), after = std::min(first + random.between(1, 5), starts.size() - 1);
    pieces.emplace(characters_of(Bytes(normal.bytes).subspan(starts[first], starts[after] - starts[first])));
  }
  const float scale = random.one_in(3) ? 1000.0f : 1.0f;
  for (const std::string& piece : pieces) {
    vocabulary.pieces.push_back(piece);
    const float exact = static_cast<float>(random.below(5)) * 0.5f, any = static_cast<float>(random.below(100000)) * 1e-4f;
    vocabulary.scores.push_back(-scale * (random.one_in(2) ? exact : any));
  }
  vocabulary.rules.unknown_score = -scale * 10 - 10;
  vocabulary.rules.reset = random.one_in(2) ? 100000.0f : std::numeric_limits<float>::infinity();
  vocabulary.rules.has_byte_fallback = random.one_in(2);
  for (Id byte = 0; byte < 256; ++byte) vocabulary.rules.bytes[byte] = 1000 + byte;
  return vocabulary;
}

// The definition: searches from left to right with a table of all pieces.
Found defined(const Vocabulary& vocabulary, Bytes text) {
  NormalizedText normal;
  Normalizer(CharacterMap(), Symbols(), vocabulary.options).normalize(text, {true, true}, normal);
  const std::string bytes(normal.bytes.begin(), normal.bytes.end());
  std::map<std::string, Id> ids;
  for (std::size_t i = 0; i < vocabulary.pieces.size(); ++i) ids.emplace(vocabulary.pieces[i], static_cast<Id>(i + 1));
  struct Best {
    float sum = 0;
    std::ptrdiff_t start = -1;
    Id id = 0;
  };
  std::vector<Best> best(bytes.size() + 1);
  std::size_t frontier = 0;
  const auto offer = [&](std::size_t start, std::size_t stop, float score, Id id) {
    frontier = std::max(frontier, stop);
    const float sum = best[start].sum + score;
    if (best[stop].start < 0 || sum > best[stop].sum) best[stop] = {sum, static_cast<std::ptrdiff_t>(start), id};
  };
  for (std::size_t start = 0, length; start < bytes.size(); start += length) {
    const auto lead = static_cast<Byte>(bytes[start]);
    length = std::min<std::size_t>(lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4, bytes.size() - start);
    if (std::abs(best[start].sum) > vocabulary.rules.reset) {
      const float offset = best[start].sum;
      for (std::size_t i = start; i <= frontier; ++i) {
        if (i == start || best[i].start >= 0) best[i].sum -= offset;
      }
    }
    bool is_piece = false;
    for (std::size_t stop = start + 1; stop <= bytes.size() && stop <= start + 40; ++stop) {
      const auto found = ids.find(bytes.substr(start, stop - start));
      if (found == ids.end()) continue;
      offer(start, stop, vocabulary.scores[found->second - 1], found->second);
      is_piece |= stop == start + length;
    }
    if (!is_piece) offer(start, start + length, vocabulary.rules.unknown_score, 0);
  }
  Found backwards;
  bool was_unknown = false;
  for (std::size_t stop = bytes.size(); stop > 0;) {
    const Best& token = best[stop];
    const auto start = static_cast<std::size_t>(token.start);
    if (token.id == 0 && vocabulary.rules.has_byte_fallback) {
      for (std::size_t i = stop; i-- > start;) backwards.push_back(1000 + static_cast<Byte>(bytes[i]));
    } else if (token.id != 0 || !was_unknown) {
      backwards.push_back(token.id);
    }
    was_unknown = token.id == 0;
    stop = start;
  }
  return {backwards.rbegin(), backwards.rend()};
}

// The places of the pieces follow one another, and cover the text.
void check_places(const Vocabulary& vocabulary, Bytes text, const Found& ids) {
  NormalizedText normal;
  Normalizer(CharacterMap(), Symbols(), vocabulary.options).normalize_with_origins(text, normal);
  std::set<std::uint32_t> known;
  const auto first_of = [](std::string_view piece) {
    const auto* const first = reinterpret_cast<const Byte*>(piece.data());
    return code_point_at(first, first + piece.size());
  };
  for (const std::string& piece : vocabulary.pieces) {
    if (first_of(piece).length == piece.size()) known.insert(first_of(piece).value);
  }
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i != 0 && ids[i - 1] == 0 && !known.contains(first_of(vocabulary.pieces[ids[i] - 1]).value)) return;  // it may begin within the run
    sizes.push_back(ids[i] == 0 ? kUnknownRun : ids[i] >= 1000 ? 1 : static_cast<std::int64_t>(vocabulary.pieces[ids[i] - 1].size()));
  }
  std::vector<std::int64_t> starts(sizes.size()), stops(sizes.size());
  const auto is_known = [&](std::uint32_t character) { return known.contains(character); };
  CHECK(place_pieces(normal, sizes, is_known, starts.data(), stops.data()));
  if (sizes.empty()) return;
  CHECK(starts.front() == normal.origins.front() && stops.back() == normal.origins.back());
  CHECK(std::equal(starts.begin() + 1, starts.end(), stops.begin()));
  sizes.back() = 1 + static_cast<std::int64_t>(normal.bytes.size());
  CHECK(!place_pieces(normal, sizes, is_known, starts.data(), stops.data()));
  sizes.pop_back();
  CHECK(!place_pieces(normal, sizes, is_known, starts.data(), stops.data()));
}

void check_cuts(Bytes text, WordCut cut) {
  std::vector<std::vector<const Byte*>> all;
  for (const SimdTier tier : {SimdTier::Scalar, SimdTier::Swar, SimdTier::Avx2, SimdTier::Avx512}) {
    if (!has_tier(tier)) continue;
    const auto split = word_places_of(cut, tier);
    const Byte* const end = text.data() + text.size();
    std::vector<const Byte*> places;
    const Byte* found[2 * kMostPretokens];
    for (const Byte* p = text.data(); p != end;) {
      CutPlaces words{found, found + 2 * kEnoughPretokens};
      p = split(p, end, words);
      places.insert(places.end(), static_cast<const Byte**>(found), words.next);
    }
    all.push_back(places);
    CHECK(all.front() == all.back());
  }
}

DocumentUnigramEncoder document_encoder(const Vocabulary& vocabulary, bool only_spaces, std::vector<AddedToken> found_first,
                                        std::vector<AddedToken> found_after, FirstMark first_mark = FirstMark::Always) {
  UnigramRules<double> rules;
  rules.unknown_score = vocabulary.rules.unknown_score;
  rules.looks_up_unknown = true;
  std::vector<std::uint8_t> joining(0x110000);
  for (std::size_t one = 0x300; one < 0x370; ++one) joining[one] = ClusterMap::MayJoinPrevious;
  DocumentForm form(ClusterMap(CharacterMap(), joining), only_spaces, AddedTokenSet(std::move(found_after)), first_mark);
  UnigramModel<double> model(vocabulary.scored<double>(), rules, form.rewritten());
  return {{std::move(model), std::move(form)}, DocumentUnigram(AddedTokenSet(std::move(found_first)))};
}

// A slice of the text without white space, as an added token.
std::vector<AddedToken> added_in(Bytes text, Random& random) {
  std::vector<AddedToken> tokens;
  const std::size_t start = random.below(text.size()), size = random.between(1, 4);
  const std::string slice(characters_of(text.subspan(start, std::min<std::size_t>(size, text.size() - start))));
  const auto bytes = Bytes(reinterpret_cast<const Byte*>(slice.data()), slice.size());
  const bool has_white = std::ranges::any_of(slice, [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); });
  if (!has_white && !first_invalid(bytes)) tokens.push_back({slice, 5000, random.one_in(2), random.one_in(2), random.one_in(3)});
  return tokens;
}

// The ids found together with places, which ascend within the text.
template <class Placing, class Encoder>
Found placed_in(const Encoder& encoder, Bytes text, Random& random) {
  const std::vector<Text> texts(random.between(1, 3), Text(text));
  const Placed placed = placed_texts<Placing>(encoder, texts, 2);
  std::size_t at = 0;
  Found first;
  for (const std::int64_t count : placed.counts) {
    const Found one(placed.ids.begin() + static_cast<std::ptrdiff_t>(at), placed.ids.begin() + static_cast<std::ptrdiff_t>(at) + count);
    if (at == 0) first = one;
    CHECK(one == first);
    std::int64_t start = 0;
    for (const std::size_t stop = at + static_cast<std::size_t>(count); at < stop; ++at) {
      CHECK(placed.starts[at] >= start && placed.stops[at] >= placed.starts[at]);
      CHECK(placed.stops[at] <= static_cast<std::int64_t>(text.size()));
      start = placed.starts[at];
    }
  }
  return first;
}

// The ids of a part of a text whose first word has no ▁ in front: that word by itself, and the rest, which begins with white space.
Found without_first_mark(const DocumentUnigramEncoder& encoder, Bytes part) {
  const auto is_white = [](Byte byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; };
  const auto size = static_cast<std::size_t>(std::ranges::find_if(part, is_white) - part.begin());
  const UnigramModel<double>& pieces = encoder.model()->pieces;
  WalkedTexts<double> word(pieces);
  word.add(part.first(size));
  word.walk();
  BestPath<double> path(pieces);
  Found ids(size);
  double sum = 0;
  ids.resize(size == 0 ? 0 : path.after(sum, word[0], ids.data()));
  const Found rest = found_in(encoder.encode(part.subspan(size)));
  ids.insert(ids.end(), rest.begin(), rest.end());
  return ids;
}

void check_document(const Vocabulary& vocabulary, const std::vector<Byte>& text, Random& random) {
  const bool only_spaces = random.one_in(2);
  const FirstMark first_mark = only_spaces ? static_cast<FirstMark>(random.below(3)) : FirstMark::Always;
  const std::vector<AddedToken> tokens = added_in(text, random);
  const DocumentUnigramEncoder plain = document_encoder(vocabulary, only_spaces, {}, {});
  const DocumentUnigramEncoder encoder = document_encoder(vocabulary, only_spaces, tokens, {}, first_mark);
  Found expected;
  AddedTokenSet(tokens).cut(
      Bytes(text),
      [&](Bytes part) {
        const bool is_marked = first_mark == FirstMark::Always || (first_mark == FirstMark::AtTextStart && part.data() == text.data());
        const Found found = is_marked ? found_in(plain.encode(part)) : without_first_mark(plain, part);
        expected.insert(expected.end(), found.begin(), found.end());
      },
      [&](Id id, Bytes) { expected.push_back(id); });
  CHECK(found_in(encoder.encode(Bytes(text))) == expected);
  CHECK(found_in(encoder.encode(Bytes(text))) == expected);
  check_batch(encoder, text, Units::Utf8, random);
  CHECK(placed_in<UnigramPlacing>(encoder, text, random) == expected);
  if (only_spaces) return;
  // Tokens that are matched in normalized text give the same result here, because nothing is normalized.
  const DocumentUnigramEncoder after = document_encoder(vocabulary, only_spaces, {}, tokens);
  CHECK(found_in(after.encode(Bytes(text))) == expected);
  CHECK(placed_in<UnigramPlacing>(after, text, random) == expected);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostBytes = 2000;
  Input input(data, size);
  Random random(input.word());
  const std::string text = naive::to_string(input.rest().first(std::min(input.rest().size(), kMostBytes)));
  const std::vector<Byte> block(text.begin(), text.end());  // of exact size, so that a sanitizer sees reads past its end
  const Bytes bytes = block;
  for (const WordCut cut : {WordCut::Nowhere, WordCut::AtSpaces, WordCut::AtWhiteSpace, WordCut::BeforeSpaces}) check_cuts(bytes, cut);
  const Vocabulary vocabulary = vocabulary_for(bytes, random);
  if (vocabulary.pieces.empty()) return 0;
  const Found expected = defined(vocabulary, bytes);
  NormalForm form = vocabulary.form();
  const SentencePieceUnigram family(form);
  UnigramModel<float> model(vocabulary.scored<float>(), vocabulary.rules, form.rewritten());
  const SentencePieceUnigramEncoder encoder({std::move(model), std::move(form)}, family);
  CHECK(found_in(encoder.encode(bytes)) == expected);
  CHECK(found_in(encoder.encode(bytes)) == expected);  // now from the store
  check_batch(encoder, block, Units::Utf8, random);
  check_places(vocabulary, bytes, expected);
  if (!first_invalid(bytes)) check_batch(encoder, naive::code_points(bytes), Units::Ucs4, random);
  if (!first_invalid(bytes)) check_document(vocabulary, block, random);
  return 0;
}
