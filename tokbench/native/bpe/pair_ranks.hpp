// An open-addressing hash table from a pair of ids to the rank of its merge, with one 64-bit word per pair.
#pragma once

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <vector>

#include "common/compiler.hpp"
#include "common/zeroed_table.hpp"
#include "pair_map.hpp"

namespace tokbench {

// The position of a merge in the order of application; the lowest rank is merged first.
using Rank = std::uint32_t;

struct PairRank {
  Id left;
  Id right;
  Rank rank;
};

class PairRanks {
 public:
  static constexpr Rank kNone = PairMap::kAbsent;

  PairRanks() : PairRanks(0, true) {}

  // An empty table with room for these pairs.
  static PairRanks of_pairs(std::span<const PairRank> pairs) {
    const auto is_narrow = [](const PairRank& pair) { return fits(std::max(pair.left, pair.right), pair.rank); };
    return {pairs.size(), std::ranges::all_of(pairs, is_narrow)};
  }

  // An empty table with room for `expected` pairs of ids below `num_ids`, with ranks below `num_ids`.
  static PairRanks of_ids(std::size_t expected, std::size_t num_ids) {
    return {expected, num_ids <= kRankMask && (num_ids == 0 || fits(static_cast<Id>(num_ids - 1), 0))};
  }

  // Inserts a pair unless it is present; returns whether it was inserted. There must be no more pairs than expected.
  bool insert(const PairRank& entry) {
    const auto& [left, right, rank] = entry;
    if (wide_) return wide_->insert(left, right, rank);
    const std::uint64_t pair = packed(left, right), hash = hash_of(pair);
    std::size_t i = first_slot(hash);
    while (slots_[i] != kFree && slots_[i] >> kRankBits != pair) i = (i + 1) & (num_slots_ - 1);
    if (slots_[i] != kFree) return false;
    slots_[i] = pair << kRankBits | (rank + 1);
    filter_[bit(hash) / 64] |= std::uint64_t{1} << bit(hash) % 64;
    return true;
  }

  // A table without memory and without pairs.
  static PairRanks none() { return {0, false}; }

  // Whether one 64-bit word per pair is enough.
  bool is_narrow() const { return num_slots_ != 0; }

  // A lookup in progress, for narrow tables only. Most pairs that are looked up do not merge; a filter, which fits into the
  // cache where the slots do not, rejects nine tenths of these by redirecting them to the slot after the last one, which is
  // always free.
  struct Question {
    std::uint64_t pair;
    std::size_t slot;
  };
  Question ask(Id left, Id right) const {
    const std::uint64_t pair = packed(left, right), hash = hash_of(pair);
    const bool may_merge = (filter_[bit(hash) / 64] >> (bit(hash) % 64) & 1) != 0;
    const std::size_t slot = may_merge ? first_slot(hash) : num_slots_;
    prefetch(&slots_[slot]);
    return {pair, slot};
  }

  // The rank that was looked up, or kNone. If several lookups are started before the first one is finished, their memory
  // accesses overlap.
  Rank answer(const Question& asked) const {
    std::uint64_t slot = slots_[asked.slot];
    for (std::size_t i = asked.slot; slot != kFree && slot >> kRankBits != asked.pair;) [[unlikely]] {
      i = (i + 1) & (num_slots_ - 1);
      slot = slots_[i];
    }
    return static_cast<Rank>(slot & kRankMask) - 1;  // kNone for a free slot
  }

  Rank find_narrow(Id left, Id right) const { return answer(ask(left, right)); }

  // The same for a wide table.
  Rank find_wide(Id left, Id right) const { return wide_->find(left, right); }

 private:
  // Two ids and a rank fit into 64 bits; vocabularies of more than two million tokens need a wide table.
  static constexpr unsigned kIdBits = 21, kRankBits = 22;
  static constexpr std::uint64_t kRankMask = (1u << kRankBits) - 1;
  static constexpr std::uint64_t kFree = 0;  // ranks are stored plus 1
  static_assert(static_cast<Rank>(kFree) - 1 == kNone);
  static constexpr std::size_t kSlotsPerPair = 8;

  PairRanks(std::size_t expected, bool fit) {
    if (!fit) {
      wide_.emplace(expected);
      return;
    }
    num_slots_ = std::bit_ceil(expected * kSlotsPerPair / 4 + 1);  // at least one slot stays free, where searches end
    num_bits_ = std::bit_ceil(std::max<std::size_t>(expected * 8, 64));
    slots_ = ZeroedTable<std::uint64_t>(num_slots_ + 1);
    filter_ = ZeroedTable<std::uint64_t>(num_bits_ / 64);
  }

  static bool fits(Id largest, Rank rank) { return largest >> kIdBits == 0 && rank < kRankMask; }
  static std::uint64_t packed(Id left, Id right) { return static_cast<std::uint64_t>(left) << kIdBits | right; }
  static std::uint64_t hash_of(std::uint64_t pair) { return fold_multiply(pair, 0x9E3779B97F4A7C15u); }
  std::size_t first_slot(std::uint64_t hash) const { return static_cast<std::size_t>(hash) & (num_slots_ - 1); }
  std::size_t bit(std::uint64_t hash) const { return static_cast<std::size_t>(hash >> 32) & (num_bits_ - 1); }

  std::size_t num_slots_ = 0, num_bits_ = 0;
  ZeroedTable<std::uint64_t> slots_;
  ZeroedTable<std::uint64_t> filter_;
  std::optional<PairMap> wide_;
};

}  // namespace tokbench
