// What each id stands for, which pairs merge, in which order and into which id.
#pragma once

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pair_map.hpp"
#include "utf8.hpp"

namespace tokbench {

// The place of a merge in the order in which merges are applied: smaller ranks first.
using Rank = std::uint32_t;

class Vocabulary {
 public:
  static constexpr std::size_t kNumBytes = 256;
  static constexpr Rank kNoRank = PairMap::kAbsent;

  // The 256 bytes, then one token for each merge; a pair merges only as it was learned.
  static Vocabulary from_merges(std::span<const std::array<Id, 2>> merges) {
    Vocabulary made(merges.size());
    for (std::size_t value = 0; value < kNumBytes; ++value) {
      const Byte byte = static_cast<Byte>(value);
      made.byte_ids_[value] = static_cast<Id>(value);
      made.add_token({&byte, 1});
    }
    for (const auto& [left, right] : merges) {
      const Id id = static_cast<Id>(made.size());
      if (left >= id || right >= id) {
        throw std::invalid_argument("merge " + std::to_string(id - kNumBytes) + " refers to an id that is not made yet");
      }
      std::vector<Byte> joined(made.token(left).begin(), made.token(left).end());
      joined.insert(joined.end(), made.token(right).begin(), made.token(right).end());
      made.add_token(joined);
      made.add_merge(left, right, id);
    }
    return made;
  }

  // Tokens by id and merges (left id, right id, made id) in the order of their ranks, as tokenizer.json
  // has them: ids are in any order, entries may be made by several merges or by none, and may be empty
  // (gaps). With `whole_tokens_first`, a pre-token that is an entry becomes that entry.
  static Vocabulary from_parts(std::span<const std::string_view> tokens, std::span<const std::array<Id, 3>> merges,
                               bool whole_tokens_first) {
    Vocabulary made(merges.size());
    std::unordered_map<std::string_view, Id> ids;
    for (const std::string_view token : tokens) {
      if (!token.empty()) ids.emplace(token, static_cast<Id>(made.size()));
      made.add_token({reinterpret_cast<const Byte*>(token.data()), token.size()});
    }
    made.find_bytes(ids);
    for (const auto& [left, right, id] : merges) {
      if (left >= tokens.size() || right >= tokens.size() || id >= tokens.size()) {
        throw std::invalid_argument("merge " + std::to_string(made.made_.size()) + " refers to an id that does not exist");
      }
      if (std::string(tokens[left]).append(tokens[right]) != tokens[id]) {
        throw std::invalid_argument("merge " + std::to_string(made.made_.size()) + " does not make its token");
      }
      made.add_merge(left, right, id);
    }
    if (whole_tokens_first) made.whole_tokens_ = made.tokens_by_text();
    return made;
  }

  // Tokens by rank, as tiktoken reads them: a pre-token that is a token becomes that token; else two
  // neighbours merge when their bytes together are a token, the smallest rank first. So each token is
  // entered under every way to cut it into two tokens.
  static Vocabulary from_ranks(std::span<const std::string_view> tokens) {
    Vocabulary made(tokens.size() * 2);
    std::unordered_map<std::string_view, Id> ids;
    ids.reserve(tokens.size());
    for (const std::string_view token : tokens) {
      const Id id = static_cast<Id>(made.size());
      if (token.empty()) throw std::invalid_argument("token " + std::to_string(id) + " is empty");
      if (!ids.emplace(token, id).second) throw std::invalid_argument("token " + std::to_string(id) + " occurs twice");
      made.add_token({reinterpret_cast<const Byte*>(token.data()), token.size()});
    }
    made.find_bytes(ids);
    for (Id id = 0; id < tokens.size(); ++id) {
      const std::string_view token = tokens[id];
      made.made_.push_back(id);  // the rank of a token is its id
      for (std::size_t cut = 1; cut < token.size(); ++cut) {
        const auto left = ids.find(token.substr(0, cut));
        if (left == ids.end()) continue;
        const auto right = ids.find(token.substr(cut));
        if (right != ids.end()) made.pairs_.insert(left->second, right->second, id);
      }
    }
    made.whole_tokens_ = made.tokens_by_text();
    return made;
  }

  std::size_t size() const { return starts_.size() - 1; }
  Bytes token(Id id) const { return {bytes_.data() + starts_[id], starts_[id + 1] - starts_[id]}; }
  std::size_t token_length(Id id) const { return starts_[id + 1] - starts_[id]; }
  Id byte_id(Byte byte) const { return byte_ids_[byte]; }

  // The rank of the merge of a pair, or kNoRank.
  Rank rank(Id left, Id right) const { return pairs_.find(left, right); }

  // The id that the merge of a rank makes.
  Id made(Rank rank) const { return made_[rank]; }

  // The entry that a whole pre-token becomes before any merge, where there is one.
  std::optional<Id> whole_token(Bytes pretoken) const {
    if (whole_tokens_.empty()) return std::nullopt;
    const auto found = whole_tokens_.find(std::string(reinterpret_cast<const char*>(pretoken.data()), pretoken.size()));
    return found == whole_tokens_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  using TokensByText = std::unordered_map<std::string, Id>;

  static constexpr std::size_t kMostBytes = std::size_t{1} << 28;

  explicit Vocabulary(std::size_t expected_pairs) : pairs_(expected_pairs) {}

  void find_bytes(const std::unordered_map<std::string_view, Id>& ids) {
    for (std::size_t value = 0; value < kNumBytes; ++value) {
      const char byte = static_cast<char>(value);
      const auto found = ids.find(std::string_view(&byte, 1));
      if (found == ids.end()) throw std::invalid_argument("no token for the byte " + std::to_string(value));
      byte_ids_[value] = found->second;
    }
  }

  void add_merge(Id left, Id right, Id id) {
    pairs_.insert(left, right, static_cast<Rank>(made_.size()));
    made_.push_back(id);
  }

  TokensByText tokens_by_text() const {
    TokensByText found;
    found.reserve(size());
    for (Id id = 0; id < size(); ++id) {
      const Bytes text = token(id);
      if (text.size() > 1) found.emplace(std::string(reinterpret_cast<const char*>(text.data()), text.size()), id);
    }
    return found;
  }

  void add_token(Bytes token) {
    // A handful of merges can double a token to any size.
    if (token.size() > kMostBytes - bytes_.size()) throw std::length_error("the tokens together have more than 256 MB");
    bytes_.insert(bytes_.end(), token.begin(), token.end());
    starts_.push_back(bytes_.size());
  }

  std::vector<Byte> bytes_;
  std::vector<std::size_t> starts_{0};
  std::array<Id, kNumBytes> byte_ids_{};
  PairMap pairs_;  // → rank
  std::vector<Id> made_;
  TokensByText whole_tokens_;
};

}  // namespace tokbench
