// Encoding with preparation for Python: byte-level BPE, and BPE, WordPiece and Unigram of words.
#include "character_bpe/word_bpe.hpp"
#include "python_preparation.hpp"
#include "unigram/word_unigram.hpp"
#include "wordpiece/plain_words.hpp"

namespace tokbench {

using namespace nb::literals;

namespace {

using PreparedWordBpe = PreparedBinding<WordBpeFamily>::Encoder;
using PreparedWordPiece = PreparedBinding<PlainWordPieceFamily>::Encoder;
using PreparedWordUnigram = PreparedBinding<WordUnigramFamily>::Encoder;

// Without merges, tokens are in the order of their ranks.
Vocabulary vocabulary_of(const nb::list& tokens, const std::optional<MergeRows>& merges, bool whole_tokens_first) {
  const std::vector<std::string_view> views = views_of_list(tokens);
  return merges ? Vocabulary::from_parts(views, rows_of(*merges), whole_tokens_first) : Vocabulary::from_ranks(views);
}

bool merges_all_ends(const Vocabulary& vocabulary) {
  const Id mark = vocabulary.byte_id(kEndMark);
  for (unsigned byte = 0; byte < 0x100; ++byte) {
    if (byte != kEndMark && vocabulary.rank(vocabulary.byte_id(static_cast<Byte>(byte)), mark) == Vocabulary::kNoRank) return false;
  }
  return true;
}

void construct(PreparedEncoder* self, const nb::list& tokens, const std::optional<MergeRows>& merges, bool whole_tokens_first,
               nb::handle pattern, const nb::tuple& added, const nb::tuple& added_with_specials,
               const std::optional<nb::list>& steps, const SetsOrNone& sets, const SetsOrNone& byte_sets, bool marks_ends,
               bool makes_nfc) {
  Vocabulary vocabulary = vocabulary_of(tokens, merges, whole_tokens_first);
  Preparation made{added_sets_of(added), added_sets_of(added_with_specials), std::nullopt, marks_ends, makes_nfc,
                   marks_ends && merges_all_ends(vocabulary)};
  if (steps) made.steps.emplace(split_steps_of(*steps, sets, byte_sets));
  new (self) PreparedEncoder(std::move(vocabulary),
                             Prepared<BpeFamily>(BpeFamily(pattern_of(pattern)), std::move(made)));
}

Preparation preparation_of_words(const nb::tuple& added, const nb::tuple& added_with_specials, const nb::list& steps,
                                 const InputArray<SetMask>& sets, const InputArray<SetMask>& byte_sets, bool makes_nfc) {
  Preparation made{added_sets_of(added), added_sets_of(added_with_specials), std::nullopt, false, makes_nfc};
  made.steps.emplace(split_steps_of(steps, sets, byte_sets));
  return made;
}

PreparedWordBpe* made_word_bpe(const nb::list& tokens, const MergeRows& merges, const std::string& prefix, const std::string& suffix,
                               std::optional<Id> unknown, bool joins_unknown, const std::optional<InputArray<Id>>& byte_ids,
                               bool whole_words_first, const nb::tuple& added, const nb::tuple& added_with_specials,
                               const nb::list& steps, const InputArray<SetMask>& sets, const InputArray<SetMask>& byte_sets,
                               bool makes_nfc) {
  const nb::list kept(tokens);  // other threads may change the list meanwhile
  WordBpe::Options options{prefix, suffix, unknown, joins_unknown, std::nullopt, whole_words_first};
  if (byte_ids) {
    if (byte_ids->size() != 256) throw std::invalid_argument("there must be an id for each byte");
    std::ranges::copy(view(*byte_ids), options.bytes.emplace().begin());
  }
  std::vector<CharacterPieces::ListedMerge> listed;
  for (const auto& [left, right, made] : rows_of(merges)) listed.push_back({left, right, made});
  return new PreparedWordBpe(WordBpe(views_of_list(kept), listed, options),
                             Prepared<WordBpeFamily>({}, preparation_of_words(added, added_with_specials, steps, sets, byte_sets, makes_nfc)));
}

PreparedWordPiece* made_word_piece(const nb::list& pieces, const InputArray<Id>& ids, const std::string& prefix, Id unknown,
                                   std::size_t most_characters, bool counts_bytes, const nb::tuple& added, const nb::tuple& added_with_specials,
                                   const nb::list& steps, const InputArray<SetMask>& sets, const InputArray<SetMask>& byte_sets,
                                   bool makes_nfc) {
  if (pieces.size() != ids.size()) throw std::invalid_argument("there must be an id for each piece");
  const nb::list kept(pieces);
  const Pieces::Options options{BertRules{}, prefix, unknown, most_characters, counts_bytes};
  return new PreparedWordPiece(Pieces(views_of_list(kept), view(ids), options),
                               Prepared<PlainWordPieceFamily>({}, preparation_of_words(added, added_with_specials, steps, sets, byte_sets, makes_nfc)));
}

PreparedWordUnigram* made_word_unigram(const nb::list& pieces, const InputArray<Id>& ids, const InputArray<double>& scores, Id unknown,
                                       double unknown_score, const std::optional<InputArray<Id>>& byte_ids, const nb::tuple& added,
                                       const nb::tuple& added_with_specials, const nb::list& steps, const InputArray<SetMask>& sets,
                                       const InputArray<SetMask>& byte_sets, bool makes_nfc) {
  if (pieces.size() != ids.size() || pieces.size() != scores.size()) throw std::invalid_argument("there must be an id and a score for each piece");
  const nb::list kept(pieces);
  const std::vector<std::string_view> texts = views_of_list(kept);
  std::vector<PieceAutomaton<double>::Piece> scored;
  for (std::size_t i = 0; i < texts.size(); ++i) scored.push_back({texts[i], view(ids)[i], view(scores)[i]});
  UnigramRules<double> rules{.unknown = unknown, .unknown_score = unknown_score, .looks_up_unknown = true};
  if (byte_ids) {
    if (byte_ids->size() != 256) throw std::invalid_argument("there must be an id for each byte");
    rules.has_byte_fallback = true;
    std::ranges::copy(view(*byte_ids), rules.bytes.begin());
  }
  return new PreparedWordUnigram(UnigramModel<double>(scored, rules, std::nullopt),
                                 Prepared<WordUnigramFamily>({}, preparation_of_words(added, added_with_specials, steps, sets, byte_sets, makes_nfc)));
}

CharacterChanges* made_changes(const InputArray<std::uint32_t>& characters, const InputArray<std::uint32_t>& firsts,
                               const InputArray<std::uint8_t>& orders, const InputArray<std::uint8_t>& inserted,
                               const InputArray<std::uint32_t>& starts, const nb::bytes& text) {
  return new CharacterChanges(view(characters), view(firsts), view(orders), view(inserted), view(starts), view(text));
}

nb::str text_changed(const CharacterChanges& changes, const nb::str& text) {
  std::vector<Byte> buffer;
  const Bytes made = changes.of(utf8_view(text), buffer);
  return nb::str(reinterpret_cast<const char*>(made.data()), made.size());
}

Array<std::uint32_t> origins_of(const CharacterChanges& changes, const nb::str& text) {
  std::vector<Byte> buffer;
  std::vector<std::uint32_t> origins;
  origins.resize(changes.of(utf8_view(text), buffer, origins).size());
  return to_array(std::move(origins));
}

}  // namespace

void bind_preparation(nb::module_& module) {
  nb::class_<CharacterChanges>(module, "CharacterChanges", "What normalization makes of each character, and the order of its marks.")
      .def(nb::new_(&made_changes), "characters"_a.noconvert(), "firsts"_a.noconvert(), "orders"_a.noconvert(), "inserted"_a.noconvert(),
           "starts"_a.noconvert(), "text"_a,
           "The parts of each of some characters: uint32[n], uint32[n + 1], uint8[p], uint8[p], uint32[p + 1] and their UTF-8.")
      .def("of", &text_changed, "text"_a, "What a text becomes.")
      .def("origins", &origins_of, "text"_a, "uint32[n], for each byte of that where the character begins in the UTF-8 of the text that it is from.");

  nb::class_<PreparedEncoder> bytes(module, "PreparedEncoder");
  bytes.def("__init__", &construct, "tokens"_a, "merges"_a.noconvert().none(), nb::kw_only(), "whole_tokens_first"_a,
            "pattern"_a.none(), "added"_a, "added_with_specials"_a, "steps"_a.none(), "sets"_a.noconvert().none(),
            "byte_sets"_a.noconvert().none(), "marks_ends"_a, "makes_nfc"_a);
  PreparedBinding<BpeFamily>::bind(bytes);

  nb::class_<PreparedWordBpe> words(module, "PreparedWordBpe", "BPE over the characters of the words that steps cut.");
  words.def(nb::new_(&made_word_bpe), "tokens"_a, "merges"_a.noconvert(), nb::kw_only(), "prefix"_a, "suffix"_a, "unknown"_a.none(),
            "joins_unknown"_a, "byte_ids"_a.noconvert().none(), "whole_words_first"_a, "added"_a, "added_with_specials"_a, "steps"_a,
            "sets"_a.noconvert(), "byte_sets"_a.noconvert(), "makes_nfc"_a,
            "Of tokens, empty where no text becomes one, and merges: uint32[M, 3], the first one first.");
  PreparedBinding<WordBpeFamily>::bind(words);

  nb::class_<PreparedWordPiece> pieces(module, "PreparedWordPiece", "WordPiece of the words that steps cut.");
  pieces.def(nb::new_(&made_word_piece), "pieces"_a, "ids"_a.noconvert(), nb::kw_only(), "prefix"_a, "unknown"_a, "most_characters"_a,
             "counts_bytes"_a = false, "added"_a, "added_with_specials"_a, "steps"_a, "sets"_a.noconvert(), "byte_sets"_a.noconvert(),
             "makes_nfc"_a);
  PreparedBinding<PlainWordPieceFamily>::bind(pieces);

  nb::class_<PreparedWordUnigram> scored(module, "PreparedWordUnigram", "Unigram of the words that steps cut.");
  scored.def(nb::new_(&made_word_unigram), "pieces"_a, "ids"_a.noconvert(), "scores"_a.noconvert(), nb::kw_only(), "unknown"_a,
             "unknown_score"_a, "byte_ids"_a.noconvert().none(), "added"_a, "added_with_specials"_a, "steps"_a, "sets"_a.noconvert(),
             "byte_sets"_a.noconvert(), "makes_nfc"_a);
  PreparedBinding<WordUnigramFamily>::bind(scored);
}

}  // namespace tokbench
