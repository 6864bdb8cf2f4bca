// A split program as a deterministic automaton, which finds the same matches while it reads each character of them once.
//
// A state is the list of all ways in which the program may have matched so far, the preferred one first. What may follow a
// character is decided when the next one is known; so a lookahead over one character is part of the transition, and so is what a
// possessive repetition does not give back.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <utility>

#include "letter_runs.hpp"
#include "split_program.hpp"

namespace tokbench {

class SplitAutomaton {
 public:
  // None for a program that looks ahead over more than a character, and for one that needs too many states.
  static std::optional<SplitAutomaton> of(const SplitProgram& program, const CharacterSets& sets);

  // As SplitProgram::match().
  template <SplitUnit Unit>
  const Byte* match(const CharacterSets& sets, const Byte* p, const Byte* end) const {
    return match_over<Unit>(sets, p, end, NoRuns{});
  }

  // The same for characters, skipping runs of letters of the text.
  const Byte* match(const CharacterSets& sets, const Byte* p, const Byte* end, LetterRuns& runs) const {
    return match_over<SplitUnit::Character>(sets, p, end, runs);
  }

  // The number of a state, and whether a match ends before the character that leads to it.
  struct Step {
    std::size_t next;
    bool is_matched;
  };

  static constexpr std::size_t kNoState = 0;  // from which nothing matches
  static constexpr std::size_t kFirst = 1;

  std::size_t num_states() const { return table_.size() / columns_; }

  // What follows in a state for a character of a class, or for the end of the text, whose number is that of the classes.
  Step step(std::size_t state, std::size_t column) const {
    const Transition taken = table_[state * columns_ + column];
    return {(taken & kRow) / columns_, (taken & kMatched) != 0};
  }

  // Whether there is a match at every place of every text. Follows all ways on which nothing has matched yet.
  bool matches_everywhere(const CharacterSets& sets) const {
    std::vector<bool> seen(table_.size() / columns_);
    std::vector<std::size_t> rows = {columns_};
    while (!rows.empty()) {
      const std::size_t row = rows.back();
      rows.pop_back();
      for (std::size_t column = 0; column < columns_; ++column) {
        if (row == columns_ && column + 1 == columns_) continue;  // the empty text has no place
        const Transition taken = table_[row + column];
        if ((taken & kMatched) || (column == sets.malformed() && sets.contains_all())) continue;
        const std::size_t next = taken & kRow;
        if (next == kNone) return false;
        if (seen[next / columns_]) continue;
        seen[next / columns_] = true;
        rows.push_back(next);
      }
    }
    return true;
  }

 private:
  // The number of the next state's row in the table, whether there is a match that ends before the character, and whether all small
  // ASCII letters, and also all capitals, lead from the next state back to it in the same way.
  using Transition = std::uint32_t;

  class Builder;

  static constexpr Transition kMatched = Transition{1} << 31;
  static constexpr Transition kSmallRepeat = Transition{1} << 30;
  static constexpr Transition kCapitalsRepeat = Transition{1} << 29;
  static constexpr Transition kRow = kCapitalsRepeat - 1;
  static constexpr std::size_t kNone = 0;  // the row of the state from which nothing matches; that of the first state comes next

  SplitAutomaton(std::vector<Transition> table, std::size_t columns, const CharacterSets& sets)
      : table_(std::move(table)), columns_(columns), letter_(sets.class_of_ascii('a')) {
    std::vector<Transition> repeats;
    for (std::size_t row = 0; row < table_.size(); row += columns_) repeats.push_back(row == kNone ? 0 : repeats_of(row, sets));
    for (Transition& each : table_) each |= repeats[(each & kRow) / columns_];
  }

  Transition repeats_of(std::size_t row, const CharacterSets& sets) const {
    const Transition own = table_[row + letter_];
    if ((own & kRow) != row) return 0;
    const auto repeat_from = [&](Byte first) {
      return std::ranges::all_of(std::views::iota(0, 26), [&](int i) { return table_[row + sets.class_of_ascii(static_cast<Byte>(first + i))] == own; });
    };
    if (!repeat_from('a')) return 0;
    return kSmallRepeat | (repeat_from('A') ? kCapitalsRepeat : 0);
  }

  // Skips nothing.
  struct NoRuns {
    std::size_t letters(const Byte*) const { return 0; }
    std::size_t small_letters(const Byte*) const { return 0; }
  };

  template <SplitUnit Unit, class Runs>
  TOKBENCH_ALWAYS_INLINE const Byte* match_over(const CharacterSets& sets, const Byte* p, const Byte* end, Runs&& runs) const {
    const Transition* const table = table_.data();
    const Byte* stop = nullptr;  // of the longest match before `at`
    const Byte* at = p;
    Transition last = static_cast<Transition>(columns_);  // taken at `at`
    while (p < end) {
      std::size_t length;
      const Transition taken = table[(last & kRow) + class_at<Unit>(sets, p, end, length)];
      // Most characters repeat the transition before. A branch lets the processor guess that, instead of waiting for the table.
      if (taken != last) {
        if (last & kMatched) stop = at;
        if ((taken & kRow) == kNone) {
          if (taken & kMatched) [[likely]] return p;
          return stop;
        }
        last = taken;
      }
      at = p;
      p += length;
      if (last & kSmallRepeat) {
        const std::size_t run = (last & kCapitalsRepeat) ? runs.letters(p) : runs.small_letters(p);
        if (run == 0) continue;
        const Transition repeated = table[(last & kRow) + letter_];
        if (repeated != last && (last & kMatched)) stop = at;
        last = repeated;
        p += run;
        at = p - 1;
      }
    }
    if (table[(last & kRow) + columns_ - 1] & kMatched) return end;
    return (last & kMatched) ? at : stop;
  }

  std::vector<Transition> table_;
  std::size_t columns_;  // one for each class, and the last one for the end of the text
  CharacterSets::Class letter_;
};

class SplitAutomaton::Builder {
 public:
  Builder(const SplitProgram& program, const CharacterSets& sets)
      : operations_(program.operations()), unit_(program.unit()), sets_(sets), classes_(sets.classes()), newline_(sets.newline()) {}

  std::optional<SplitAutomaton> build() {
    if (!number_ways()) return std::nullopt;
    const std::size_t columns = classes_.size() + 1;
    std::vector<Transition> table(columns, kNone);  // of the state without any way
    std::vector<Ways> known = {Ways{}, Ways{{0, 0}}};
    for (const Ways& each : known) states_.emplace(each, states_.size());
    for (std::size_t state = 1; state < known.size(); ++state) {
      for (std::size_t column = 0; column < columns; ++column) {
        const bool is_matched = follow(known[state], column);
        if (is_undecided_ || steps_ > kMostFollowed) return std::nullopt;
        const auto [entry, is_new] = states_.try_emplace(taken_, known.size());
        if (is_new) known.push_back(taken_);
        table.push_back(static_cast<Transition>(entry->second * columns) | (is_matched ? kMatched : 0));
      }
      if (known.size() * columns > kMostEntries) return std::nullopt;
    }
    return SplitAutomaton(std::move(table), columns, sets_);
  }

 private:
  using Kind = SplitOperation::Kind;

  // One way to have matched so far: it goes on with an operation, which already took some characters. Of an unlimited operation,
  // only as many as it needs are counted.
  struct Way {
    std::uint32_t operation, taken;
    auto operator<=>(const Way&) const = default;
  };
  using Ways = std::vector<Way>;

  enum class Truth { No, Yes, Undecided };

  static constexpr std::size_t kMostWays = std::size_t{1} << 14;
  static constexpr std::size_t kMostEntries = std::size_t{1} << 18;
  static constexpr std::size_t kMostFollowed = std::size_t{1} << 22;
  static constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

  static bool repeats(Kind kind) { return kind == Kind::Characters || kind == Kind::Possessive || kind == Kind::Lazy; }

  // Numbers all ways; false if there are too many.
  bool number_ways() {
    std::size_t size = 0;
    for (const SplitOperation& each : operations_) {
      first_way_.push_back(size);
      size += repeats(each.kind) ? std::size_t{counted(each)} + 1 : 1;
      if (size > kMostWays) return false;
    }
    seen_.resize(size);
    taken_at_.resize(size);
    return true;
  }

  static std::uint32_t counted(const SplitOperation& operation) { return operation.most == kNoLimit ? operation.least : operation.most; }

  // Takes a character of a class, or the end of the text, on each of some ways: taken_ are the ways from there on. Returns whether
  // one of them matched before it; then those after it are not of interest.
  bool follow(const Ways& ways, std::size_t column) {
    column_ = column;
    taken_.clear();
    ++time_;
    return std::ranges::any_of(ways, [&](const Way& way) { return go_on(way); });
  }

  bool go_on(const Way& way) {
    std::size_t& seen = seen_[first_way_[way.operation] + way.taken];
    ++steps_;
    if (std::exchange(seen, time_) == time_) return false;  // it was followed, by a way that is preferred to this one
    const SplitOperation& operation = operations_[way.operation];
    const auto leave = [&] { return go_on({operation.next, 0}); };
    switch (operation.kind) {
      case Kind::Match:
        return true;
      case Kind::Characters:
      case Kind::Possessive:
      case Kind::Lazy: {
        const bool may_take = way.taken < operation.most && is_in(operation.set), may_leave = way.taken >= operation.least;
        if (operation.kind == Kind::Lazy && may_leave && leave()) return true;
        if (may_take) take({way.operation, std::min(way.taken + 1, counted(operation))});
        const bool leaves = operation.kind == Kind::Characters || (operation.kind == Kind::Possessive && !may_take);
        return leaves && may_leave && leave();
      }
      case Kind::Either:
        return leave() || go_on({operation.other, 0});
      case Kind::Ahead:
      case Kind::NotAhead: {
        const Truth truth = is_ahead(operation.other);
        is_undecided_ |= truth == Truth::Undecided;
        return (truth == Truth::Yes) == (operation.kind == Kind::Ahead) && leave();
      }
      case Kind::LineEnd:
        return ends_line() && leave();
    }
    return false;
  }

  void take(const Way& way) {
    if (std::exchange(taken_at_[first_way_[way.operation] + way.taken], time_) != time_) taken_.push_back(way);
  }

  // Whether the operations from a number on match here, as far as the next character tells.
  Truth is_ahead(std::uint32_t number) {
    if (++steps_ > kMostFollowed) return Truth::Undecided;
    const SplitOperation& operation = operations_[number];
    switch (operation.kind) {
      case Kind::Match:
        return Truth::Yes;
      case Kind::Characters:
      case Kind::Possessive:
      case Kind::Lazy: {
        const bool may_take = operation.most > 0 && is_in(operation.set);
        Truth truth = Truth::No;
        if (may_take) truth = operation.least <= 1 && operations_[operation.next].kind == Kind::Match ? Truth::Yes : Truth::Undecided;
        const bool may_leave = operation.least == 0 && !(operation.kind == Kind::Possessive && may_take);
        return may_leave ? either(truth, is_ahead(operation.next)) : truth;
      }
      case Kind::Either:
        return either(is_ahead(operation.next), is_ahead(operation.other));
      case Kind::LineEnd:
        return ends_line() ? is_ahead(operation.next) : Truth::No;
      default:
        return Truth::Undecided;
    }
  }

  static Truth either(Truth one, Truth other) {
    if (one == Truth::Yes || other == Truth::Yes) return Truth::Yes;
    return one == Truth::Undecided ? one : other;
  }

  bool is_in(std::uint32_t set) const { return column_ < classes_.size() && (classes_[column_] >> set & 1) != 0; }
  bool ends_line() const { return column_ == classes_.size() || (unit_ == SplitUnit::Character && column_ == newline_); }

  std::span<const SplitOperation> operations_;
  SplitUnit unit_;
  const CharacterSets& sets_;
  std::span<const SetMask> classes_;
  CharacterSets::Class newline_;
  std::map<Ways, std::size_t> states_;
  std::vector<std::size_t> first_way_;  // the number of each operation's first way
  std::vector<std::size_t> seen_;       // when each way was followed last
  std::vector<std::size_t> taken_at_;   // when a character led to it last
  std::size_t time_ = 0, column_ = 0, steps_ = 0;
  bool is_undecided_ = false;
  Ways taken_;
};

inline std::optional<SplitAutomaton> SplitAutomaton::of(const SplitProgram& program, const CharacterSets& sets) {
  return Builder(program, sets).build();
}

}  // namespace tokbench
