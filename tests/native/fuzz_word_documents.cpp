// Models of words give the ids of their definitions: BPE over characters with affixes, WordPiece and Unigram, on words that
// split programs and space marks cut in steps between added tokens, in texts with and without NFC, for one text and for batches, on
// threads, with and without cached words; their spans are correct too, even in texts whose characters were changed.
#include "batches.hpp"
#include "bpe/prepared_places.hpp"
#include "changed_characters.hpp"
#include "split_expressions.hpp"
#include "word_models.hpp"

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
using word_models::BestSums;
using word_models::Bpe;
using word_models::LongestPieces;
using word_models::Token;

namespace {

// Replaces spaces by marks, puts one in front of a part that begins without one, and begins a word at each mark, as the step says.
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
  std::vector<AddedToken> found_first, found_after;
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
      const AddedToken token{text, static_cast<Id>(200'000 + found_first.size() + found_after.size()), false, false, false};
      (random.one_in(2) ? found_first : found_after).push_back(token);
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
    return {AddedTokens({}, found_after), AddedTokens(found_first, found_after), SplitSteps(character_sets(), std::move(made)), false, makes_nfc};
  }
};

// Calls found(id) for each added token, always the leftmost and longest, and part(text) for the text between tokens.
template <class OnPart, class OnToken>
void cut(const std::vector<AddedToken>& tokens, const std::string& text, const OnPart& part, const OnToken& found) {
  std::string after;
  const auto end_part = [&] {
    if (!after.empty()) part(after);
    after.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* longest = nullptr;
    for (const AddedToken& token : tokens) {
      if (text.compare(at, token.text.size(), token.text) == 0 && (longest == nullptr || token.text.size() > longest->text.size())) longest = &token;
    }
    if (longest == nullptr) {
      after += text[at++];
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

// The tokens of a normalized text, with their places in it, which are meaningless if a step inserts space marks.
template <class Model>
std::vector<PlacedToken> placed_in(const Document& document, const Model& model, const std::string& text) {
  std::vector<PlacedToken> found;
  std::size_t start = 0;
  cut(document.found_after, text, [&](const std::string& between) {
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
    const auto& token = *std::ranges::find(document.found_after, id, &AddedToken::id);
    found.push_back({id, start, start + token.text.size()});
    start += token.text.size();
  });
  return found;
}

// What NFC makes of a part of a text, if the document has it.
std::string composed_in(const Document& document, const std::string& part) {
  std::vector<Byte> room;
  return document.makes_nfc ? naive::to_string(Nfc::by_definition(naive::to_bytes(part), room)) : part;
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
    add_normal(composed_in(document, part));
  }, add_token);
  return found;
}

// The library's spans, which cover whole characters of the original text, by the origin of each byte of its normalized form.
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
    const bool is_kept = composed_in(document, text) == text;  // otherwise the kernel knows no places
    if (model.tells_places && !document.has_marks() && is_kept) {
      check_places(encoder, text, {false, false, &table}, placed_by(placed_in(document, model, made.text), made.origins, text));
    }
  }
  Found expected;
  cut(document.found_first, text, [&](const std::string& part) {
    const Found ids = defined(document, model, changes.of(composed_in(document, part)).text, false, true);
    expected.insert(expected.end(), ids.begin(), ids.end());
  }, [&](Id id) { expected.push_back(id); });
  CHECK(found_in(encoder.encode(naive::to_bytes(text), {true, false, &table})) == expected);
}

template <class Model>
void check_model(const Document& document, const Model& model, const Changes& changes, const std::vector<Byte>& block, Random& random) {
  const Encoder<Prepared<typename Model::Family>> encoder(model.model(), Prepared<typename Model::Family>({}, document.preparation()));
  const Bytes bytes = block;
  const std::string text = naive::to_string(bytes);
  for (const bool has_specials : {true, false, true}) {  // the last time from the store
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
  const std::vector<Byte> block(text.begin(), text.end());  // of exact size, so that a sanitizer sees reads past its end
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
