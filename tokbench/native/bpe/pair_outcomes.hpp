// What two neighbouring characters tell about whether a pre-token ends between them, for each two classes of a pattern's sets.
//
// A pre-token is the match that starts where the one before ended. Each state that the automaton can reach by the first of the
// two characters is asked what it does at the second one: its match ends between them, or certainly not there, or that depends on
// what follows. If all these states agree, so does every text. What is still open may be decided by whether the first character
// starts a pre-token, or by what follows a run of the second one.
//
// Some characters spoil this: after an apostrophe, "s" may end a contraction, as no other letter does. They are *rare*: what
// two characters tell holds only for pre-tokens in which no rare character comes before the second one.
#pragma once

#include "split_automaton.hpp"

namespace tokbench {

using PairOutcome = std::uint8_t;  // a combination of the bits below; without the first two, no pre-token ends there

inline constexpr PairOutcome kPairEnds = 1;   // a pre-token ends between the two characters
inline constexpr PairOutcome kPairOpen = 2;   // it is not known
inline constexpr unsigned kAfterStart = 2;    // by how many bits both are shifted for a first character that starts a pre-token
inline constexpr unsigned kAfterOthers = 4;   // and for one that does not
inline constexpr PairOutcome kAllOpen = kPairOpen | kPairOpen << kAfterStart | kPairOpen << kAfterOthers;

// Where a pre-token ends that reaches a certain character, if a run of characters of one class follows that one, and then a character
// of another class.
enum class RunEnd : std::uint8_t {
  BeforeRun,
  BeforeLast,  // before the last character of the run
  AfterRun,
  Open,
  Never        // it does not reach the character
};

inline RunEnd both(RunEnd one, RunEnd other) {
  if (one == RunEnd::Never) return other;
  return other == RunEnd::Never || one == other ? one : RunEnd::Open;
}

class PairOutcomes {
 public:
  // None if it would take long to find them.
  static std::optional<PairOutcomes> of(const SplitAutomaton& automaton, const CharacterSets& sets) {
    if (num_asked(automaton, sets.classes().size()) > kMostAsked) return std::nullopt;
    PairOutcomes made(automaton, sets);
    made.find_rare();
    return made;
  }

  std::size_t num_classes() const { return num_classes_; }
  PairOutcome outcome(std::size_t before, std::size_t after) const { return outcomes_[before * num_classes_ + after]; }

  // Whether two classes tell the same beside any character.
  bool are_alike(std::size_t one, std::size_t other) const {
    for (std::size_t c = 0; c < num_classes_; ++c) {
      if (outcome(one, c) != outcome(other, c) || outcome(c, one) != outcome(c, other)) return false;
    }
    return true;
  }

  // Where a pre-token ends after a character that starts it, or one that does not, and a run of one, or of at least two.
  RunEnd run_end(bool is_start, std::size_t before, std::size_t run, bool is_long, std::size_t after) const {
    if (is_rare_[before]) return RunEnd::Open;
    if (is_start) return run_end_in(step(SplitAutomaton::kFirst, before).next, run, is_long, after);
    RunEnd all = RunEnd::Never;
    for (const std::size_t state : later_states_[before]) all = both(all, run_end_in(state, run, is_long, after));
    return all;
  }

 private:
  static constexpr std::size_t kMostAsked = std::size_t{1} << 22;  // about all outcomes
  static constexpr std::size_t kMostAskedForRare = 4 * kMostAsked;
  static constexpr std::size_t kMostAsciiOfRare = 2;

  static std::size_t num_asked(const SplitAutomaton& automaton, std::size_t num_classes) { return automaton.num_states() * num_classes * num_classes; }

  PairOutcomes(const SplitAutomaton& automaton, const CharacterSets& sets)
      : automaton_(&automaton), sets_(&sets), num_classes_(sets.classes().size()), is_sure_(automaton.num_states(), true), is_rare_(num_classes_) {
    find_sure();
    for (std::size_t c = 0; c < num_classes_; ++c) is_rare_[c] = !is_sure_[step(SplitAutomaton::kFirst, c).next];
    find_outcomes();
  }

  SplitAutomaton::Step step(std::size_t state, std::size_t column) const { return automaton_->step(state, column); }

  // A state is sure if every way from it leads to a match before the text ends, whatever follows. Those from which one way leads
  // to a state that is not sure are found backwards.
  void find_sure() {
    std::vector<std::vector<std::size_t>> before(is_sure_.size());  // the states that lead to each one without a match
    for (std::size_t state = 0; state < before.size(); ++state) {
      for (std::size_t c = 0; c <= num_classes_; ++c) {
        if (const auto [next, is_matched] = step(state, c); !is_matched) before[next].push_back(state);
      }
    }
    std::vector<std::size_t> unsure = {SplitAutomaton::kNoState};
    is_sure_[SplitAutomaton::kNoState] = false;
    while (!unsure.empty()) {
      const std::size_t state = unsure.back();
      unsure.pop_back();
      for (const std::size_t leading : before[state]) {
        if (!is_sure_[leading]) continue;
        is_sure_[leading] = false;
        unsure.push_back(leading);
      }
    }
  }

  // Declares one class of few ASCII characters after the other rare, as long as that leaves fewer pairs of ASCII characters open, and
  // does not take long.
  void find_rare() {
    std::vector<std::size_t> num_ascii(num_classes_), candidates;
    for (Byte byte = 0; byte < 128; ++byte) ++num_ascii[sets_->class_of_ascii(byte)];
    for (std::size_t c = 0; c < num_classes_; ++c) {
      if (num_ascii[c] > 0 && num_ascii[c] <= kMostAsciiOfRare && !is_rare_[c]) candidates.push_back(c);
    }
    std::size_t num_open = count_open(num_ascii), tries = kMostAskedForRare / num_asked(*automaton_, num_classes_);
    for (bool is_better = true; is_better;) {
      is_better = false;
      std::size_t best = 0;
      for (const std::size_t c : candidates) {
        if (is_rare_[c] || tries == 0) continue;
        --tries;
        is_rare_[c] = true;
        find_outcomes();
        is_rare_[c] = false;
        const std::size_t count = count_open(num_ascii);
        if (count >= num_open) continue;
        num_open = count;
        best = c;
        is_better = true;
      }
      if (is_better) is_rare_[best] = true;
    }
    find_outcomes();
  }

  std::size_t count_open(const std::vector<std::size_t>& num_ascii) const {
    std::size_t count = 0;
    for (std::size_t before = 0; before < num_classes_; ++before) {
      for (std::size_t after = 0; after < num_classes_; ++after) {
        if (outcome(before, after) & kPairOpen) count += num_ascii[before] * num_ascii[after];
      }
    }
    return count;
  }

  void find_outcomes() {
    outcomes_.assign(num_classes_ * num_classes_, kAllOpen);
    later_states_.assign(num_classes_, {});
    const std::vector<std::size_t> reached = states_after_start();
    for (std::size_t before = 0; before < num_classes_; ++before) {
      if (is_rare_[before]) continue;
      const std::size_t first = step(SplitAutomaton::kFirst, before).next;
      std::vector<std::size_t>& later = later_states_[before];
      for (const std::size_t state : reached) {
        const std::size_t next = step(state, before).next;
        if (next != SplitAutomaton::kNoState) later.push_back(next);
      }
      std::ranges::sort(later);
      later.erase(std::ranges::unique(later).begin(), later.end());
      for (std::size_t after = 0; after < num_classes_; ++after) {
        const Findings at_start = findings_in(first, after);
        Findings elsewhere;
        for (const std::size_t state : later) elsewhere.add(findings_in(state, after));
        Findings all = at_start;
        all.add(elsewhere);
        outcomes_[before * num_classes_ + after] =
            static_cast<PairOutcome>(all.outcome() | at_start.outcome() << kAfterStart | elsewhere.outcome() << kAfterOthers);
      }
    }
  }

  // The states after one or more characters that are not rare.
  std::vector<std::size_t> states_after_start() const {
    std::vector<bool> seen(is_sure_.size());
    std::vector<std::size_t> found, left = {SplitAutomaton::kFirst};
    while (!left.empty()) {
      const std::size_t state = left.back();
      left.pop_back();
      for (std::size_t c = 0; c < num_classes_; ++c) {
        const std::size_t next = step(state, c).next;
        if (is_rare_[c] || next == SplitAutomaton::kNoState || seen[next]) continue;
        seen[next] = true;
        found.push_back(next);
        left.push_back(next);
      }
    }
    return found;
  }

  // What states do at a character. A match that has ended before is of no interest: another one began there, and reaches the
  // character in another state.
  struct Findings {
    bool ends = false, goes_on = false;

    void add(const Findings& other) {
      ends |= other.ends;
      goes_on |= other.goes_on;
    }
    PairOutcome outcome() const { return ends == goes_on ? kPairOpen : ends ? kPairEnds : PairOutcome{0}; }
  };

  // A match does not end where a longer one is sure to follow.
  Findings findings_in(std::size_t state, std::size_t after) const {
    const auto [next, is_matched] = step(state, after);
    return {.ends = is_matched && !is_sure_[next], .goes_on = next != SplitAutomaton::kNoState};
  }

  RunEnd run_end_in(std::size_t state, std::size_t run, bool is_long, std::size_t after) const {
    if (!is_long) return run_end_in(state, run, std::size_t{1}, after);
    // From the second character on, the state must stay the same.
    const std::size_t second = step(step(state, run).next, run).next;
    if (step(second, run).next != second) return RunEnd::Open;
    const RunEnd of_two = run_end_in(state, run, std::size_t{2}, after), of_three = run_end_in(state, run, std::size_t{3}, after);
    return of_two == of_three ? of_two : RunEnd::Open;
  }

  RunEnd run_end_in(std::size_t state, std::size_t run, std::size_t size, std::size_t after) const {
    std::optional<std::size_t> stop;
    for (std::size_t i = 0; i <= size && state != SplitAutomaton::kNoState; ++i) {
      const auto [next, is_matched] = step(state, i < size ? run : after);
      if (is_matched) stop = i;
      state = next;
    }
    if (state != SplitAutomaton::kNoState) return RunEnd::Open;
    if (!stop) return RunEnd::Never;
    if (*stop == 0) return RunEnd::BeforeRun;
    if (*stop == size) return RunEnd::AfterRun;
    return *stop + 1 == size ? RunEnd::BeforeLast : RunEnd::Open;
  }

  const SplitAutomaton* automaton_;
  const CharacterSets* sets_;
  std::size_t num_classes_;
  std::vector<bool> is_sure_, is_rare_;  // for each state, see find_sure(); for each class
  std::vector<PairOutcome> outcomes_;
  std::vector<std::vector<std::size_t>> later_states_;  // for each class, the states after a character that starts no pre-token
};

}  // namespace tokbench
