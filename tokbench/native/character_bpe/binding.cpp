// The Python module `_character_bpe`. Arguments are checked here, and only here; the interpreter's lock is released around
// everything that takes time.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "document_family.hpp"
#include "encoding/python_added_tokens.hpp"
#include "encoding/python_encoding.hpp"

using namespace tokbench;
using namespace nb::literals;

namespace {

std::vector<std::string_view> views_of(const nb::tuple& texts) {
  std::vector<std::string_view> views;
  views.reserve(texts.size());
  for (const nb::handle text : texts) {
    if (!nb::isinstance<nb::bytes>(text)) throw nb::type_error("a piece is not bytes");
    const auto bytes = nb::borrow<nb::bytes>(text);
    views.emplace_back(bytes.c_str(), bytes.size());
    if (bytes.size() == 0) throw std::invalid_argument("a piece is empty");
  }
  return views;
}

std::optional<std::array<Id, 256>> bytes_in(const std::optional<InputArray<Id>>& ids) {
  if (!ids) return std::nullopt;
  if (ids->size() != 256) throw std::invalid_argument("there must be an id for each byte");
  std::array<Id, 256> bytes;
  std::ranges::copy(view(*ids), bytes.begin());
  return bytes;
}

CharacterBpeEncoder* made_encoder(const nb::list& pieces, const InputArray<float>& scores, const InputArray<std::uint8_t>& kinds,
                                  Id unknown, const std::optional<InputArray<Id>>& byte_ids, const nb::bytes& charsmap,
                                  bool add_dummy_prefix, bool remove_extra_whitespaces, bool escape_whitespaces,
                                  bool treat_whitespace_as_suffix) {
  if (pieces.size() != scores.size() || pieces.size() != kinds.size()) throw std::invalid_argument("there must be a score and a kind for each piece");
  if (unknown >= pieces.size()) throw std::invalid_argument("there is no such unknown piece");
  const nb::tuple kept(pieces);  // other threads may change the list meanwhile
  const std::vector<std::string_view> texts = views_of(kept);
  const std::optional<std::array<Id, 256>> bytes = bytes_in(byte_ids);
  const std::span<const float> amounts = view(scores);
  const std::span<const std::uint8_t> numbers = view(kinds);
  const Bytes table = view(charsmap);
  const NormalizerOptions options{add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, treat_whitespace_as_suffix};
  const nb::gil_scoped_release unlocked;
  std::vector<ScoredPiece> scored;
  std::vector<std::string_view> symbols, found, known;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (numbers[i] < 1 || numbers[i] > 6) throw std::invalid_argument("there is no such kind of piece");
    const auto kind = static_cast<PieceKind>(numbers[i]);
    if (amounts[i] != amounts[i]) throw std::invalid_argument("a score is no number");
    scored.push_back({texts[i], amounts[i], kind});
    if (kind == PieceKind::UserDefined) symbols.push_back(texts[i]);
    if (kind == PieceKind::Normal || kind == PieceKind::Unused) found.push_back(texts[i]);
    if (kind == PieceKind::Normal || kind == PieceKind::UserDefined) known.push_back(texts[i]);
  }
  Normalizer normalizer(table.empty() ? CharacterMap() : CharacterMap(table), Symbols(std::move(symbols)), options);
  CharacterBpeFamily family(CertainCuts(normalizer, found, known, !bytes.has_value()), options);
  return new CharacterBpeEncoder({CharacterPieces(scored, unknown, bytes), std::move(normalizer)}, std::move(family));
}

SpaceInFront space_named(const std::string& name) {
  if (name == "nothing") return SpaceInFront::Nothing;
  if (name == "each part") return SpaceInFront::EachPart;
  if (name == "parts without") return SpaceInFront::PartsWithout;
  if (name == "text without") return SpaceInFront::TextWithout;
  throw std::invalid_argument("nothing such can get a space in front");
}

// From tokens and merges (left id, right id, merged id).
CharacterBpeDocumentEncoder* made_document_encoder(const nb::list& tokens,
                                                   const nb::ndarray<const Id, nb::shape<-1, 3>, nb::c_contig, nb::device::cpu>& merges,
                                                   Id unknown, bool joins_unknown, const std::optional<InputArray<Id>>& byte_ids,
                                                   const std::string& space_in_front, bool escape_whitespaces, const nb::tuple& added,
                                                   const nb::tuple& added_with_specials) {
  if (unknown >= tokens.size()) throw std::invalid_argument("there is no such unknown token");
  const nb::tuple kept(tokens);
  const std::vector<std::string_view> texts = views_of(kept);
  const std::optional<std::array<Id, 256>> bytes = bytes_in(byte_ids);
  const std::span<const Id> numbers(merges.data(), merges.size());
  CharacterBpeDocument::Preparation preparation{added_sets_of(added), added_sets_of(added_with_specials), space_named(space_in_front)};
  const nb::gil_scoped_release unlocked;
  std::vector<CharacterPieces::ListedMerge> listed;
  std::vector<std::string_view> made;
  for (std::size_t i = 0; i < numbers.size(); i += 3) {
    listed.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
    if (numbers[i + 2] < texts.size()) made.push_back(texts[numbers[i + 2]]);
  }
  const NormalizerOptions options{preparation.space != SpaceInFront::Nothing, false, escape_whitespaces, false};
  CharacterPieces pieces(texts, listed, unknown, joins_unknown, bytes);
  Normalizer normalizer(CharacterMap(), Symbols(), options);
  CharacterBpeDocument family(CertainCuts(normalizer, made, texts, pieces.joins_unknown()), options, std::move(preparation));
  return new CharacterBpeDocumentEncoder({std::move(pieces), std::move(normalizer)}, std::move(family));
}

nb::list encode_document(const CharacterBpeDocumentEncoder& encoder, nb::handle text, bool specials, bool normalized) {
  return encode_read_text(encoder, text, {specials, normalized});
}

nb::tuple encode_documents(const CharacterBpeDocumentEncoder& encoder, const nb::list& texts, unsigned threads, bool specials, bool normalized) {
  return encode_read_texts(encoder, texts, threads, {specials, normalized});
}

Array<std::int64_t> count_documents(const CharacterBpeDocumentEncoder& encoder, const nb::list& texts, unsigned threads, bool specials,
                                    bool normalized) {
  return count_read_texts(encoder, texts, threads, {specials, normalized});
}

nb::list added_places(const CharacterBpeDocumentEncoder& encoder, const nb::bytes& text, bool specials) {
  return places_of(encoder.family().added({specials, false}).as_it_is(), text);
}

}  // namespace

NB_MODULE(_character_bpe, module) {
  module.attr("SOURCES") = TOKBENCH_SOURCES;
  nb::class_<CharacterBpeEncoder>(module, "Encoder")
      .def(nb::new_(&made_encoder), "pieces"_a, "scores"_a.noconvert(), "kinds"_a.noconvert(), nb::kw_only(), "unknown"_a,
           "byte_ids"_a.noconvert() = nb::none(), "charsmap"_a, "add_dummy_prefix"_a, "remove_extra_whitespaces"_a,
           "escape_whitespaces"_a, "treat_whitespace_as_suffix"_a)
      .def("encode", &encode_text<CharacterBpeFamily>, "text"_a)
      .def("encode_batch", &encode_texts<CharacterBpeFamily>, "texts"_a, "threads"_a, "(uint32[N] ids, int64[len(texts) + 1] offsets).")
      .def("count_batch", &count_texts<CharacterBpeFamily>, "texts"_a, "threads"_a, "How many ids each text has: int64[len(texts)].");
  nb::class_<CharacterBpeDocumentEncoder>(module, "DocumentEncoder")
      .def(nb::new_(&made_document_encoder), "tokens"_a, "merges"_a.noconvert(), nb::kw_only(), "unknown"_a, "joins_unknown"_a,
           "byte_ids"_a.noconvert().none(), "space_in_front"_a, "escape_whitespaces"_a, "added"_a, "added_with_specials"_a,
           "Of tokens and merges: uint32[M, 3], the ids of two tokens and of what they become, the first one first.")
      .def("added_places", &added_places, "text"_a, nb::kw_only(), "specials"_a,
           "(start, stop, id) of the added tokens that are found before a text is normalized.")
      .def("encode", &encode_document, "text"_a, nb::kw_only(), "specials"_a = false, "normalized"_a = false)
      .def("encode_batch", &encode_documents, "texts"_a, "threads"_a, nb::kw_only(), "specials"_a = false, "normalized"_a = false,
           "(uint32[N] ids, int64[len(texts) + 1] offsets).")
      .def("count_batch", &count_documents, "texts"_a, "threads"_a, nb::kw_only(), "specials"_a = false, "normalized"_a = false,
           "How many ids each text has: int64[len(texts)].");
}
