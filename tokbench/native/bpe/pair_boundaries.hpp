// The outcomes of pairs for at most sixteen classes of characters, so that tables of them fit into registers.
#pragma once

#include <functional>
#include <numeric>

#include "pair_outcomes.hpp"

namespace tokbench {

class PairBoundaries {
 public:
  using Class = std::uint8_t;

  static constexpr std::size_t kMostClasses = 16;

  PairBoundaries(const PairOutcomes& found, const CharacterSets& sets) {
    const std::size_t num_known = set_classes(found, sets);
    outcomes_.fill(kAllOpen);
    const std::vector<std::vector<std::size_t>> members = members_of_classes();
    for (Class before = 0; before < num_known; ++before) {
      for (Class after = 0; after < num_known; ++after) {
        outcomes_[before * kMostClasses + after] = found.outcome(members[before].front(), members[after].front());
      }
    }
    set_run_ends(found, members, num_known);
  }

  std::span<const Class, 128> classes_of_ascii() const { return ascii_; }
  Class class_of(CharacterSets::Class of_sets) const { return classes_[of_sets]; }

  std::span<const PairOutcome, kMostClasses * kMostClasses> outcomes() const { return outcomes_; }

  // As PairOutcomes::run_end().
  RunEnd run_end(bool is_start, Class before, Class run, bool is_long, Class after) const {
    return run_ends_[place(is_start, before, run, is_long, after)];
  }

 private:
  static std::size_t place(bool is_start, Class before, Class run, bool is_long, Class after) {
    return (((std::size_t{is_start} * kMostClasses + before) * kMostClasses + run) * 2 + std::size_t{is_long}) * kMostClasses + after;
  }

  // Merges classes that are alike; returns how many are known. If there are too many, the last one is unknown, and is of those that
  // have the fewest ASCII characters.
  std::size_t set_classes(const PairOutcomes& found, const CharacterSets& sets) {
    std::vector<std::size_t> firsts, num_ascii, group_of(found.num_classes());
    for (std::size_t c = 0; c < group_of.size(); ++c) {
      const auto alike = std::ranges::find_if(firsts, [&](std::size_t first) { return found.are_alike(first, c); });
      group_of[c] = static_cast<std::size_t>(alike - firsts.begin());
      if (alike == firsts.end()) firsts.push_back(c);
    }
    num_ascii.resize(firsts.size());
    for (Byte byte = 0; byte < 128; ++byte) ++num_ascii[group_of[sets.class_of_ascii(byte)]];
    std::vector<std::size_t> order(firsts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater{}, [&](std::size_t group) { return num_ascii[group]; });
    const std::size_t num_known = order.size() <= kMostClasses ? order.size() : kMostClasses - 1;
    std::vector<Class> numbers(firsts.size(), static_cast<Class>(kMostClasses - 1));
    for (std::size_t i = 0; i < num_known; ++i) numbers[order[i]] = static_cast<Class>(i);
    for (const std::size_t group : group_of) classes_.push_back(numbers[group]);
    for (Byte byte = 0; byte < 128; ++byte) ascii_[byte] = classes_[sets.class_of_ascii(byte)];
    return num_known;
  }

  std::vector<std::vector<std::size_t>> members_of_classes() const {
    std::vector<std::vector<std::size_t>> members(kMostClasses);
    for (std::size_t c = 0; c < classes_.size(); ++c) members[classes_[c]].push_back(c);
    return members;
  }

  // Only where a pair is open, and for runs of a class that was not merged.
  void set_run_ends(const PairOutcomes& found, const std::vector<std::vector<std::size_t>>& members, std::size_t num_known) {
    constexpr Class kLast = kMostClasses - 1;
    run_ends_.assign(place(true, kLast, kLast, true, kLast) + 1, RunEnd::Open);
    for (Class before = 0; before < num_known; ++before) {
      for (Class run = 0; run < num_known; ++run) {
        if (members[run].size() != 1 || !(outcomes_[before * kMostClasses + run] & kPairOpen)) continue;
        for (const bool is_start : {false, true}) {
          for (const bool is_long : {false, true}) {
            for (Class after = 0; after < num_known; ++after) {
              RunEnd all = RunEnd::Never;
              for (const std::size_t one : members[before]) {
                for (const std::size_t other : members[after]) all = both(all, found.run_end(is_start, one, members[run].front(), is_long, other));
              }
              run_ends_[place(is_start, before, run, is_long, after)] = all;
            }
          }
        }
      }
    }
  }

  std::array<Class, 128> ascii_;
  std::vector<Class> classes_;  // of each class of the sets
  std::array<PairOutcome, kMostClasses * kMostClasses> outcomes_;
  std::vector<RunEnd> run_ends_;
};

}  // namespace tokbench
