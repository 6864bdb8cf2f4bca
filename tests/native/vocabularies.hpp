// Vocabularies for the targets that encode and decode: learned from the text or random.
#pragma once

#include <set>

#include "bpe/vocabulary.hpp"
#include "fuzz.hpp"
#include "naive.hpp"

namespace tokbench::fuzz {

// Merges learned from the text, followed by random ones that training would not learn, some of them duplicated.
inline std::vector<std::array<Id, 2>> merges_for(const std::string& text, Random& random) {
  naive::Counts counts;
  for (const std::string& pretoken : naive::pretokens(Pattern::Gpt4, text.substr(0, 200))) counts[pretoken] += 1;
  std::vector<std::array<Id, 2>> merges;
  for (const auto& [left, right] : naive::train(counts, random.below(40), 1, 0).pairs) merges.push_back({left, right});
  for (std::size_t left = random.below(10); left > 0; --left) {
    const std::size_t known = 256 + merges.size();
    merges.push_back({static_cast<Id>(random.below(known)), static_cast<Id>(random.below(known))});
    if (random.one_in(3)) merges.push_back(merges[random.below(merges.size())]);
  }
  return merges;
}

// The text rewritten in a few letters: characters of one or two bytes, or bytes that are not characters. Many entries
// learned from it share parts, so that merges compete for the same letters.
inline std::string in_few_letters(const std::string& text, Random& random) {
  const std::vector<std::string> letters = random.one_in(3)   ? std::vector<std::string>{"a", "b", "c"}
                                           : random.one_in(2) ? std::vector<std::string>{"\u0436", "\u0416", "\u0446", "a"}
                                                              : std::vector<std::string>{"\xd0", "\xb6", "\x96"};
  std::string written;
  for (const char byte : text) written += byte == ' ' ? " " : letters[static_cast<Byte>(byte) % letters.size()];
  return written;
}

// The 256 bytes and slices of the text, ranked in random order.
inline std::vector<std::string> ranks_for(const std::string& text, Random& random) {
  std::set<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.insert(std::string(1, static_cast<char>(byte)));
  for (std::size_t left = random.below(60); left > 0 && !text.empty(); --left) {
    tokens.insert(text.substr(random.below(text.size()), random.between(2, random.one_in(4) ? 20 : 4)));
  }
  std::vector<std::string> ranks(tokens.begin(), tokens.end());
  for (std::size_t i = ranks.size(); i > 1; --i) std::swap(ranks[i - 1], ranks[random.below(i)]);
  return ranks;
}

inline std::vector<std::string_view> views_of(const std::vector<std::string>& tokens) {
  return {tokens.begin(), tokens.end()};
}

// Tokens with gaps, and merges in random order: a token may be the result of several merges, or of none.
struct Parts {
  std::vector<std::string> tokens;
  std::vector<std::array<Id, 3>> merges;
};

inline Parts parts_for(const std::string& text, Random& random) {
  Parts parts{ranks_for(text, random), {}};
  for (std::size_t left = random.below(4); left > 0; --left) {
    parts.tokens.insert(parts.tokens.begin() + static_cast<std::ptrdiff_t>(random.below(parts.tokens.size() + 1)), "");
  }
  std::map<std::string, Id> ids;
  for (std::size_t i = 0; i < parts.tokens.size(); ++i) ids.emplace(parts.tokens[i], i);
  for (const auto& [token, id] : ids) {
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
      const auto left = ids.find(token.substr(0, cut)), right = ids.find(token.substr(cut));
      if (left == ids.end() || right == ids.end() || random.one_in(4)) continue;
      const std::size_t place = random.below(parts.merges.size() + 1);
      parts.merges.insert(parts.merges.begin() + static_cast<std::ptrdiff_t>(place), {left->second, right->second, id});
    }
  }
  return parts;
}

}  // namespace tokbench::fuzz
