// BPE over characters gives the ids of its definition on whole texts: cut into words, for one text and for batches, on threads,
// with and without cached words, and with added tokens that separate parts; a damaged table of replacements is refused, or
// is never read out of bounds.
#include "batches.hpp"
#include "naive.hpp"
#include "character_bpe/document_family.hpp"
#include "normalization/cluster_map.hpp"

#include <optional>
#include <set>

using namespace tokbench;
using fuzz::check_batch;
using fuzz::Found;
using fuzz::found_in;
using fuzz::Input;
using fuzz::Random;

namespace {

struct Vocabulary {
  std::vector<std::string> texts{"<unk>"};
  std::vector<float> scores{0};
  std::vector<PieceKind> kinds{PieceKind::Unknown};
  bool has_bytes = false;
  NormalizerOptions options{};

  std::vector<std::string_view> of(std::initializer_list<PieceKind> wanted) const {
    std::vector<std::string_view> views;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (std::ranges::find(wanted, kinds[i]) != wanted.end()) views.push_back(texts[i]);
    }
    return views;
  }
  std::optional<std::array<Id, 256>> bytes() const {
    if (!has_bytes) return std::nullopt;
    std::array<Id, 256> ids;
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<Id>(100'000 + i);
    return ids;
  }
  Normalizer normalizer() const { return {CharacterMap(), Symbols(of({PieceKind::UserDefined})), options}; }
  CharacterBpeEncoder encoder() const {
    std::vector<ScoredPiece> pieces;
    for (std::size_t i = 0; i < texts.size(); ++i) pieces.push_back({texts[i], scores[i], kinds[i]});
    const CertainCuts cuts(normalizer(), of({PieceKind::Normal, PieceKind::Unused}), of({PieceKind::Normal, PieceKind::UserDefined}), !has_bytes);
    return {CharacterBpe{CharacterPieces(pieces, 0, bytes()), normalizer()}, CharacterBpeFamily(cuts, options)};
  }
};

std::string normalized(const Vocabulary& vocabulary, Bytes text) {
  NormalizedText made;
  vocabulary.normalizer().normalize(text, {}, made);
  return {made.bytes.begin(), made.bytes.end()};
}

std::size_t length_by_lead(const std::string& text, std::size_t at) {
  const auto lead = static_cast<Byte>(text[at]);
  return std::min<std::size_t>(lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4, text.size() - at);
}

// A vocabulary of characters and slices of the normalized text.
Vocabulary vocabulary_for(Bytes text, Random& random) {
  Vocabulary vocabulary;
  vocabulary.has_bytes = random.one_in(2);
  vocabulary.options = {random.one_in(2), random.one_in(2), !random.one_in(4), random.one_in(4)};
  const std::string normal = normalized(vocabulary, text);
  std::vector<std::size_t> starts{0};
  while (starts.back() < normal.size()) starts.push_back(starts.back() + length_by_lead(normal, starts.back()));
  std::set<std::string> pieces;
  for (std::size_t left = normal.empty() ? 0 : random.below(60); left > 0; --left) {
    const std::size_t first = random.below(starts.size() - 1);
    const std::size_t after = std::min(first + (random.one_in(2) ? 1 : random.between(1, 9)), starts.size() - 1);
    const std::string slice = normal.substr(starts[first], starts[after] - starts[first]);
    if (!first_invalid(naive::to_bytes(slice))) pieces.insert(slice);
  }
  for (const std::string& piece : pieces) {
    vocabulary.texts.push_back(piece);
    vocabulary.scores.push_back(static_cast<float>(random.below(6)) - 4);
    vocabulary.kinds.push_back(random.one_in(12) ? PieceKind::UserDefined : random.one_in(12) ? PieceKind::Control : PieceKind::Normal);
  }
  return vocabulary;
}

struct Part {
  std::string text;
  bool is_frozen;
};

// Repeatedly merges the pair of the highest score, the leftmost of equal ones.
void merge(std::vector<Part>& parts, const std::map<std::string, float>& scores) {
  for (;;) {
    std::optional<std::size_t> best;
    float score = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      if (parts[i].is_frozen || parts[i + 1].is_frozen) continue;
      const auto found = scores.find(parts[i].text + parts[i + 1].text);
      if (found != scores.end() && (!best || found->second > score)) {
        best = i;
        score = found->second;
      }
    }
    if (!best) return;
    parts[*best].text += parts[*best + 1].text;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(*best) + 1);
  }
}

Found defined(const Vocabulary& vocabulary, Bytes text) {
  std::map<std::string, float> scores;
  std::map<std::string, Id> ids;
  for (Id id = 0; id < vocabulary.texts.size(); ++id) {
    if (vocabulary.kinds[id] == PieceKind::Normal) scores[vocabulary.texts[id]] = vocabulary.scores[id];
    if (vocabulary.kinds[id] == PieceKind::Normal || vocabulary.kinds[id] == PieceKind::UserDefined) ids[vocabulary.texts[id]] = id;
  }
  const std::string normal = normalized(vocabulary, text);
  std::vector<Part> parts;
  for (std::size_t at = 0; at < normal.size(); at += parts.back().text.size()) {
    std::string symbol;
    for (const std::string_view each : vocabulary.of({PieceKind::UserDefined})) {
      if (normal.compare(at, each.size(), each) == 0 && each.size() > symbol.size()) symbol = each;
    }
    parts.push_back({symbol.empty() ? normal.substr(at, length_by_lead(normal, at)) : symbol, !symbol.empty()});
  }
  merge(parts, scores);
  Found found;
  bool is_after_unknown = false;
  for (const Part& part : parts) {
    const auto id = ids.find(part.text);
    if (id != ids.end()) {
      found.push_back(id->second);
    } else if (vocabulary.has_bytes) {
      for (const char byte : part.text) found.push_back((*vocabulary.bytes())[static_cast<Byte>(byte)]);
    } else if (!is_after_unknown) {
      found.push_back(0);
    }
    is_after_unknown = id == ids.end();
  }
  return found;
}

// A table with few kinds of units, so that many transitions succeed.
std::vector<Byte> table_for(Random& random) {
  constexpr std::size_t kUnits = 256;
  std::vector<Byte> table;
  const auto add = [&](std::uint32_t value) {
    for (unsigned shift = 0; shift < 32; shift += 8) table.push_back(static_cast<Byte>(value >> shift));
  };
  add(static_cast<std::uint32_t>(random.one_in(20) ? random.next() : kUnits * 4));
  for (std::size_t i = 0; i < kUnits; ++i) {
    const auto label = static_cast<std::uint32_t>(random.one_in(3) ? random.below(256) : i ^ 1);
    const auto offset = static_cast<std::uint32_t>(random.one_in(60) ? random.below(1 << 21) : random.between(1, 255));
    const bool is_value = random.one_in(3);
    add(is_value ? 0x80000000u | static_cast<std::uint32_t>(random.below(random.one_in(60) ? 200 : 60))
                 : offset << 10 | static_cast<std::uint32_t>(i != 0 && random.one_in(4)) << 8 | (i == 0 ? 0 : label));
  }
  for (std::size_t i = 0; i < 64; ++i) table.push_back(random.one_in(5) ? Byte{0} : static_cast<Byte>(random.next()));
  if (!random.one_in(20)) table.push_back(0);
  return table;
}

void check_table(Bytes text, Random& random) {
  try {
    const Normalizer normalizer(CharacterMap(table_for(random)), Symbols(), {true, random.one_in(2), true, false});
    NormalizedText made;
    normalizer.normalize(text, {}, made);
    const CertainCuts cuts(normalizer, {}, {}, false);
  } catch (const std::invalid_argument&) {
  } catch (const std::length_error&) {
  }
}

// Texts are replaced in runs as they are character by character, unless a key is a part of a character: such tables are refused.
void check_clusters(Bytes text, Random& random) {
  std::vector<std::uint8_t> joining(0x110000);
  std::fill_n(joining.begin() + 0x300, 0x70, ClusterMap::JoinsPrevious);
  try {
    const ClusterMap clusters(CharacterMap(table_for(random)), std::move(joining));
    std::vector<Byte> made, expected;
    clusters.append_replaced(text, made);
    clusters.for_each(text, [&](Bytes part, std::size_t, std::size_t) { expected.insert(expected.end(), part.begin(), part.end()); });
    bool are_characters = !first_invalid(text);
    clusters.characters().for_each_key([&](Bytes key, Bytes) { are_characters &= !first_invalid(key); });
    CHECK(!are_characters || made == expected);
  } catch (const std::invalid_argument&) {
  } catch (const std::length_error&) {
  }
}

// Slices of the text as added tokens without flags.
std::vector<AddedToken> added_tokens_for(const std::string& text, Random& random) {
  std::map<std::string, AddedToken> tokens;
  for (std::size_t left = random.below(6); left > 0 && !text.empty(); --left) {
    const std::size_t first = random.below(text.size());
    const std::string slice = text.substr(first, random.between(1, 5));
    tokens[slice] = {slice, static_cast<Id>(200'000 + tokens.size()), false, false, false};
  }
  std::vector<AddedToken> found;
  for (const auto& [_, token] : tokens) found.push_back(token);
  return found;
}

bool begins_with_space(const std::string& part) { return part.starts_with(" ") || part.starts_with("\u2581"); }

// Repeatedly takes the leftmost added token, the longest at its place; the parts between tokens are encoded as texts.
Found defined_with(const std::vector<AddedToken>& added, SpaceInFront space, Vocabulary vocabulary, const std::string& text) {
  Found found;
  std::size_t after = 0;
  const auto add_part = [&](std::size_t end) {
    if (after == end) return;
    const std::string part = text.substr(after, end - after);
    vocabulary.options.add_dummy_prefix = space == SpaceInFront::EachPart || (space == SpaceInFront::PartsWithout && !begins_with_space(part)) ||
                                          (space == SpaceInFront::TextWithout && after == 0 && !begins_with_space(part));
    const Found ids = defined(vocabulary, naive::to_bytes(part));
    found.insert(found.end(), ids.begin(), ids.end());
  };
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* longest = nullptr;
    for (const AddedToken& token : added) {
      if (text.compare(at, token.text.size(), token.text) == 0 && (longest == nullptr || token.text.size() > longest->text.size())) longest = &token;
    }
    if (longest == nullptr) {
      ++at;
      continue;
    }
    add_part(at);
    found.push_back(longest->id);
    after = at += longest->text.size();
  }
  add_part(text.size());
  return found;
}

void check_document(Vocabulary vocabulary, const std::vector<Byte>& block, const std::string& text, Random& random) {
  const auto space = static_cast<SpaceInFront>(random.below(4));
  vocabulary.options = {space != SpaceInFront::Nothing, false, vocabulary.options.escape_whitespaces, false};
  const std::vector<AddedToken> added = added_tokens_for(text, random);
  std::vector<ScoredPiece> pieces;
  for (std::size_t i = 0; i < vocabulary.texts.size(); ++i) pieces.push_back({vocabulary.texts[i], vocabulary.scores[i], vocabulary.kinds[i]});
  const CertainCuts cuts(vocabulary.normalizer(), vocabulary.of({PieceKind::Normal, PieceKind::Unused}),
                         vocabulary.of({PieceKind::Normal, PieceKind::UserDefined}), !vocabulary.has_bytes);
  CharacterBpeDocument family(cuts, vocabulary.options, {{added, {}}, {{}, added}, space});
  const CharacterBpeDocumentEncoder encoder({CharacterPieces(pieces, 0, vocabulary.bytes()), vocabulary.normalizer()}, std::move(family));
  const Found expected = defined_with(added, space, vocabulary, text);
  CHECK(found_in(encoder.encode(Bytes(block), {})) == expected);
  CHECK(found_in(encoder.encode(Bytes(block), {.has_specials = true})) == expected);
  CHECK(found_in(encoder.encode(Bytes(block), {.has_specials = true, .is_normalized = true})) == expected);
  check_batch(encoder, block, Units::Utf8, random);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostBytes = 400;
  Input input(data, size);
  Random random(input.word());
  const std::string text = naive::to_string(input.rest().first(std::min(input.rest().size(), kMostBytes)));
  const std::vector<Byte> block(text.begin(), text.end());  // of exact size, so that a sanitizer sees reads past its end
  const Bytes bytes = block;
  check_table(bytes, random);
  if (random.one_in(4)) check_clusters(bytes, random);
  const Vocabulary vocabulary = vocabulary_for(bytes, random);
  const Found expected = defined(vocabulary, bytes);
  const CharacterBpeEncoder encoder = vocabulary.encoder();
  CHECK(found_in(encoder.encode(bytes)) == expected);
  CHECK(found_in(encoder.encode(bytes)) == expected);  // now from the store
  check_batch(encoder, block, Units::Utf8, random);
  if (!first_invalid(bytes)) check_batch(encoder, naive::code_points(bytes), Units::Ucs4, random);
  check_document(vocabulary, block, text, random);
  return 0;
}
