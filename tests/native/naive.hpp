// The slow reference of each part of the kernel: its definition in a few lines, with strings and maps.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bpe/pair_map.hpp"
#include "bpe/splitting.hpp"

namespace tokbench::naive {

using Pair = std::pair<Id, Id>;
using Word = std::vector<Id>;
using Counts = std::map<std::string, std::int64_t>;

inline std::string to_string(Bytes text) { return {text.begin(), text.end()}; }
inline Bytes to_bytes(const std::string& text) {
  return {reinterpret_cast<const Byte*>(text.data()), text.size()};
}

// The ends of pre-tokens, found character by character unless another tier is given. The text is copied to a
// block of its exact size, so that a sanitizer sees every read past its end.
inline std::vector<std::size_t> pretoken_ends(Pattern pattern, Bytes text, SimdTier tier = SimdTier::Scalar) {
  std::vector<Byte> copy(text.begin(), text.end());
  copy.shrink_to_fit();
  std::vector<std::size_t> ends;
  for_each_split(split_of(pattern, tier), Bytes(copy), [&](const Byte*, std::span<const Byte* const> found) {
    for (const Byte* const stop : found) ends.push_back(static_cast<std::size_t>(stop - copy.data()));
  });
  return ends;
}

inline std::vector<std::string> pretokens(Pattern pattern, const std::string& text) {
  std::vector<std::string> found;
  std::size_t start = 0;
  for (const std::size_t end : pretoken_ends(pattern, to_bytes(text))) {
    found.push_back(text.substr(start, end - start));
    start = end;
  }
  return found;
}

// Decodes as many bytes as the lead byte announces, then checks that the code point needs that many.
inline std::optional<std::size_t> first_invalid(Bytes text) {
  for (std::size_t i = 0; i < text.size();) {
    const Byte lead = text[i];
    const std::size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
    if (length == 0 || length > text.size() - i) return i;
    std::uint32_t code_point = length == 1 ? lead : lead & (0x7Fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      if (text[i + k] >> 6 != 2) return i;
      code_point = code_point << 6 | (text[i + k] & 0x3Fu);
    }
    constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool is_surrogate = code_point >= 0xD800 && code_point < 0xE000;
    if (code_point < kSmallest[length] || code_point > 0x10FFFF || is_surrogate) return i;
    i += length;
  }
  return std::nullopt;
}

// The code points of UTF-8.
inline std::vector<std::uint32_t> code_points(Bytes text) {
  std::vector<std::uint32_t> found;
  for (const Byte byte : text) {
    if (byte >> 6 == 2) {
      found.back() = found.back() << 6 | (byte & 0x3Fu);
    } else {
      found.push_back(byte < 0x80 ? byte : byte < 0xE0 ? byte & 0x1Fu : byte < 0xF0 ? byte & 0x0Fu : byte & 0x07u);
    }
  }
  return found;
}

// The parts between special tokens: the leftmost token matches first, and the longest of those at the same place.
inline std::vector<std::string> ordinary_parts(const std::string& text, const std::vector<std::string>& special_tokens) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size();) {
    std::size_t longest = 0;
    for (const std::string& token : special_tokens) {
      if (text.compare(i, token.size(), token) == 0) longest = std::max(longest, token.size());
    }
    if (longest == 0) {
      parts.back() += text[i++];
    } else {
      parts.emplace_back();
      i += longest;
    }
  }
  std::erase(parts, "");
  return parts;
}

// Whether a line is empty or only white space as Python defines it, which includes U+001C to U+001F.
inline bool is_blank(const std::string& line) {
  const Byte* const end = to_bytes(line).data() + line.size();
  for (const Byte* p = to_bytes(line).data(); p < end; p += character_at(p, end).length) {
    if (character_at(p, end).kind != CharClass::Space && (*p < 0x1C || *p > 0x1F)) return false;
  }
  return true;
}

// The lines without their line ends ("\n" or "\r\n") and without blank lines.
inline std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> found;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t newline = text.find('\n', start);
    std::string line = text.substr(start, newline - start);
    if (newline != std::string::npos && line.ends_with('\r')) line.pop_back();
    if (!is_blank(line)) found.push_back(line);
    start = newline == std::string::npos ? text.size() : newline + 1;
  }
  return found;
}

inline Word merge_pair(const Word& word, const Pair& pair, Id made) {
  Word merged;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool matches = i + 1 < word.size() && Pair(word[i], word[i + 1]) == pair;
    merged.push_back(matches ? made : word[i]);
    i += matches;
  }
  return merged;
}

struct Learned {
  std::vector<Pair> pairs;
  std::vector<std::int64_t> counts;
  std::int64_t num_tokens = 0;
};

using CountedWords = std::vector<std::pair<Word, std::int64_t>>;

inline CountedWords words_of(const Counts& pretokens) {
  CountedWords words;
  for (const auto& [text, count] : pretokens) {
    const Bytes bytes = to_bytes(text);
    words.emplace_back(Word(bytes.begin(), bytes.end()), count);
  }
  return words;
}

// Textbook training: count all pairs, take the most frequent (the smallest of a tie), merge it everywhere, repeat.
inline Learned train(const Counts& pretokens, std::size_t num_merges, std::int64_t min_frequency,
                     std::size_t max_token_length) {
  CountedWords words = words_of(pretokens);
  std::vector<std::size_t> lengths(256, 1);
  Learned learned;
  while (learned.pairs.size() < num_merges) {
    std::map<Pair, std::int64_t> counts;
    for (const auto& [word, count] : words) {
      for (std::size_t i = 0; i + 1 < word.size(); ++i) counts[{word[i], word[i + 1]}] += count;
    }
    std::erase_if(counts, [&](const auto& entry) {
      const std::size_t length = lengths[entry.first.first] + lengths[entry.first.second];
      return entry.second < min_frequency || (max_token_length != 0 && length > max_token_length);
    });
    // The map is sorted by pairs, and max_element returns the first of equal elements.
    const auto best = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == counts.end()) break;
    const auto [pair, count] = *best;
    const Id made = static_cast<Id>(lengths.size());
    for (auto& entry : words) entry.first = merge_pair(entry.first, pair, made);
    lengths.push_back(lengths[pair.first] + lengths[pair.second]);
    learned.pairs.push_back(pair);
    learned.counts.push_back(count);
  }
  for (const auto& [word, count] : words) learned.num_tokens += count * static_cast<std::int64_t>(word.size());
  return learned;
}

// Textbook training that continues from existing tokens and never learns bytes that are a token already. A word starts as one
// symbol per byte, to which the inherited merges are applied one after another.
inline Learned continue_training(const Counts& pretokens, const std::vector<Pair>& inherited, std::vector<std::string> tokens,
                                 std::size_t num_merges) {
  CountedWords words = words_of(pretokens);
  for (std::size_t i = 0; i < inherited.size(); ++i) {
    for (auto& entry : words) entry.first = merge_pair(entry.first, inherited[i], static_cast<Id>(256 + i));
  }
  Learned learned;
  while (learned.pairs.size() < num_merges) {
    std::map<Pair, std::int64_t> counts;
    for (const auto& [word, count] : words) {
      for (std::size_t i = 0; i + 1 < word.size(); ++i) counts[{word[i], word[i + 1]}] += count;
    }
    const auto joined = [&](const Pair& pair) { return tokens[pair.first] + tokens[pair.second]; };
    std::erase_if(counts, [&](const auto& entry) { return std::find(tokens.begin(), tokens.end(), joined(entry.first)) != tokens.end(); });
    const auto best = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == counts.end()) break;
    const auto [pair, count] = *best;
    for (auto& entry : words) entry.first = merge_pair(entry.first, pair, static_cast<Id>(tokens.size()));
    tokens.push_back(joined(pair));
    learned.pairs.push_back(pair);
    learned.counts.push_back(count);
  }
  for (const auto& [word, count] : words) learned.num_tokens += count * static_cast<std::int64_t>(word.size());
  return learned;
}

// Repeatedly merges the adjacent pair of the smallest rank(left, right), the leftmost of equal ones, into
// made(rank). The rank of a pair that does not merge is kNever.
inline constexpr std::uint32_t kNever = 0xFFFFFFFFu;

template <class RankOf, class Made>
inline Word merge_by_rank(Word word, RankOf rank_of, Made made) {
  for (;;) {
    std::uint32_t smallest = kNever;
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < word.size(); ++i) {
      const std::uint32_t rank = rank_of(word[i], word[i + 1]);
      if (rank < smallest) smallest = rank, place = i;
    }
    if (smallest == kNever) return word;
    word[place] = made(smallest);
    word.erase(word.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

}  // namespace tokbench::naive
