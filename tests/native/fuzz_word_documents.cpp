// Models of words give what their definitions give: BPE over characters with affixes, WordPiece and Unigram, of words that
// programs and marks for spaces cut in steps between added tokens, in texts that are brought to NFC or not, one and many, on
// threads, remembered or not; and say where tokens are, also in texts of which characters became others.
#include "batches.hpp"
#include "bpe/prepared_places.hpp"
#include "changed_characters.hpp"
#include "character_bpe/word_bpe.hpp"
#include "split_expressions.hpp"
#include "unigram/word_unigram.hpp"
#include "wordpiece/plain_words.hpp"

#include <map>
#include <optional>
#include <set>

using namespace tokbench;
using fuzz::check_batch;
using fuzz::Found;
using fuzz::found_in;
using fuzz::Input;
using fuzz::Random;
using namespace split_expressions;
using changed_characters::Changes;
using changed_characters::slice_of;

namespace {

// An id, and how many bytes of its word it covers.
struct Token {
  Id id;
  std::size_t size;
};
using Tokens = std::vector<Token>;

// --- models -----------------------------------------------------------------------------------------

struct Bpe {
  using Family = WordBpeFamily;
  Words tokens;
  std::string prefix, suffix;
  std::vector<CharacterPieces::ListedMerge> merges;
  std::optional<Id> unknown;
  bool joins_unknown, whole_words_first, has_bytes;
  bool tells_places;  // each merge makes the token that is spelled as its parts

  Bpe(const Words& characters, Random& random)
      : joins_unknown(random.one_in(2)), whole_words_first(random.one_in(4)), has_bytes(random.one_in(4)), tells_places(random.one_in(2)) {
    if (!has_bytes && random.one_in(2)) prefix = random.one_in(2) ? "##" : "a";
    if (!has_bytes && random.one_in(2)) suffix = random.one_in(2) ? "</w>" : "b";
    if (random.one_in(2)) unknown = 0;
    std::set<std::string> made{"<unk>"};
    const std::string starts[] = {"", prefix}, ends[] = {"", suffix};
    for (std::size_t left = random.below(20); left > 0; --left) {
      made.insert(starts[random.below(2)] + slice_of(characters, random.one_in(4) ? 5 : 1, random) + ends[random.below(2)]);
    }
    tokens.assign(made.begin(), made.end());
    std::swap(tokens[0], *std::ranges::find(tokens, "<unk>"));
    for (std::size_t left = random.below(20); left > 0 && tokens.size() > 1; --left) {
      const auto drawn = [&] { return static_cast<Id>(random.between(1, tokens.size() - 1)); };
      CharacterPieces::ListedMerge merge{drawn(), drawn(), drawn()};
      if (tells_places) {
        if (!tokens[merge.right].starts_with(prefix)) continue;
        const std::string whole = tokens[merge.left] + tokens[merge.right].substr(prefix.size());
        if (whole == tokens[0]) continue;
        if (!id_of(whole)) tokens.push_back(whole);
        merge.made = *id_of(whole);
      }
      const bool is_new = std::ranges::none_of(merges, [&](const auto& each) { return each.left == merge.left && each.right == merge.right; });
      if (is_new) merges.push_back(merge);
    }
  }

  std::optional<std::array<Id, 256>> bytes() const {
    if (!has_bytes) return std::nullopt;
    std::array<Id, 256> ids;
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<Id>(100'000 + i);
    return ids;
  }

  WordBpe model() const {
    const std::vector<std::string_view> views(tokens.begin(), tokens.end());
    return {views, merges, {prefix, suffix, unknown, joins_unknown, bytes(), whole_words_first}};
  }

  std::optional<Id> id_of(const std::string& text) const {
    const auto found = std::ranges::find(tokens, text);
    return found == tokens.end() ? std::nullopt : std::optional(static_cast<Id>(found - tokens.begin()));
  }

  // Letters, or characters without one; then the merge of the smallest rank, the leftmost of equal ones, again and again.
  Tokens encode(const std::string& word) const {
    if (const auto id = id_of(word); id && whole_words_first) return {{*id, word.size()}};
    struct Letter {
      std::optional<Id> id;
      std::string text;
    };
    std::vector<Letter> letters;
    const Words characters = characters_of(word);
    for (std::size_t i = 0; i < characters.size(); ++i) {
      const std::string spelled = (i > 0 ? prefix : "") + characters[i] + (i + 1 == characters.size() ? suffix : "");
      const auto id = id_of(spelled);
      if (id || unknown || has_bytes) letters.push_back({id, characters[i]});
    }
    for (bool has_merged = true; has_merged;) {
      has_merged = false;
      for (std::size_t rank = 0; rank < merges.size() && !has_merged; ++rank) {
        for (std::size_t i = 0; i + 1 < letters.size() && !has_merged; ++i) {
          has_merged = letters[i].id == merges[rank].left && letters[i + 1].id == merges[rank].right;
          if (!has_merged) continue;
          letters[i] = {merges[rank].made, letters[i].text + letters[i + 1].text};
          letters.erase(letters.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
      }
    }
    Tokens found;
    bool is_behind_unknown = false;
    for (const Letter& letter : letters) {
      if (letter.id) {
        found.push_back({*letter.id, letter.text.size()});
      } else if (has_bytes) {
        for (const char byte : letter.text) found.push_back({(*bytes())[static_cast<Byte>(byte)], 1});
      } else if (joins_unknown && is_behind_unknown) {
        found.back().size += letter.text.size();
      } else {
        found.push_back({*unknown, letter.text.size()});
      }
      is_behind_unknown = !letter.id;
    }
    return found;
  }
};

struct LongestPieces {
  using Family = PlainWordPieceFamily;
  Words tokens;
  std::string prefix;
  std::size_t most_characters;
  static constexpr bool tells_places = true;

  LongestPieces(const Words& characters, Random& random)
      : prefix(random.one_in(3) ? "" : random.one_in(2) ? "##" : "a"), most_characters(random.one_in(3) ? random.below(6) : 1000) {
    std::set<std::string> made;
    for (std::size_t left = random.below(40); left > 0; --left) {
      made.insert((random.one_in(2) ? prefix : "") + slice_of(characters, random.one_in(2) ? 1 : 6, random));
    }
    tokens.assign(made.begin(), made.end());
  }

  Id id_at(std::size_t place) const { return static_cast<Id>(8 + 3 * place); }

  Pieces model() const {
    std::vector<Id> ids;
    for (std::size_t i = 0; i < tokens.size(); ++i) ids.push_back(id_at(i));
    const std::vector<std::string_view> views(tokens.begin(), tokens.end());
    return {views, ids, {{}, prefix, 7, most_characters}};
  }

  // The longest piece, again and again.
  Tokens encode(const std::string& word) const {
    if (characters_of(word).size() > most_characters) return {{7, word.size()}};
    Tokens found;
    for (std::size_t start = 0; start < word.size();) {
      const std::string mark = start == 0 ? "" : prefix;
      std::size_t size = word.size() - start;
      while (size > 0 && std::ranges::find(tokens, mark + word.substr(start, size)) == tokens.end()) --size;
      if (size == 0) return {{7, word.size()}};
      found.push_back({id_at(static_cast<std::size_t>(std::ranges::find(tokens, mark + word.substr(start, size)) - tokens.begin())), size});
      start += size;
    }
    return found;
  }
};

struct BestSums {
  using Family = WordUnigramFamily;
  std::map<std::string, double> scores;
  bool has_bytes;

  BestSums(const Words& characters, Random& random) : has_bytes(random.one_in(3)) {
    for (std::size_t left = random.below(40); left > 0; --left) {
      scores[slice_of(characters, random.one_in(2) ? 1 : 6, random)] = -static_cast<double>(random.below(32)) / 4;
    }
  }

  static constexpr double kOfUnknown = -18;
  static Id id_of_byte(char byte) { return 100'000u + static_cast<Byte>(byte); }
  Id id_of(const std::string& piece) const { return static_cast<Id>(8 + 3 * std::distance(scores.begin(), scores.find(piece))); }

  UnigramModel<double> model() const {
    std::vector<PieceAutomaton<double>::Piece> pieces;
    for (const auto& [text, score] : scores) pieces.push_back({text, id_of(text), score});
    UnigramRules<double> rules{.unknown = 7, .unknown_score = kOfUnknown, .looks_up_unknown = true};
    rules.has_byte_fallback = has_bytes;
    for (std::size_t byte = 0; byte < 256; ++byte) rules.bytes[byte] = id_of_byte(static_cast<char>(byte));
    return {pieces, rules, std::nullopt};
  }

  // The best sum up to each place, of those that are equal the one whose last piece begins first. Unknown characters side by side
  // are looked up together.
  Tokens encode(const std::string& word) const {
    const Words characters = characters_of(word);
    struct Best {
      double sum = 0;
      std::string piece;
      bool is_unknown = false;
      std::size_t start = 0;
    };
    std::vector<Best> best(characters.size() + 1);
    for (std::size_t stop = 1; stop <= characters.size(); ++stop) {
      bool is_reached = false;
      for (std::size_t start = 0; start < stop; ++start) {
        std::string piece;
        for (std::size_t i = start; i < stop; ++i) piece += characters[i];
        const bool is_unknown = !scores.contains(piece);
        if (is_unknown && start + 1 != stop) continue;
        const double sum = best[start].sum + (is_unknown ? kOfUnknown : scores.at(piece));
        if (!is_reached || sum > best[stop].sum) best[stop] = {sum, piece, is_unknown, start};
        is_reached = true;
      }
    }
    std::vector<Best> path;
    for (std::size_t at = characters.size(); at > 0; at = best[at].start) path.insert(path.begin(), best[at]);
    Tokens found;
    for (std::size_t i = 0; i < path.size(); ++i) {
      std::string together = path[i].piece;
      const bool is_unknown = path[i].is_unknown;
      while (is_unknown && i + 1 < path.size() && path[i + 1].is_unknown) together += path[++i].piece;
      if (scores.contains(together)) {
        found.push_back({id_of(together), together.size()});
      } else if (has_bytes) {
        for (const char byte : together) found.push_back({id_of_byte(byte), 1});
      } else {
        found.push_back({7, together.size()});
      }
    }
    return found;
  }
};

// --- documents --------------------------------------------------------------------------------------

// Spaces become marks, and one stands in front of a part that begins with none; each begins a part.
Words marked(const MarkStep& step, const std::string& text) {
  Words characters = characters_of(text);
  std::ranges::replace(characters, std::string(" "), step.mark);
  if (step.is_put_in_front && characters[0] != step.mark) characters.insert(characters.begin(), step.mark);
  Words words;
  for (const std::string& character : characters) {
    if (words.empty() || (step.begins_parts && character == step.mark)) words.emplace_back();
    words.back() += character;
  }
  return words;
}

struct Document {
  std::vector<std::variant<Step, MarkStep>> steps;
  std::vector<AddedToken> found_first, found_behind;
  bool makes_nfc;

  Document(const Words& characters, Random& random) : makes_nfc(random.one_in(3)) {
    for (std::size_t left = random.below(4); left > 0; --left) {
      steps.push_back(Step{kExpressions[random.below(std::size(kExpressions))], static_cast<SplitBehavior>(random.below(5)), random.one_in(4)});
    }
    if (random.one_in(2)) {
      const MarkStep mark{random.one_in(2) ? "▁" : slice_of(characters, 1, random), random.one_in(2), random.one_in(2)};
      steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(random.below(steps.size() + 1)), mark);
    }
    std::set<std::string> texts;
    for (std::size_t left = random.below(5); left > 0; --left) texts.insert(random.one_in(4) ? "<|a|>" : slice_of(characters, 4, random));
    for (const std::string& text : texts) {
      const AddedToken token{text, static_cast<Id>(200'000 + found_first.size() + found_behind.size()), false, false, false};
      (random.one_in(2) ? found_first : found_behind).push_back(token);
    }
  }

  bool has_marks() const { return std::ranges::any_of(steps, [](const auto& step) { return std::holds_alternative<MarkStep>(step); }); }

  Preparation preparation() const {
    std::vector<SplitStep> made;
    for (const auto& step : steps) {
      if (const auto* const mark = std::get_if<MarkStep>(&step)) {
        made.push_back(*mark);
      } else {
        made.push_back(step_of(std::get<Step>(step)));
      }
    }
    return {AddedTokens({}, found_behind), AddedTokens(found_first, found_behind), SplitSteps(character_sets(), std::move(made)), false, makes_nfc};
  }
};

// Calls part(text) for what is between tokens, and token(id): the longest of those that begin first, again and again.
template <class OnPart, class OnToken>
void cut(const std::vector<AddedToken>& tokens, const std::string& text, const OnPart& part, const OnToken& found) {
  std::string behind;
  const auto end_part = [&] {
    if (!behind.empty()) part(behind);
    behind.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* longest = nullptr;
    for (const AddedToken& token : tokens) {
      if (text.compare(at, token.text.size(), token.text) == 0 && (longest == nullptr || token.text.size() > longest->text.size())) longest = &token;
    }
    if (longest == nullptr) {
      behind += text[at++];
      continue;
    }
    end_part();
    found(longest->id);
    at += longest->text.size();
  }
  end_part();
}

struct PlacedToken {
  Id id;
  std::size_t start, stop;
};

// The tokens of a text that was normalised, with their places in it; none of marks for spaces is known.
template <class Model>
std::vector<PlacedToken> placed_in(const Document& document, const Model& model, const std::string& text) {
  std::vector<PlacedToken> found;
  std::size_t start = 0;
  cut(document.found_behind, text, [&](const std::string& between) {
    std::vector<PlacedWord> words{{start, between}};
    for (const auto& step : document.steps) {
      std::vector<PlacedWord> next;
      for (const PlacedWord& word : words) {
        if (const auto* const mark = std::get_if<MarkStep>(&step)) {
          for (const std::string& each : marked(*mark, word.text)) next.push_back({word.start, each});
        } else {
          for (const PlacedWord& each : split(std::get<Step>(step), word)) next.push_back(each);
        }
      }
      words = next;
    }
    for (const PlacedWord& word : words) {
      std::size_t at = word.start;
      for (const Token& token : model.encode(word.text)) {
        found.push_back({token.id, at, at + token.size});
        at += token.size;
      }
    }
    start += between.size();
  }, [&](Id id) {
    const auto& token = *std::ranges::find(document.found_behind, id, &AddedToken::id);
    found.push_back({id, start, start + token.text.size()});
    start += token.text.size();
  });
  return found;
}

template <class Model>
Found defined(const Document& document, const Model& model, const std::string& text, bool finds_first, bool is_normalized) {
  Found found;
  const auto add_token = [&](Id id) { found.push_back(id); };
  const auto add_normal = [&](const std::string& part) {
    for (const PlacedToken& token : placed_in(document, model, part)) found.push_back(token.id);
  };
  if (is_normalized) {
    add_normal(text);
    return found;
  }
  cut(finds_first ? document.found_first : std::vector<AddedToken>(), text, [&](const std::string& part) {
    std::vector<Byte> room;
    add_normal(document.makes_nfc ? naive::to_string(Nfc::by_definition(naive::to_bytes(part), room)) : part);
  }, add_token);
  return found;
}

// The library's places: of whole characters of the text, by what each byte of its normalised form is from.
std::vector<PlacedToken> placed_by(const std::vector<PlacedToken>& tokens, const std::vector<std::uint32_t>& origins, const std::string& text) {
  std::vector<PlacedToken> placed;
  for (const PlacedToken& token : tokens) {
    std::size_t stop = origins[token.stop - 1] + std::size_t{1};
    while (stop < text.size() && is_continuation(static_cast<Byte>(text[stop]))) ++stop;
    placed.push_back({token.id, origins[token.start], stop});
  }
  return placed;
}

template <class Model>
constexpr bool kHasPlaces = !std::is_same_v<Model, BestSums>;

template <class Family>
void check_places(const Encoder<Prepared<Family>>& encoder, const std::string& text, typename Prepared<Family>::Reading reading,
                  const std::vector<PlacedToken>& expected) {
  const std::vector<Byte> bytes(text.begin(), text.end());
  const Text texts[] = {Bytes(bytes), Bytes(bytes)};
  const Placed placed = placed_texts<PreparedPlacing<Family>>(encoder, texts, 2, reading);
  CHECK(placed.ids.size() == 2 * expected.size());
  for (std::size_t i = 0; i < placed.ids.size(); ++i) {
    const PlacedToken& token = expected[i % expected.size()];
    CHECK(placed.ids[i] == token.id);
    CHECK(placed.starts[i] == static_cast<std::int64_t>(token.start) && placed.stops[i] == static_cast<std::int64_t>(token.stop));
  }
}

template <class Model>
void check_changes(const Encoder<Prepared<typename Model::Family>>& encoder, const Document& document, const Model& model, const Changes& changes,
                   const std::string& text) {
  const CharacterChanges table = changes.table();
  std::vector<Byte> room;
  const Changes::Made made = changes.of(text);
  CHECK(naive::to_string(table.of(naive::to_bytes(text), room)) == made.text);
  std::vector<std::uint32_t> origins;
  CHECK(naive::to_string(table.of(naive::to_bytes(text), room, origins)) == made.text);
  origins.resize(made.text.size());
  CHECK(origins == made.origins);
  if constexpr (kHasPlaces<Model>) {
    if (model.tells_places && !document.has_marks()) {
      check_places(encoder, text, {false, false, &table}, placed_by(placed_in(document, model, made.text), made.origins, text));
    }
  }
  Found expected;
  cut(document.found_first, text, [&](const std::string& part) {
    const Found ids = defined(document, model, changes.of(part).text, false, true);
    expected.insert(expected.end(), ids.begin(), ids.end());
  }, [&](Id id) { expected.push_back(id); });
  CHECK(found_in(encoder.encode(naive::to_bytes(text), {true, false, &table})) == expected);
}

template <class Model>
void check_model(const Document& document, const Model& model, const Changes& changes, const std::vector<Byte>& block, Random& random) {
  const Encoder<Prepared<typename Model::Family>> encoder(model.model(), Prepared<typename Model::Family>({}, document.preparation()));
  const Bytes bytes = block;
  const std::string text = naive::to_string(bytes);
  for (const bool has_specials : {true, false, true}) {  // in the end out of the store
    for (const bool is_normalized : {false, true}) {
      CHECK(found_in(encoder.encode(bytes, {has_specials, is_normalized, nullptr})) == defined(document, model, text, has_specials, is_normalized));
    }
  }
  check_changes(encoder, document, model, changes, text);
  std::vector<std::uint32_t> starts;
  for (std::size_t i = 0; i < text.size(); ++i) {
    starts.push_back(is_continuation(bytes[i]) ? starts.back() : static_cast<std::uint32_t>(i));
  }
  if constexpr (kHasPlaces<Model>) {
    if (model.tells_places && !document.has_marks()) {
      check_places(encoder, text, {false, true, nullptr}, placed_by(placed_in(document, model, text), starts, text));
    }
  }
  check_batch(encoder, block, Units::Utf8, random);
  check_batch(encoder, naive::code_points(bytes), Units::Ucs4, random);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostBytes = 400;
  Input input(data, size);
  Random random(input.word());
  std::string text = naive::to_string(input.rest().first(std::min(input.rest().size(), kMostBytes)));
  while (const auto bad = naive::first_invalid(naive::to_bytes(text))) text.erase(*bad, 1);
  const std::vector<Byte> block(text.begin(), text.end());  // of its own size, for the sanitizer
  const Words characters = characters_of(text);
  const Document document(characters, random);
  const Changes changes(characters, random);
  switch (random.below(3)) {
    case 0:
      check_model(document, Bpe(characters, random), changes, block, random);
      break;
    case 1:
      check_model(document, LongestPieces(characters, random), changes, block, random);
      break;
    default:
      check_model(document, BestSums(characters, random), changes, block, random);
  }
  return 0;
}
