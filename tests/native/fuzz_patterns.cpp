// Compiled patterns: the automaton of any program finds the matches that backtracking finds, blocks in all tiers split as the
// automaton does, pre-tokens cover a text of any bytes, and both sides of a safe cut are split as if they stood alone.
#include "bpe/pretoken_pattern.hpp"
#include "fuzz.hpp"
#include "split_expressions.hpp"

using namespace tokbench;
using fuzz::Input;
using fuzz::Random;

namespace {

using Kind = SplitOperation::Kind;
using Ends = std::vector<std::size_t>;
using split_expressions::character_sets;

SplitProgram random_program(Random& random) {
  const std::size_t size = random.between(2, 10);
  std::vector<SplitOperation> operations;
  for (std::size_t i = 0; i + 1 < size; ++i) {
    const auto later = [&] { return static_cast<std::uint32_t>(random.one_in(2) ? i + 1 : random.between(i + 1, size - 1)); };
    const Kind kind = random.one_in(2) ? Kind::Characters : static_cast<Kind>(random.between(1, 7));
    const auto least = static_cast<std::uint32_t>(random.below(3));
    const std::uint32_t most = random.one_in(2) ? UINT32_MAX : least + static_cast<std::uint32_t>(random.below(3));
    operations.push_back({kind, static_cast<std::uint32_t>(random.below(split_expressions::kNumSets)), least, most, later(), later()});
  }
  operations.push_back({Kind::Match, 0, 0, 0, 0, 0});
  return {std::move(operations), ~SetMask{0}, SplitUnit::Character};
}

// Alternatives of a few repetitions each, some with a character that must not follow: as patterns are.
SplitProgram random_alternatives(Random& random) {
  struct Alternative {
    std::vector<SplitOperation> items;
    bool has_lookahead;
  };
  std::vector<Alternative> alternatives;
  std::uint32_t size = 0;
  for (std::size_t left = random.between(2, 5); left > 0; --left) {
    Alternative& made = alternatives.emplace_back(Alternative{{}, random.one_in(4)});
    for (std::size_t items = random.between(1, 3); items > 0; --items) {
      const auto least = static_cast<std::uint32_t>(items > 1 ? random.below(2) : random.between(1, 2));
      const std::uint32_t most = random.one_in(2) ? UINT32_MAX : least + static_cast<std::uint32_t>(random.below(3));
      const Kind kind = random.one_in(5) ? Kind::Possessive : Kind::Characters;
      made.items.push_back({kind, static_cast<std::uint32_t>(random.below(split_expressions::kNumSets)), least, most, 0, 0});
    }
    size += static_cast<std::uint32_t>(made.items.size()) + 1 + 2 * made.has_lookahead;
  }
  std::vector<SplitOperation> operations;
  const std::uint32_t match = size - 1;  // the last alternative has no choice before it
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    const auto& [items, has_lookahead] = alternatives[i];
    const auto here = [&] { return static_cast<std::uint32_t>(operations.size()); };
    if (i + 1 < alternatives.size()) {
      const auto after = static_cast<std::uint32_t>(here() + 1 + items.size() + 2 * has_lookahead);
      operations.push_back({Kind::Either, 0, 0, 0, here() + 1, after});
    }
    for (std::size_t k = 0; k < items.size(); ++k) {
      operations.push_back(items[k]);
      operations.back().next = k + 1 < items.size() || has_lookahead ? here() : match;
    }
    if (!has_lookahead) continue;
    operations.push_back({random.one_in(2) ? Kind::NotAhead : Kind::Ahead, 0, 0, 0, match, here() + 1});
    operations.push_back({Kind::Characters, static_cast<std::uint32_t>(random.below(split_expressions::kNumSets)), 1, 1, match, 0});
  }
  operations.push_back({Kind::Match, 0, 0, 0, 0, 0});
  return {std::move(operations), ~SetMask{0}, SplitUnit::Character};
}

// Texts of the characters about which the sets differ, and any bytes; with a long run of letters only for a short program, because
// backtracking takes time that grows with a power of the run.
std::vector<Byte> random_text(Random& random, bool is_short, Bytes given) {
  static const std::string pieces[] = {"a", "b", "x", " ", " ", "\n", "1", "22", ".", "é", "日", "\u3000", "a b", "AB", "xyzXYZab"};
  std::string text;
  for (std::size_t left = random.below(12); left > 0; --left) text += pieces[random.below(std::size(pieces))];
  if (is_short && random.one_in(4)) text.insert(random.below(text.size() + 1), std::string(random.between(50, 140), random.one_in(2) ? 'a' : 'X'));
  std::vector<Byte> bytes(text.begin(), text.end());
  const Bytes some = given.first(std::min<std::size_t>(given.size(), random.below(20)));
  bytes.insert(random.one_in(2) ? bytes.begin() : bytes.end(), some.begin(), some.end());
  bytes.shrink_to_fit();
  return bytes;
}

void check_matches(const SplitProgram& program, Bytes text) {
  const auto automaton = SplitAutomaton::of(program, character_sets());
  if (!automaton) return;
  const Byte* const end = text.data() + text.size();
  LetterRuns runs(classify_of(std::max(simd_tier(), SimdTier::Swar)), end);
  for (const Byte* p = text.data(); p != end; ++p) {
    const Byte* const stop = program.match<SplitUnit::Character>(character_sets(), p, end);
    CHECK(automaton->match<SplitUnit::Character>(character_sets(), p, end) == stop);
    CHECK(automaton->match(character_sets(), p, end, runs) == stop);
  }
}

Ends ends_of(const PretokenPattern& pattern, Bytes text, SimdTier tier = simd_tier()) {
  std::vector<Byte> copy(text.begin(), text.end());  // so that a sanitizer sees every read past its end
  Ends ends;
  for_each_split(pattern.split(tier), Bytes(copy), [&](const Byte*, std::span<const Byte* const> found) {
    for (const Byte* const stop : found) ends.push_back(static_cast<std::size_t>(stop - copy.data()));
  });
  return ends;
}

// Texts of a few blocks, of pieces that repeat.
std::vector<Byte> long_text(Random& random, Bytes given) {
  const std::vector<Byte> parts[] = {random_text(random, false, given), random_text(random, false, given), random_text(random, true, given)};
  std::vector<Byte> text;
  for (std::size_t left = random.between(4, 24); left > 0; --left) {
    const auto& part = parts[random.below(std::size(parts))];
    text.insert(text.end(), part.begin(), part.end());
  }
  return text;
}

void check_tiers(const PretokenPattern& pattern, Bytes text) {
  const Ends ends = ends_of(pattern, text, SimdTier::Scalar);
  for (const SimdTier tier : {SimdTier::Swar, SimdTier::Avx2, SimdTier::Avx512}) {
    if (has_tier(tier)) CHECK(ends_of(pattern, text, tier) == ends);
  }
}

// Letters+ | White+(?!NotWhite) | White, computed by hand.
void check_pairs() {
  using split_expressions::Letters, split_expressions::NotWhite, split_expressions::White;
  const SplitProgram program({{Kind::Either, 0, 0, 0, 1, 2},
                              {Kind::Characters, Letters, 1, UINT32_MAX, 7, 0},
                              {Kind::Either, 0, 0, 0, 3, 5},
                              {Kind::Characters, White, 1, UINT32_MAX, 4, 0},
                              {Kind::NotAhead, 0, 0, 0, 7, 6},
                              {Kind::Characters, White, 1, 1, 7, 0},
                              {Kind::Characters, NotWhite, 1, 1, 7, 0},
                              {Kind::Match, 0, 0, 0, 0, 0}},
                             ~SetMask{0}, SplitUnit::Character);
  const CharacterSets& sets = character_sets();
  const auto automaton = SplitAutomaton::of(program, sets);
  const auto found = PairOutcomes::of(*automaton, sets);
  CHECK(found.has_value());
  const std::size_t letter = sets.class_of_ascii('x'), space = sets.class_of_ascii(' '), digit = sets.class_of_ascii('1');
  const auto of_pair = [&](std::size_t before, std::size_t after) { return found->outcome(before, after) & (kPairEnds | kPairOpen); };
  CHECK(of_pair(letter, letter) == 0 && of_pair(letter, space) == kPairEnds && of_pair(space, letter) == kPairEnds);
  CHECK(of_pair(space, space) == kPairOpen && of_pair(digit, letter) == kPairOpen && of_pair(letter, digit) == kPairEnds);
  CHECK(found->run_end(true, space, space, false, letter) == RunEnd::BeforeRun && found->run_end(true, space, space, true, letter) == RunEnd::BeforeLast);
  CHECK(found->run_end(true, letter, space, true, letter) == RunEnd::BeforeRun && found->run_end(true, digit, space, true, letter) == RunEnd::Open);
}

bool is_cut(Bytes text, std::size_t i) {
  const auto is_letter = [&](std::size_t at) { return text[at] < 0x80 && std::isalpha(text[at]) != 0; };
  return i > 0 && i + 1 < text.size() && text[i] == ' ' && is_letter(i - 1) && is_letter(i + 1);
}

void check_cuts(const PretokenPattern& pattern, bool has_cuts, Bytes text, const Ends& ends) {
  std::size_t last = 0;
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    if (!has_cuts || !is_cut(text, cut)) continue;
    last = cut;
    Ends apart = ends_of(pattern, text.first(cut));
    for (const std::size_t end : ends_of(pattern, text.subspan(cut))) apart.push_back(cut + end);
    CHECK(apart == ends);
  }
  CHECK(pattern.last_safe_cut(text, 0) == last);
  if (last == 0) return;
  CHECK(pattern.last_safe_cut(text, last - 1) == last && pattern.last_safe_cut(text, last) == 0);
  const Text units{text.data(), text.size(), Units::Utf8};
  CHECK(pattern.first_safe_cut(units, last) == last && pattern.first_safe_cut(units, last + 1) == text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  [[maybe_unused]] static const bool are_pairs_right = (check_pairs(), true);
  Input input(data, size);
  Random random(input.word());
  const SplitProgram program = random.one_in(2) ? random_program(random) : random_alternatives(random);
  const auto compiled = std::make_shared<const CompiledPattern>(program, character_sets());
  const PretokenPattern pattern(compiled);
  for (int i = 0; i < 5; ++i) {
    const std::vector<Byte> text = random_text(random, program.operations().size() < 5, input.rest());
    check_matches(program, text);
    const Ends ends = ends_of(pattern, text);
    CHECK(std::ranges::is_sorted(ends) && std::ranges::adjacent_find(ends) == ends.end());
    CHECK(text.empty() ? ends.empty() : ends.front() > 0 && ends.back() == text.size());
    check_cuts(pattern, compiled->cuts_at_spaces(), text, ends);
    check_tiers(pattern, text);
    check_tiers(pattern, long_text(random, input.rest()));
  }
  return 0;
}
