// What each id stands for, and which pairs merge into which id.
#pragma once

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pair_map.hpp"
#include "utf8.hpp"

namespace tokbench {

class Vocabulary {
 public:
  static constexpr std::size_t kNumBytes = 256;

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
      made.pairs_.insert(left, right, id);
    }
    return made;
  }

  // Tokens by rank, as tiktoken reads them: two neighbours merge when their bytes together are a token,
  // the smallest rank first. So each token is entered under every way to cut it into two tokens.
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
    for (std::size_t value = 0; value < kNumBytes; ++value) {
      const char byte = static_cast<char>(value);
      const auto found = ids.find(std::string_view(&byte, 1));
      if (found == ids.end()) throw std::invalid_argument("no token for the byte " + std::to_string(value));
      made.byte_ids_[value] = found->second;
    }
    for (const std::string_view token : tokens) {
      const Id id = ids.at(token);
      for (std::size_t cut = 1; cut < token.size(); ++cut) {
        const auto left = ids.find(token.substr(0, cut));
        if (left == ids.end()) continue;
        const auto right = ids.find(token.substr(cut));
        if (right != ids.end()) made.pairs_.insert(left->second, right->second, id);
      }
    }
    return made;
  }

  std::size_t size() const { return starts_.size() - 1; }
  Bytes token(Id id) const { return {bytes_.data() + starts_[id], starts_[id + 1] - starts_[id]}; }
  std::size_t token_length(Id id) const { return starts_[id + 1] - starts_[id]; }
  Id byte_id(Byte byte) const { return byte_ids_[byte]; }

  // The id that the pair merges into, or PairMap::kAbsent. Smaller ids are merged first.
  Id merged(Id left, Id right) const { return pairs_.find(left, right); }

 private:
  explicit Vocabulary(std::size_t expected_pairs) : pairs_(expected_pairs) {}

  void add_token(Bytes token) {
    bytes_.insert(bytes_.end(), token.begin(), token.end());
    starts_.push_back(bytes_.size());
  }

  std::vector<Byte> bytes_;
  std::vector<std::size_t> starts_{0};
  std::array<Id, kNumBytes> byte_ids_{};
  PairMap pairs_;
};

}  // namespace tokbench
