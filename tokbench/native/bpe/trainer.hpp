// Trains a byte-level BPE: learns merges by frequency from pre-token counts, starting from bytes.
#pragma once

#include <memory>
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
  std::size_t max_token_length;   // in bytes; 0 for no limit
  std::uint64_t seed;
  unsigned threads = 1;  // does not affect the result
};

// Symbol must be able to hold the ids of all requested merges; for kStep, see PairMerger.
template <class Symbol, std::size_t kStep = 1>
class TrainerOf {
 public:
  template <class Pretokens>
  TrainerOf(const Pretokens& pretokens, const TrainerOptions& options)
      : num_merges_(options.num_merges),
        trainer_([&](const auto& sink) { pretokens.for_each(sink); },
                 {kNumBytes, options.num_merges, options.min_frequency, options.max_token_length, options.seed, options.threads}) {}

  // Learns the next merge; returns false if no pair is left that may be merged.
  bool step() {
    if (merges_.size() >= num_merges_) return false;
    return trainer_.step([&](Id left, Id right, std::int64_t count) {
      merges_.push_back({left, right, count});
      return MadeSymbol{static_cast<Id>(kNumBytes + merges_.size() - 1), true};
    });
  }

  const std::vector<Merge>& merges() const { return merges_; }

  // The number of tokens of the counted text so far, single-byte pre-tokens included.
  std::int64_t num_tokens() const { return trainer_.num_tokens(); }

 private:
  static constexpr std::size_t kNumBytes = 256;

  std::size_t num_merges_;
  std::vector<Merge> merges_;
  FrequencyTrainer<Symbol, kStep> trainer_;
};

// Uses 16-bit symbols if they can hold all ids, which halves the memory, and wide steps only for very many words.
class Trainer {
 public:
  // `pretokens` must have for_each(sink), which calls sink(bytes, count) for each pre-token, and size(), their number.
  template <class Pretokens>
  Trainer(const Pretokens& pretokens, const TrainerOptions& options) {
    if (options.num_merges <= kMostSmallMerges) {
      begin<std::uint16_t>(pretokens, options);
    } else {
      begin<std::uint32_t>(pretokens, options);
    }
  }

  bool step() {
    return std::visit([](auto& trainer) { return trainer->step(); }, trainer_);
  }
  const std::vector<Merge>& merges() {
    return std::visit([](auto& trainer) -> const std::vector<Merge>& { return trainer->merges(); }, trainer_);
  }
  std::int64_t num_tokens() {
    return std::visit([](auto& trainer) { return trainer->num_tokens(); }, trainer_);
  }

 private:
  static constexpr std::size_t kMostSmallMerges = (1 << 16) - 256;

  template <class Symbol, class Pretokens>
  void begin(const Pretokens& pretokens, const TrainerOptions& options) {
    const auto source = [&](const auto& sink) { pretokens.for_each(sink); };
    if (PairMerger<Symbol>::has_room_for(source, pretokens.size())) {
      trainer_ = std::make_unique<TrainerOf<Symbol>>(pretokens, options);
    } else {
      trainer_ = std::make_unique<TrainerOf<Symbol, kWideStep>>(pretokens, options);
    }
  }

  template <class Symbol, std::size_t kStep = 1>
  using Owned = std::unique_ptr<TrainerOf<Symbol, kStep>>;

  std::variant<Owned<std::uint16_t>, Owned<std::uint32_t>, Owned<std::uint16_t, kWideStep>, Owned<std::uint32_t, kWideStep>>
      trainer_;
};

}  // namespace tokbench
