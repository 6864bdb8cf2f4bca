// The Python module `_wordpiece`. Arguments are checked here, and only here; the interpreter's lock is released around
// everything that takes time.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "encoding/python_encoding.hpp"
#include "encoding/python_places.hpp"
#include "places.hpp"
#include "training_binding.hpp"

using namespace tokbench;
using namespace nb::literals;

namespace {

WordPieceEncoder* made_encoder(const nb::list& pieces, const InputArray<Id>& ids, const std::string& prefix, Id unknown,
                               std::size_t max_characters_per_word, bool clean_text, bool handle_chinese_chars,
                               bool strip_accents, bool lowercase) {
  if (pieces.size() != ids.size()) throw std::invalid_argument("there must be an id for each piece");
  const nb::tuple kept(pieces);  // other threads may change the list meanwhile
  std::vector<std::string_view> views;
  views.reserve(kept.size());
  for (const nb::handle piece : kept) {
    if (!nb::isinstance<nb::bytes>(piece)) throw nb::type_error("a piece is not bytes");
    const auto bytes = nb::borrow<nb::bytes>(piece);
    views.emplace_back(bytes.c_str(), bytes.size());
  }
  const std::span<const Id> numbers = view(ids);
  constexpr Id kMostIds = Id{1} << 27;
  if (std::ranges::any_of(numbers, [](Id id) { return id >= kMostIds; })) throw std::invalid_argument("an id is too large");
  const BertRules rules{clean_text, handle_chinese_chars, strip_accents, lowercase};
  const nb::gil_scoped_release unlocked;
  return new WordPieceEncoder(Pieces(views, numbers, {rules, prefix, unknown, max_characters_per_word}), WordPieceFamily(rules));
}

nb::tuple place_texts(const WordPieceEncoder& encoder, const nb::list& strings, unsigned threads) {
  return place_texts_of(strings, [&](std::span<const Text> texts) { return placed_texts<Placing>(encoder, texts, threads); });
}

nb::list normal_words(const nb::str& text, bool clean_text, bool handle_chinese_chars, bool strip_accents, bool lowercase) {
  NormalText normal;
  nb::list words;
  for_each_normal_word<false>({clean_text, handle_chinese_chars, strip_accents, lowercase}, utf8_view(text), normal,
                              [&](std::size_t start, std::size_t size, std::size_t) {
                                words.append(nb::str(reinterpret_cast<const char*>(normal.bytes.data()) + start, size));
                              });
  return words;
}

Array<std::int64_t> split(const nb::bytes& text, bool ideographs, const std::optional<std::string>& simd) {
  std::vector<std::int64_t> places;
  const Bytes bytes = view(text);
  const Byte* const end = bytes.data() + bytes.size();
  const SplitInto<WordPlaces> split_words = bert_word_places_of(ideographs, simd ? simd_tier_named(*simd) : simd_tier());
  const Byte* found[2 * kMostPretokens];
  for (const Byte* p = bytes.data(); p != end;) {
    WordPlaces words{found, found + 2 * kEnoughPretokens};
    p = split_words(p, end, words);
    for (const Byte** place = found; place != words.next; ++place) places.push_back(*place - bytes.data());
  }
  return to_array(std::move(places));
}

}  // namespace

NB_MODULE(_wordpiece, module) {
  module.attr("SOURCES") = TOKBENCH_SOURCES;
  module.attr("CHARACTER_TABLES") = kCharacterTablesVersion;
  module.def("normal_words", &normal_words, "text"_a, nb::kw_only(), "clean_text"_a, "handle_chinese_chars"_a, "strip_accents"_a,
             "lowercase"_a, "The words of a text, normalized each by itself.");
  module.def("split", &split, "text"_a, "ideographs"_a, "simd"_a = nb::none(),
             "Where the words that are looked up begin and end, in bytes. `simd` names a tier, as TOKBENCH_SIMD does.");
  module.def(
      "is_movable", [](std::uint32_t code_point) { return code_point < 0x110000 && (traits_of(code_point) & trait::kMovable) != 0; },
      "code_point"_a, "Whether a character stays under strip_accents, which may put it elsewhere.");
  module.def(
      "settled_marks", [](bool strip_accents) {
        std::vector<char> marks(0x110000);
        for (std::uint32_t one = 0; one < marks.size(); ++one) {
          const bool is_movable = strip_accents && (traits_of(one) & trait::kMovable) != 0;
          marks[one] = (one < 0xD800 || one > 0xDFFF) && !is_movable;
        }
        return nb::bytes(marks.data(), marks.size());
      },
      "strip_accents"_a, "A 1 for each code point of which the version of CHARACTER_TABLES makes what this does in every text.");
  module.def("unmarked", &unmarked_characters, "texts"_a, "marks"_a.noconvert(), "threads"_a,
             "The characters of some texts that have a 0 among 0x110000 marks, each once, in order.");
  nb::class_<WordPieceEncoder>(module, "Encoder")
      .def(nb::new_(&made_encoder), "pieces"_a, "ids"_a.noconvert(), nb::kw_only(), "prefix"_a, "unknown"_a,
           "max_characters_per_word"_a, "clean_text"_a, "handle_chinese_chars"_a, "strip_accents"_a, "lowercase"_a)
      .def("encode", &encode_text<WordPieceFamily>, "text"_a)
      .def("encode_batch", &encode_texts<WordPieceFamily>, "texts"_a, "threads"_a, "(uint32[N] ids, int64[len(texts) + 1] offsets).")
      .def("count_batch", &count_texts<WordPieceFamily>, "texts"_a, "threads"_a, "How many ids each text has: int64[len(texts)].")
      .def("place_batch", &place_texts, "texts"_a, "threads"_a,
           "(uint32[N] ids, int64[N] starts, int64[N] stops, int64[len(texts)] counts), places in bytes of each text.");
  bind_training(module);
}
