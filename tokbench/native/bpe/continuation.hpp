// Extends a byte-level BPE: learns further merges from words that are already split into the tokens of a vocabulary.
//
// Each merge gets the next id. A pair whose concatenated bytes are already a token, or must not become one, is skipped.
#pragma once

#include <deque>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "trainer.hpp"

namespace tokbench {

// Word i is ids[offsets[i]:offsets[i + 1]].
struct CutWords {
  std::span<const Id> ids;
  std::span<const std::int64_t> offsets;
  std::span<const std::int64_t> counts;

  // Throws std::invalid_argument for offsets out of range, counts below 1 and ids without a token.
  void check(std::span<const std::string_view> tokens) const {
    if (offsets.size() != counts.size() + 1) throw std::invalid_argument("there must be one offset more than counts");
    if (offsets[0] < 0) throw std::invalid_argument("an offset is negative");
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const bool is_inside = offsets[i + 1] >= offsets[i] && static_cast<std::size_t>(offsets[i + 1]) <= ids.size();
      if (!is_inside) throw std::invalid_argument("word " + std::to_string(i) + " ends where no word can");
      if (counts[i] < 1) throw std::invalid_argument("word " + std::to_string(i) + " has a count below 1");
    }
    for (const Id id : ids) {
      if (id >= tokens.size() || tokens[id].empty()) throw std::invalid_argument("id " + std::to_string(id) + " has no token");
    }
  }

  template <class Sink>
  void for_each(const Sink& sink) const {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const auto start = static_cast<std::size_t>(offsets[i]);
      sink(ids.subspan(start, static_cast<std::size_t>(offsets[i + 1]) - start), counts[i]);
    }
  }
};

struct ContinuationOptions {
  TrainerOptions training;
  std::size_t max_words;      // highest number of space-separated words in a new token; 0 for no limit
  std::string_view excluded;  // bytes that no new token may contain
};

// The bytes of all tokens, and the rules for new ones. (Ordered containers: crafted tokens cannot cause hash collisions.)
class GrowingVocabulary {
 public:
  GrowingVocabulary(std::span<const std::string_view> tokens, std::size_t max_words, std::string_view excluded)
      : max_words_(max_words), excluded_(excluded), tokens_(tokens.begin(), tokens.end()), known_(tokens.begin(), tokens.end()) {}

  bool allows(Id left, Id right) const {
    const std::string joined = join(left, right);
    if (max_words_ != 0 && num_words(joined) > max_words_) return false;
    if (!excluded_.empty() && joined.find(excluded_) != std::string::npos) return false;
    return !known_.contains(joined);
  }

  Id add(Id left, Id right) {
    made_.push_back(join(left, right));
    tokens_.push_back(made_.back());
    known_.insert(made_.back());
    return static_cast<Id>(tokens_.size() - 1);
  }

  std::vector<std::size_t> lengths() const {
    std::vector<std::size_t> lengths;
    for (const std::string_view token : tokens_) lengths.push_back(token.size());
    return lengths;
  }

 private:
  std::string join(Id left, Id right) const {
    std::string joined(tokens_[left]);
    return joined.append(tokens_[right]);
  }

  static std::size_t num_words(std::string_view token) {
    std::size_t words = 0;
    for (std::size_t i = 0; i < token.size(); ++i) words += token[i] != ' ' && (i == 0 || token[i - 1] == ' ');
    return words;
  }

  std::size_t max_words_;
  std::string_view excluded_;
  std::vector<std::string_view> tokens_;
  std::set<std::string_view> known_;
  std::deque<std::string> made_;  // owns the bytes of new tokens, which tokens_ and known_ refer to
};

// Symbol must be able to hold the ids of all requested merges. The given tokens must outlive this object.
template <class Symbol>
class ContinuationOf {
 public:
  static constexpr std::size_t kMostTokens = std::size_t{1} << (8 * std::min<std::size_t>(sizeof(Symbol), 4));

  ContinuationOf(const CutWords& words, std::span<const std::string_view> tokens, const ContinuationOptions& options)
      : num_merges_(options.training.num_merges),
        vocabulary_(tokens, options.max_words, options.excluded),
        trainer_([&](const auto& sink) { words.for_each(sink); },
                 {tokens.size(), options.training.num_merges, options.training.min_frequency,
                  options.training.max_token_length, options.training.seed},
                 vocabulary_.lengths()) {}

  // Learns the next merge; returns false if no pair is left that may be merged.
  bool step() {
    if (merges_.size() >= num_merges_) return false;
    return trainer_.step(
        [&](Id left, Id right, std::int64_t count) {
          merges_.push_back({left, right, count});
          return MadeSymbol{vocabulary_.add(left, right), true};
        },
        [&](Id left, Id right) { return vocabulary_.allows(left, right); });
  }

  const std::vector<Merge>& merges() const { return merges_; }
  std::int64_t num_tokens() const { return trainer_.num_tokens(); }

 private:
  std::size_t num_merges_;
  std::vector<Merge> merges_;
  GrowingVocabulary vocabulary_;
  FrequencyTrainer<Symbol> trainer_;
};

}  // namespace tokbench
