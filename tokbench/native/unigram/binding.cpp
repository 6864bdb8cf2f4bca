// The Python module `_unigram`. Arguments are checked here, and only here; the interpreter's lock is released around everything
// that takes time.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "encoding/python_added_tokens.hpp"
#include "encoding/python_encoding.hpp"
#include "encoding/python_places.hpp"
#include "common/threads.hpp"
#include "family.hpp"
#include "normalization/piece_places.hpp"
#include "places.hpp"
#include "word_cuts.hpp"

using namespace tokbench;
using namespace nb::literals;

namespace {

std::vector<std::string_view> views_of(const nb::tuple& list) {
  std::vector<std::string_view> views;
  views.reserve(list.size());
  for (const nb::handle item : list) {
    if (!nb::isinstance<nb::bytes>(item)) throw nb::type_error("a piece is not bytes");
    const auto bytes = nb::borrow<nb::bytes>(item);
    views.emplace_back(bytes.c_str(), bytes.size());
  }
  return views;
}

template <class Real>
std::vector<typename UnigramModel<Real>::Piece> pieces_of(std::span<const std::string_view> texts, std::span<const Id> ids,
                                                       std::span<const Real> scores) {
  if (texts.size() != ids.size() || texts.size() != scores.size()) throw std::invalid_argument("there must be an id and a score for each piece");
  std::vector<typename UnigramModel<Real>::Piece> pieces;
  pieces.reserve(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) pieces.push_back({texts[i], ids[i], scores[i]});
  return pieces;
}

template <class Real>
UnigramRules<Real> rules_of(Id unknown, Real unknown_score, const std::optional<InputArray<Id>>& bytes) {
  UnigramRules<Real> rules;
  rules.unknown = unknown;
  rules.unknown_score = unknown_score;
  if (!std::isfinite(unknown_score)) throw std::invalid_argument("a score is no number");
  if (bytes) {
    if (bytes->size() != 256) throw std::invalid_argument("there must be an id for each byte");
    rules.has_byte_fallback = true;
    std::ranges::copy(view(*bytes), rules.bytes.begin());
  }
  return rules;
}

Normalizer* made_normalizer(const nb::bytes& charsmap, const nb::list& symbols, bool add_dummy_prefix, bool remove_extra_whitespaces,
                            bool escape_whitespaces, bool treat_whitespace_as_suffix) {
  const nb::tuple kept(symbols);
  std::vector<std::string_view> found_first = views_of(kept);
  const NormalizerOptions options{add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, treat_whitespace_as_suffix};
  const Bytes table = view(charsmap);
  const nb::gil_scoped_release unlocked;
  return new Normalizer(table.empty() ? CharacterMap() : CharacterMap(table), Symbols(std::move(found_first)), options);
}

ClusterMap* made_cluster_map(const nb::bytes& charsmap, const InputArray<std::uint8_t>& joining) {
  const Bytes table = view(charsmap);
  const std::span<const std::uint8_t> joined = view(joining);
  const nb::gil_scoped_release unlocked;
  CharacterMap characters(table);
  characters.for_each_key([](Bytes key, Bytes made) {
    if (first_invalid(key) || first_invalid(made)) throw std::invalid_argument("a key or a replacement is not UTF-8");
  });
  return new ClusterMap(std::move(characters), {joined.begin(), joined.end()});
}

bool replaces_each(const ClusterMap& clusters, nb::handle string) {
  std::vector<Byte> buffer;
  const Text text = text_of(string);
  return clusters.covers(text) && !clusters.replaces_cluster(utf8_of(text, buffer));
}

nb::str replaced_text(const ClusterMap& clusters, nb::handle string) {
  std::vector<Byte> buffer, made;
  const Text text = text_of(string);
  without_lock(std::array{string}, [&] {
    const Bytes bytes = utf8_of(text, buffer);
    made.reserve(bytes.size() + bytes.size() / 8);
    clusters.append_replaced(bytes, made);
  });
  return nb::str(reinterpret_cast<const char*>(made.data()), made.size());
}

nb::bytes normalized(const Normalizer& normalizer, const nb::bytes& text) {
  NormalizedText made;
  {
    const nb::gil_scoped_release unlocked;
    normalizer.normalize(view(text), {}, made);
  }
  return nb::bytes(reinterpret_cast<const char*>(made.bytes.data()), made.bytes.size());
}

// Calls use(number, UTF-8) for each text, on several threads. Each thread has a `use` of its own, which make_use() returns.
template <class MakeUse>
void for_each_text(std::span<const Text> texts, unsigned threads, const MakeUse& make_use) {
  Turns turns(texts.size());
  run_on(static_cast<unsigned>(std::min<std::size_t>(threads, texts.size())), [&] {
    std::vector<Byte> buffer;
    auto use = make_use();
    for (std::size_t number; turns.take(number);) use(number, utf8_of(texts[number], buffer));
  });
}

nb::list normalized_texts(const Normalizer& normalizer, const nb::list& strings, unsigned threads) {
  const nb::tuple kept(strings);  // other threads may change the list meanwhile
  const std::vector<Text> texts = texts_of(kept);
  std::vector<std::vector<Byte>> made(texts.size());
  without_lock(kept, [&] {
    for_each_text(texts, threads, [&] {
      return [&, normal = NormalizedText()](std::size_t number, Bytes text) mutable {
        normalizer.normalize(text, {}, normal);
        made[number] = normal.bytes;
      };
    });
  });
  nb::list all;
  for (const std::vector<Byte>& text : made) all.append(nb::str(reinterpret_cast<const char*>(text.data()), text.size()));
  return all;
}

// The spans of pieces, and whether those of each text are known.
nb::tuple places_of_pieces(const Normalizer& normalizer, const nb::list& strings, const InputArray<std::int64_t>& sizes,
                           const InputArray<std::int64_t>& offsets, const InputArray<std::uint8_t>& known, unsigned threads) {
  const nb::tuple kept(strings);
  const std::vector<Text> texts = texts_of(kept);
  const std::span<const std::int64_t> all = view(sizes), edges = view(offsets);
  const std::span<const std::uint8_t> is_known = view(known);
  const bool are_offsets = edges.size() == texts.size() + 1 && edges.front() == 0 && std::ranges::is_sorted(edges) &&
                           edges.back() == static_cast<std::int64_t>(all.size());
  if (!are_offsets) throw std::invalid_argument("the offsets are not those of the sizes");
  if (is_known.size() != kNumCodePoints) throw std::invalid_argument("there must be a mark for each code point");
  std::vector<std::int64_t> starts(all.size()), stops(all.size());
  std::vector<std::uint8_t> placed(texts.size());
  without_lock(kept, [&] {
    for_each_text(texts, threads, [&] {
      return [&, normal = NormalizedText()](std::size_t number, Bytes text) mutable {
        normalizer.normalize_with_origins(text, normal);
        const auto first = static_cast<std::size_t>(edges[number]), after = static_cast<std::size_t>(edges[number + 1]);
        placed[number] = place_pieces(normal, all.subspan(first, after - first),
                                      [&](std::uint32_t character) { return character < kNumCodePoints && is_known[character] != 0; },
                                      starts.data() + first, stops.data() + first);
      };
    });
  });
  return nb::make_tuple(to_array(std::move(starts)), to_array(std::move(stops)), to_array(std::move(placed)));
}

SentencePieceUnigramEncoder* made_encoder(const nb::list& pieces, const InputArray<Id>& ids, const InputArray<float>& scores, Id unknown,
                                          float unknown_score, const std::optional<InputArray<Id>>& bytes, float reset,
                                          const nb::bytes& charsmap, const nb::list& symbols, bool add_dummy_prefix,
                                          bool remove_extra_whitespaces, bool escape_whitespaces, bool treat_whitespace_as_suffix) {
  const nb::tuple kept(pieces), kept_symbols(symbols);  // other threads may change the lists meanwhile
  const std::vector<std::string_view> texts = views_of(kept);
  std::vector<std::string_view> found_first = views_of(kept_symbols);
  UnigramRules<float> rules = rules_of(unknown, unknown_score, bytes);
  rules.reset = reset;
  const NormalizerOptions options{add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, treat_whitespace_as_suffix};
  const std::span<const Id> numbers = view(ids);
  const std::span<const float> amounts = view(scores);
  const Bytes table = view(charsmap);
  const nb::gil_scoped_release unlocked;
  Normalizer normalizer(table.empty() ? CharacterMap() : CharacterMap(table), Symbols(std::move(found_first)), options);
  NormalForm form(std::move(normalizer), texts);
  const SentencePieceUnigram family(form);
  UnigramModel<float> model(pieces_of<float>(texts, numbers, amounts), rules, form.rewritten());
  return new SentencePieceUnigramEncoder({std::move(model), std::move(form)}, family);
}

FirstMark first_mark_named(const std::string& name) {
  if (name == "always") return FirstMark::Always;
  if (name == "first") return FirstMark::AtTextStart;
  if (name == "never") return FirstMark::Never;
  throw std::invalid_argument("no such scheme");
}

DocumentUnigramEncoder* made_document_encoder(const nb::list& pieces, const InputArray<Id>& ids, const InputArray<double>& scores,
                                              Id unknown, double unknown_score, const std::optional<InputArray<Id>>& bytes,
                                              const nb::bytes& charsmap, const InputArray<std::uint8_t>& joining, bool only_spaces,
                                              const std::string& prepend_scheme, const nb::tuple& added) {
  if (added.size() != 2) throw std::invalid_argument("there are two sets of added tokens");
  AddedTokenSet found_first(added_tokens_of(added[0])), found_after(added_tokens_of(added[1]));
  const nb::tuple kept(pieces);
  const std::vector<std::string_view> texts = views_of(kept);
  UnigramRules<double> rules = rules_of(unknown, unknown_score, bytes);
  rules.looks_up_unknown = true;
  const std::span<const Id> numbers = view(ids);
  const std::span<const double> amounts = view(scores);
  const std::span<const std::uint8_t> joined = view(joining);
  const Bytes table = view(charsmap);
  const FirstMark first_mark = first_mark_named(prepend_scheme);
  const nb::gil_scoped_release unlocked;
  ClusterMap replacements(table.empty() ? CharacterMap() : CharacterMap(table), {joined.begin(), joined.end()});
  DocumentForm form(std::move(replacements), only_spaces, std::move(found_after), first_mark);
  UnigramModel<double> model(pieces_of<double>(texts, numbers, amounts), rules, form.rewritten());
  return new DocumentUnigramEncoder({std::move(model), std::move(form)}, DocumentUnigram(std::move(found_first)));
}

nb::list encode_document(const DocumentUnigramEncoder& encoder, nb::handle string, bool normalized) {
  return encode_read_text(encoder, string, {normalized});
}

nb::tuple encode_documents(const DocumentUnigramEncoder& encoder, const nb::list& strings, unsigned threads, bool normalized) {
  return encode_read_texts(encoder, strings, threads, {normalized});
}

Array<std::int64_t> count_documents(const DocumentUnigramEncoder& encoder, const nb::list& strings, unsigned threads, bool normalized) {
  return count_read_texts(encoder, strings, threads, {normalized});
}

bool document_places_known(const DocumentUnigramEncoder& encoder, nb::handle string) {
  std::vector<Byte> buffer;
  const Text text = text_of(string);
  return without_lock(std::array{string}, [&] { return tells_places(encoder, utf8_of(text, buffer)); });
}

nb::tuple place_documents(const DocumentUnigramEncoder& encoder, const nb::list& strings, unsigned threads) {
  return place_texts_of(strings, [&](std::span<const Text> texts) { return placed_texts<UnigramPlacing>(encoder, texts, threads); });
}

WordCut cut_named(const std::string& name) {
  if (name == "at spaces") return WordCut::AtSpaces;
  if (name == "at white space") return WordCut::AtWhiteSpace;
  if (name == "before spaces") return WordCut::BeforeSpaces;
  if (name == "nowhere") return WordCut::Nowhere;
  throw std::invalid_argument("no such cut");
}

const char* name_of(WordCut cut) {
  constexpr const char* kNames[] = {"nowhere", "at spaces", "at white space", "before spaces"};
  return kNames[static_cast<std::size_t>(cut)];
}

Array<std::int64_t> split(const nb::bytes& text, const std::string& cut, const std::optional<std::string>& simd) {
  std::vector<std::int64_t> places;
  const Bytes bytes = view(text);
  const Byte* const end = bytes.data() + bytes.size();
  const SplitInto<CutPlaces> split_words = word_places_of(cut_named(cut), simd ? simd_tier_named(*simd) : simd_tier());
  const Byte* found[2 * kMostPretokens];
  for (const Byte* p = bytes.data(); p != end;) {
    CutPlaces words{found, found + 2 * kEnoughPretokens};
    p = split_words(p, end, words);
    for (const Byte** place = found; place != words.next; ++place) places.push_back(*place - bytes.data());
  }
  return to_array(std::move(places));
}

}  // namespace

NB_MODULE(_unigram, module) {
  module.attr("SOURCES") = TOKBENCH_SOURCES;
  module.def("split", &split, "text"_a, "cut"_a, "simd"_a = nb::none(),
             "Where the words that are looked up begin and end, in bytes. `simd` names a tier, as TOKBENCH_SIMD does.");
  nb::class_<Normalizer>(module, "Normalizer")
      .def(nb::new_(&made_normalizer), "charsmap"_a, "symbols"_a, nb::kw_only(), "add_dummy_prefix"_a, "remove_extra_whitespaces"_a,
           "escape_whitespaces"_a, "treat_whitespace_as_suffix"_a)
      .def("normalize", &normalized, "text"_a, "What the pieces of a SentencePiece model are looked for in.")
      .def("normalize_batch", &normalized_texts, "texts"_a, "threads"_a, "The same for many texts, as strings.")
      .def("place_pieces", &places_of_pieces, "texts"_a, "sizes"_a.noconvert(), "offsets"_a.noconvert(), "known"_a.noconvert(), "threads"_a,
           "(int64[N] starts, int64[N] stops, uint8[len(texts)] known) of the pieces that cover texts, in bytes of each text, from\n"
           "their sizes in the normalized texts; -1 is the size of a run of characters that are not marked in uint8[0x110000] known.");
  nb::class_<ClusterMap>(module, "ClusterMap")
      .def(nb::new_(&made_cluster_map), "charsmap"_a, "joining"_a.noconvert())
      .def("covers", [](const ClusterMap& clusters, nb::handle text) { return clusters.covers(text_of(text)); }, "text"_a,
           "Whether replaced() gives the library's result for a text; False for lone surrogates.")
      .def("replaces_each", &replaces_each, "text"_a, "Whether a text is covered, and each of its characters is replaced by itself.")
      .def("replaced", &replaced_text, "text"_a, "A text with its replacements.");
  nb::class_<DocumentUnigramEncoder>(module, "DocumentEncoder")
      .def(nb::new_(&made_document_encoder), "pieces"_a, "ids"_a.noconvert(), "scores"_a.noconvert(), nb::kw_only(), "unknown"_a,
           "unknown_score"_a, "bytes"_a.noconvert().none(), "charsmap"_a, "joining"_a.noconvert(), "only_spaces"_a, "prepend_scheme"_a, "added"_a)
      .def("covers", [](const DocumentUnigramEncoder& encoder, nb::handle text) { return encoder.model()->form.replacements().covers(text_of(text)); },
           "text"_a, "Whether the library makes of a text what the encoder does.")
      .def("added_places", [](const DocumentUnigramEncoder& encoder, const nb::bytes& text) { return places_of(encoder.family().found_first(), text); },
           "text"_a, "(start, stop, id) of the added tokens that are found before a text is normalized.")
      .def("encode", &encode_document, "text"_a, nb::kw_only(), "normalized"_a = false)
      .def("encode_batch", &encode_documents, "texts"_a, "threads"_a, nb::kw_only(), "normalized"_a = false,
           "(uint32[N] ids, int64[len(texts) + 1] offsets).")
      .def("count_batch", &count_documents, "texts"_a, "threads"_a, nb::kw_only(), "normalized"_a = false,
           "How many ids each text has: int64[len(texts)].")
      .def("tells_places", &document_places_known, "text"_a, "Whether place_batch gives the library's places for a text that is covered.")
      .def("place_batch", &place_documents, "texts"_a, "threads"_a,
           "(uint32[N] ids, int64[N] starts, int64[N] stops, int64[len(texts)] counts), places in bytes of each text.");
  nb::class_<SentencePieceUnigramEncoder>(module, "Encoder")
      .def(nb::new_(&made_encoder), "pieces"_a, "ids"_a.noconvert(), "scores"_a.noconvert(), nb::kw_only(), "unknown"_a, "unknown_score"_a,
           "bytes"_a.noconvert().none(), "reset"_a, "charsmap"_a, "symbols"_a, "add_dummy_prefix"_a, "remove_extra_whitespaces"_a,
           "escape_whitespaces"_a, "treat_whitespace_as_suffix"_a)
      .def_prop_ro("cut", [](const SentencePieceUnigramEncoder& encoder) { return name_of(encoder.family().cut()); },
                   "Where texts are cut into words that are remembered.")
      .def_prop_ro("words", [](const SentencePieceUnigramEncoder& encoder) { return encoder.family().counts().words.load(); },
                   "How many words were looked at.")
      .def_prop_ro("doubtful_words", [](const SentencePieceUnigramEncoder& encoder) { return encoder.family().counts().doubtful.load(); },
                   "How many of them were cut anew, as the sum of scores before them could decide how.")
      .def("encode", &encode_text<SentencePieceUnigram>, "text"_a)
      .def("encode_batch", &encode_texts<SentencePieceUnigram>, "texts"_a, "threads"_a, "(uint32[N] ids, int64[len(texts) + 1] offsets).")
      .def("count_batch", &count_texts<SentencePieceUnigram>, "texts"_a, "threads"_a, "How many ids each text has: int64[len(texts)].");
}
