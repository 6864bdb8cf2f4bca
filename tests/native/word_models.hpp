// Random models of words by their definitions: BPE over characters, the longest pieces, the best sums of scores.
#pragma once

#include "bpe/prepared_family.hpp"
#include "changed_characters.hpp"
#include "character_bpe/word_bpe.hpp"
#include "fuzz.hpp"
#include "split_expressions.hpp"
#include "unigram/word_unigram.hpp"
#include "wordpiece/plain_words.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace word_models {

using namespace tokbench;
using fuzz::Random;
using namespace split_expressions;
using changed_characters::slice_of;

// An id, and the number of bytes of its word that it covers.
struct Token {
  Id id;
  std::size_t size;
};
using Tokens = std::vector<Token>;

struct Bpe {
  using Family = WordBpeFamily;
  Words tokens;
  std::string prefix, suffix;
  std::vector<CharacterPieces::ListedMerge> merges;
  std::optional<Id> unknown;
  bool joins_unknown, whole_words_first, has_bytes;
  bool tells_places;  // each merge makes the token that is spelled like its two parts, so that sizes are known

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

  // Starts from letters, or from characters that have no letter; then repeatedly applies the leftmost merge of the smallest rank.
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
    bool is_after_unknown = false;
    for (const Letter& letter : letters) {
      if (letter.id) {
        found.push_back({*letter.id, letter.text.size()});
      } else if (has_bytes) {
        for (const char byte : letter.text) found.push_back({(*bytes())[static_cast<Byte>(byte)], 1});
      } else if (joins_unknown && is_after_unknown) {
        found.back().size += letter.text.size();
      } else {
        found.push_back({*unknown, letter.text.size()});
      }
      is_after_unknown = !letter.id;
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

  // Takes the longest matching piece at each place.
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

  // Finds the best sum up to each place; of equal sums, the one whose last piece begins first. Adjacent unknown characters are
  // looked up as one piece.
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

}  // namespace word_models
