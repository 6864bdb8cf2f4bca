// The vocabulary of a byte-level BPE: the bytes of each id, and the pairs that merge, with their ranks and merged ids.
//
// A vocabulary of ranks merges by the bytes of tokens at first, because building a table of pairs takes longer than encoding a
// short text. completed() in reachable.hpp builds a faster vocabulary with the same results.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "byte_pairs.hpp"
#include "common/compiler.hpp"
#include "common/utf8.hpp"
#include "encoding/whole_tokens.hpp"
#include "pair_ranks.hpp"

namespace tokbench {

class Vocabulary {
 public:
  static constexpr std::size_t kNumBytes = 256;
  static constexpr std::size_t kPadding = 16;  // readable bytes after the last token
  static constexpr Rank kNoRank = PairRanks::kNone;

  // The 256 bytes, then one token per merge.
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
    made.bytes_.insert(made.bytes_.end(), kPadding, 0);
    made.finish(pairs);
    return made;
  }

  // Tokens by id and merges (left id, right id, merged id) in the order of their ranks, as in a tokenizer.json: ids in any
  // order; tokens that several merges or none produce; empty tokens (gaps). With `whole_tokens_first`, a pre-token that is a
  // token becomes that token without merging.
  static Vocabulary from_parts(std::span<const std::string_view> tokens, std::span<const std::array<Id, 3>> merges,
                               bool whole_tokens_first) {
    Vocabulary made;
    made.add_tokens(tokens);
    std::vector<PairRank> pairs;
    pairs.reserve(merges.size());
    for (const auto& [left, right, id] : merges) {
      if (left >= tokens.size() || right >= tokens.size() || id >= tokens.size()) {
        throw std::invalid_argument("merge " + std::to_string(made.made_.size()) + " refers to an id that does not exist");
      }
      const std::string_view token = tokens[id];
      if (token.size() != tokens[left].size() + tokens[right].size() || !token.starts_with(tokens[left]) ||
          !token.ends_with(tokens[right])) {
        throw std::invalid_argument("merge " + std::to_string(made.made_.size()) + " does not make its token");
      }
      made.add_merge(pairs, left, right, id);
    }
    made.whole_tokens_first_ = whole_tokens_first;
    made.finish(pairs);
    return made;
  }

  // Tokens by rank (empty for a gap), as in tiktoken: a pre-token that is a token becomes that token; otherwise two adjacent
  // symbols merge if their concatenated bytes are a token, the lowest rank first.
  static Vocabulary from_ranks(std::span<const std::string_view> tokens) {
    Vocabulary made;
    made.add_tokens(tokens);
    made.num_ranks_ = tokens.size();
    made.whole_tokens_first_ = true;
    made.merges_by_bytes_ = true;
    made.pairs_ = PairRanks::none();
    if (const auto repeated = made.enter_whole_tokens()) {
      throw std::invalid_argument("token " + std::to_string(*repeated) + " occurs twice");
    }
    return made;
  }

  std::size_t size() const { return starts_.size() - 1; }
  Bytes token(Id id) const { return {bytes_.data() + starts_[id], starts_[id + 1] - starts_[id]}; }
  std::size_t token_length(Id id) const { return starts_[id + 1] - starts_[id]; }
  Id byte_id(Byte byte) const { return byte_ids_[byte]; }

  // The rank of a pair, or kNoRank. (Not inlined: the calling loops have no registers to spare.)
  TOKBENCH_NEVER_INLINE Rank rank(Id left, Id right) const {
    if (pairs_.is_narrow()) [[likely]] return pairs_.find_narrow(left, right);
    return merges_by_bytes_ ? rank_by_bytes(left, right) : pairs_.find_wide(left, right);
  }

  // A lookup in progress. If several are started before the first one is finished, their memory accesses overlap.
  using Question = PairRanks::Question;

  // Starts lookups of each symbol with the next one; `asked` has room for one less than there are symbols.
  TOKBENCH_NEVER_INLINE void ask_for_neighbours(std::span<const Id> symbols, Question* asked) const {
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) asked[i] = ask(symbols[i], symbols[i + 1]);
  }

  // Starts lookups of a symbol with the one before it and with the one after it.
  TOKBENCH_NEVER_INLINE void ask_beside(Id before, Id symbol, Id after, Question* asked) const {
    asked[0] = ask(before, symbol);
    asked[1] = ask(symbol, after);
  }

  // Finishes a lookup: the rank, or kNoRank.
  Rank answer(const Question& asked) const {
    if (!pairs_.is_narrow()) [[unlikely]] return static_cast<Rank>(asked.pair);
    return pairs_.answer(asked);
  }

  const BytePair& byte_pair(Byte left, Byte right) const { return byte_pairs_(left, right); }
  std::uint32_t rounded_down(Rank rank) const { return byte_pairs_.rounded_down(rank); }
  std::size_t num_ranks() const { return num_ranks_; }

  // The id that the merge of a rank produces.
  Id made(Rank rank) const { return made_in_order_ ? rank + first_made_ : made_[rank]; }

  // Whether two symbols merge if their concatenated bytes are a token, because there is no table of pairs.
  bool merges_by_bytes() const { return merges_by_bytes_; }

  // Starts an empty table of pairs, which are then added in the order of their ranks. At any time, only the pairs that were
  // added merge.
  void begin_pairs() {
    begin_pairs(PairRanks::of_ids(size(), size()));
    merges_by_bytes_ = false;
  }
  void add_pair(const PairRank& pair) {
    if (pairs_.insert(pair)) byte_pairs_.add(pair, made(pair.rank), token(made(pair.rank)), byte_ids_);
  }
  void end_pairs() { byte_pairs_.end(); }

  // The token that a whole pre-token becomes, if that is known without merging; `hash` is hash_of(pretoken).
  std::optional<Id> whole_token(Bytes pretoken, std::uint64_t hash) const {
    return whole_tokens_.find(pretoken, hash, [this](Id id) { return token(id); });
  }

  // Prefetches the memory that whole_token() reads.
  void fetch_whole_token(std::uint64_t hash) const { whole_tokens_.fetch(hash); }

 private:
  void begin_pairs(PairRanks pairs) {
    pairs_ = std::move(pairs);
    byte_pairs_.begin(size(), num_ranks_);
  }

  static constexpr std::size_t kMostBytes = std::size_t{1} << 28;
  static constexpr std::size_t kMostJoined = 256;

  void add_tokens(std::span<const std::string_view> tokens) {
    std::size_t num_bytes = kPadding;
    for (const std::string_view token : tokens) num_bytes += std::min(token.size(), kMostBytes);
    bytes_.reserve(std::min(num_bytes, kMostBytes + kPadding));
    starts_.reserve(tokens.size() + 1);
    std::array<bool, kNumBytes> is_there{};
    for (const std::string_view token : tokens) {
      const Bytes bytes{reinterpret_cast<const Byte*>(token.data()), token.size()};
      if (bytes.size() == 1 && !is_there[bytes.front()]) {
        is_there[bytes.front()] = true;
        byte_ids_[bytes.front()] = static_cast<Id>(size());
      }
      add_token(bytes);
    }
    const auto missing = std::find(is_there.begin(), is_there.end(), false);
    if (missing != is_there.end()) {
      throw std::invalid_argument("no token for the byte " + std::to_string(missing - is_there.begin()));
    }
    bytes_.insert(bytes_.end(), kPadding, 0);
  }

  void add_merge(std::vector<PairRank>& pairs, Id left, Id right, Id id) {
    pairs.push_back({left, right, static_cast<Rank>(made_.size())});
    made_.push_back(id);
  }

  void add_token(Bytes token) {
    // A few merges can double a token to any size.
    if (token.size() > kMostBytes - bytes_.size()) throw std::length_error("the tokens together have more than 256 MB");
    bytes_.insert(bytes_.end(), token.begin(), token.end());
    starts_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }

  void finish(std::span<const PairRank> pairs) {
    if (whole_tokens_first_) enter_whole_tokens();
    num_ranks_ = made_.size();
    first_made_ = made_.empty() ? 0 : made_.front();
    for (Rank rank = 0; rank < made_.size(); ++rank) made_in_order_ &= made_[rank] == rank + first_made_;
    begin_pairs(PairRanks::of_pairs(pairs));
    for (const PairRank& pair : pairs) add_pair(pair);
    end_pairs();
  }

  Question ask(Id left, Id right) const {
    if (!pairs_.is_narrow()) [[unlikely]] return {rank(left, right), 0};
    return pairs_.ask(left, right);
  }

  // Registers each token for whole_token(); returns the first one that repeats the bytes of an earlier one.
  std::optional<Id> enter_whole_tokens() {
    whole_tokens_ = WholeTokens(size());
    std::optional<Id> repeated;
    for (Id id = 0; id < size(); ++id) {
      const Bytes bytes = token(id);
      if (bytes.empty()) continue;
      const bool is_first = whole_tokens_.insert(bytes, hash_of_padded(bytes), id, [this](Id other) { return token(other); });
      if (!is_first && !repeated) repeated = id;
      longest_ = std::max(longest_, bytes.size());
    }
    return repeated;
  }

  // The rank of a pair in a vocabulary of ranks: the id of its concatenated bytes.
  TOKBENCH_NEVER_INLINE Rank rank_by_bytes(Id left, Id right) const {
    const std::size_t size = token_length(left) + token_length(right);
    if (size > longest_) return kNoRank;
    if (size > kMostJoined) return rank_of_joined(left, right, std::vector<Byte>(size).data());
    Byte joined[kMostJoined];
    return rank_of_joined(left, right, joined);
  }

  Rank rank_of_joined(Id left, Id right, Byte* joined) const {
    const Bytes first = token(left), second = token(right);
    const Bytes bytes{joined, first.size() + second.size()};
    std::ranges::copy(second, std::ranges::copy(first, joined).out);
    return whole_token(bytes, hash_of(bytes)).value_or(kNoRank);
  }

  std::vector<Byte> bytes_;
  std::vector<std::uint32_t> starts_{0};
  std::array<Id, kNumBytes> byte_ids_{};
  PairRanks pairs_;
  BytePairs byte_pairs_;
  std::size_t num_ranks_ = 0;
  std::vector<Id> made_;
  bool made_in_order_ = true;  // merged ids are consecutive, the usual case, and need no lookup
  Id first_made_ = 0;
  bool whole_tokens_first_ = false;
  bool merges_by_bytes_ = false;
  std::size_t longest_ = 0;  // size of the longest token in bytes, if symbols merge by bytes
  WholeTokens whole_tokens_;
};

}  // namespace tokbench
