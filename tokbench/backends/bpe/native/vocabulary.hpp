// What each id stands for, which pairs merge, in which order and into which id.
#pragma once

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "byte_pairs.hpp"
#include "pair_ranks.hpp"
#include "utf8.hpp"
#include "whole_tokens.hpp"

namespace tokbench {

class Vocabulary {
 public:
  static constexpr std::size_t kNumBytes = 256;
  static constexpr std::size_t kPadding = 16;  // bytes that are readable behind the last token
  static constexpr Rank kNoRank = PairRanks::kNone;

  // The 256 bytes, then one token for each merge; a pair merges only as it was learned.
  static Vocabulary from_merges(std::span<const std::array<Id, 2>> merges) {
    Vocabulary made;
    for (std::size_t value = 0; value < kNumBytes; ++value) {
      const Byte byte = static_cast<Byte>(value);
      made.byte_ids_[value] = static_cast<Id>(value);
      made.add_token({&byte, 1});
    }
    std::vector<PairRank> pairs;
    pairs.reserve(merges.size());
    for (const auto& [left, right] : merges) {
      const Id id = static_cast<Id>(made.size());
      if (left >= id || right >= id) {
        throw std::invalid_argument("merge " + std::to_string(id - kNumBytes) + " refers to an id that is not made yet");
      }
      std::vector<Byte> joined(made.token(left).begin(), made.token(left).end());
      joined.insert(joined.end(), made.token(right).begin(), made.token(right).end());
      made.add_token(joined);
      made.add_merge(pairs, left, right, id);
    }
    made.finish(pairs);
    return made;
  }

  // Tokens by id and merges (left id, right id, made id) in the order of their ranks, as tokenizer.json
  // has them: ids are in any order, entries may be made by several merges or by none, and may be empty
  // (gaps). With `whole_tokens_first`, a pre-token that is an entry becomes that entry.
  static Vocabulary from_parts(std::span<const std::string_view> tokens, std::span<const std::array<Id, 3>> merges,
                               bool whole_tokens_first) {
    Vocabulary made;
    std::unordered_map<std::string_view, Id> ids;
    for (const std::string_view token : tokens) {
      if (!token.empty()) ids.emplace(token, static_cast<Id>(made.size()));
      made.add_token({reinterpret_cast<const Byte*>(token.data()), token.size()});
    }
    made.find_bytes(ids);
    std::vector<PairRank> pairs;
    pairs.reserve(merges.size());
    for (const auto& [left, right, id] : merges) {
      if (left >= tokens.size() || right >= tokens.size() || id >= tokens.size()) {
        throw std::invalid_argument("merge " + std::to_string(made.made_.size()) + " refers to an id that does not exist");
      }
      if (std::string(tokens[left]).append(tokens[right]) != tokens[id]) {
        throw std::invalid_argument("merge " + std::to_string(made.made_.size()) + " does not make its token");
      }
      made.add_merge(pairs, left, right, id);
    }
    made.whole_tokens_first_ = whole_tokens_first;
    made.finish(pairs);
    return made;
  }

  // Tokens by rank, as tiktoken reads them: a pre-token that is a token becomes that token; else two
  // neighbours merge when their bytes together are a token, the smallest rank first. So each token is
  // entered under every way to cut it into two tokens.
  static Vocabulary from_ranks(std::span<const std::string_view> tokens) {
    Vocabulary made;
    std::unordered_map<std::string_view, Id> ids;
    ids.reserve(tokens.size());
    for (const std::string_view token : tokens) {
      const Id id = static_cast<Id>(made.size());
      if (token.empty()) throw std::invalid_argument("token " + std::to_string(id) + " is empty");
      if (!ids.emplace(token, id).second) throw std::invalid_argument("token " + std::to_string(id) + " occurs twice");
      made.add_token({reinterpret_cast<const Byte*>(token.data()), token.size()});
    }
    made.find_bytes(ids);
    std::vector<PairRank> pairs;
    pairs.reserve(tokens.size() * 2);
    for (Id id = 0; id < tokens.size(); ++id) {
      const std::string_view token = tokens[id];
      made.made_.push_back(id);  // the rank of a token is its id
      for (std::size_t cut = 1; cut < token.size(); ++cut) {
        const auto left = ids.find(token.substr(0, cut));
        if (left == ids.end()) continue;
        const auto right = ids.find(token.substr(cut));
        if (right != ids.end()) pairs.push_back({left->second, right->second, id});
      }
    }
    made.whole_tokens_first_ = true;
    made.finish(pairs);
    return made;
  }

  std::size_t size() const { return starts_.size() - 1; }
  Bytes token(Id id) const { return {bytes_.data() + starts_[id], starts_[id + 1] - starts_[id]}; }
  std::size_t token_length(Id id) const { return starts_[id + 1] - starts_[id]; }
  Id byte_id(Byte byte) const { return byte_ids_[byte]; }

  // The rank of the merge of a pair, or kNoRank.
  Rank rank(Id left, Id right) const { return pairs_.find(left, right); }
  const BytePair& byte_pair(Byte left, Byte right) const { return byte_pairs_(left, right); }
  std::size_t num_ranks() const { return made_.size(); }

  // The id that the merge of a rank makes.
  Id made(Rank rank) const { return made_in_order_ ? rank + first_made_ : made_[rank]; }

  // Leaves out all pairs but these, and has the bytes of tokens[i] become ids[i] at once: both must change nothing.
  void simplify(std::span<const PairRank> pairs, std::span<const Id> tokens, std::span<const Id> ids) {
    set_pairs(pairs);
    if (!whole_tokens_first_) set_whole_tokens(tokens, ids);
  }

  // The entry that a whole pre-token becomes, where it is known to; `hash` is hash_of() it.
  std::optional<Id> whole_token(Bytes pretoken, std::uint64_t hash) const {
    return whole_tokens_.find(pretoken, hash, [this](Id id) { return token(id); });
  }

  // Where that is looked up, to be fetched beforehand.
  const void* place_of_whole_token(std::uint64_t hash) const { return whole_tokens_.place_of(hash); }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 28;

  void find_bytes(const std::unordered_map<std::string_view, Id>& ids) {
    for (std::size_t value = 0; value < kNumBytes; ++value) {
      const char byte = static_cast<char>(value);
      const auto found = ids.find(std::string_view(&byte, 1));
      if (found == ids.end()) throw std::invalid_argument("no token for the byte " + std::to_string(value));
      byte_ids_[value] = found->second;
    }
  }

  void add_merge(std::vector<PairRank>& pairs, Id left, Id right, Id id) {
    pairs.push_back({left, right, static_cast<Rank>(made_.size())});
    made_.push_back(id);
  }

  void add_token(Bytes token) {
    // A handful of merges can double a token to any size.
    if (token.size() > kMostBytes - bytes_.size()) throw std::length_error("the tokens together have more than 256 MB");
    bytes_.insert(bytes_.end(), token.begin(), token.end());
    starts_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }

  void finish(std::span<const PairRank> pairs) {
    bytes_.insert(bytes_.end(), kPadding, 0);
    std::vector<Id> all;
    for (Id id = 0; whole_tokens_first_ && id < size(); ++id) {
      if (token_length(id) != 0) all.push_back(id);
    }
    set_whole_tokens(all, all);
    set_pairs(pairs);
    first_made_ = made_.empty() ? 0 : made_.front();
    made_in_order_ = true;
    for (Rank rank = 0; rank < made_.size(); ++rank) made_in_order_ &= made_[rank] == rank + first_made_;
  }

  void set_pairs(std::span<const PairRank> pairs) {
    pairs_ = PairRanks(pairs);
    byte_pairs_.fill(pairs, byte_ids_, size(), [this](Id id) { return token(id); }, [this](Rank rank) { return made_[rank]; });
  }

  // The bytes of tokens[i] become ids[i].
  void set_whole_tokens(std::span<const Id> tokens, std::span<const Id> ids) {
    whole_tokens_ = WholeTokens(tokens.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      whole_tokens_.insert(token(tokens[i]), ids[i], [this](Id id) { return token(id); });
    }
  }

  std::vector<Byte> bytes_;
  std::vector<std::uint32_t> starts_{0};
  std::array<Id, kNumBytes> byte_ids_{};
  PairRanks pairs_;
  BytePairs byte_pairs_;
  std::vector<Id> made_;
  bool made_in_order_ = false;  // as a rule they are, and need not be looked up
  Id first_made_ = 0;
  bool whole_tokens_first_ = false;
  WholeTokens whole_tokens_;
};

}  // namespace tokbench
