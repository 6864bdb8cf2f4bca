// Compiled patterns: the automaton of any program finds the matches that backtracking finds, pre-tokens cover a text of any bytes,
// and both sides of a safe cut are split as if they stood alone.
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
  LetterRuns runs(classify_of(simd_tier()), end);
  for (const Byte* p = text.data(); p != end; ++p) {
    const Byte* const stop = program.match<SplitUnit::Character>(character_sets(), p, end);
    CHECK(automaton->match<SplitUnit::Character>(character_sets(), p, end) == stop);
    CHECK(automaton->match(character_sets(), p, end, runs) == stop);
  }
}

Ends ends_of(const PretokenPattern& pattern, Bytes text) {
  std::vector<Byte> copy(text.begin(), text.end());  // so that a sanitizer sees every read past its end
  Ends ends;
  for_each_split(pattern.split(), Bytes(copy), [&](const Byte*, std::span<const Byte* const> found) {
    for (const Byte* const stop : found) ends.push_back(static_cast<std::size_t>(stop - copy.data()));
  });
  return ends;
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
  Input input(data, size);
  Random random(input.word());
  const SplitProgram program = random_program(random);
  const auto compiled = std::make_shared<const CompiledPattern>(program, character_sets());
  const PretokenPattern pattern(compiled);
  for (int i = 0; i < 5; ++i) {
    const std::vector<Byte> text = random_text(random, program.operations().size() < 5, input.rest());
    check_matches(program, text);
    const Ends ends = ends_of(pattern, text);
    CHECK(std::ranges::is_sorted(ends) && std::ranges::adjacent_find(ends) == ends.end());
    CHECK(text.empty() ? ends.empty() : ends.front() > 0 && ends.back() == text.size());
    check_cuts(pattern, compiled->cuts_at_spaces(), text, ends);
  }
  return 0;
}
