// Byte-level BPE: learns merges from pre-token counts, by frequency, with the bytes as the first symbols.
#pragma once

#include <variant>

#include "training/frequency_trainer.hpp"

namespace tokbench {

struct Merge {
  Id left;
  Id right;
  std::int64_t count;
};

struct TrainerOptions {
  std::size_t num_merges;
  std::int64_t min_frequency;     // at least 1
  std::size_t max_token_length;   // bytes; 0 for no limit
  std::uint64_t seed;
};

// Symbol holds the id of every merge that is asked for.
template <class Symbol>
class TrainerOf {
 public:
  template <class Pretokens>
  TrainerOf(const Pretokens& pretokens, const TrainerOptions& options)
      : num_merges_(options.num_merges),
        trainer_([&](const auto& sink) { pretokens.for_each(sink); },
                 {kNumBytes, options.num_merges, options.min_frequency, options.max_token_length, options.seed}) {}

  // Learns the next merge; false when no pair is left that may be merged.
  bool step() {
    if (merges_.size() >= num_merges_) return false;
    return trainer_.step([&](Id left, Id right, std::int64_t count) {
      merges_.push_back({left, right, count});
      return MadeSymbol{static_cast<Id>(kNumBytes + merges_.size() - 1), true};
    });
  }

  const std::vector<Merge>& merges() const { return merges_; }

  // Tokens that the counted text has become, single-byte pre-tokens included.
  std::int64_t num_tokens() const { return trainer_.num_tokens(); }

 private:
  static constexpr std::size_t kNumBytes = 256;

  std::size_t num_merges_;
  std::vector<Merge> merges_;
  FrequencyTrainer<Symbol> trainer_;
};

// With symbols of 16 bits as long as they hold every id: half the memory, and more words in a cache line.
class Trainer {
 public:
  // Pretokens has for_each(sink), which calls sink(bytes, count) for each pre-token.
  template <class Pretokens>
  Trainer(const Pretokens& pretokens, const TrainerOptions& options) {
    if (options.num_merges <= kMostSmallMerges) {
      trainer_.emplace<Small>(pretokens, options);
    } else {
      trainer_.emplace<Large>(pretokens, options);
    }
  }

  bool step() {
    return small() ? small()->step() : large().step();
  }
  const std::vector<Merge>& merges() {
    return small() ? small()->merges() : large().merges();
  }
  std::int64_t num_tokens() {
    return small() ? small()->num_tokens() : large().num_tokens();
  }

 private:
  using Small = TrainerOf<std::uint16_t>;
  using Large = TrainerOf<std::uint32_t>;
  static constexpr std::size_t kMostSmallMerges = (1 << 16) - 256;

  Small* small() { return std::get_if<Small>(&trainer_); }
  Large& large() { return std::get<Large>(trainer_); }

  std::variant<std::monostate, Small, Large> trainer_;
};

}  // namespace tokbench
