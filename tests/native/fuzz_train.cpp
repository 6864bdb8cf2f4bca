// The trainer learns the same merges as the textbook, from bytes and after inherited merges, for any table seed, number of
// threads, width of symbols and step of postings; without steps there is room for fewer words.
#include "bpe/continuation.hpp"
#include "bpe/parity_trainer.hpp"
#include "fuzz.hpp"
#include "naive.hpp"
#include "training/pretoken_counts.hpp"

using namespace tokbench;
using fuzz::Input;

namespace {

// Maps the text to a few letters, which gives many equal counts, repeats and overlaps.
std::string with_few_letters(Bytes text, std::size_t letters) {
  std::string folded = naive::to_string(text);
  if (letters == 0) return folded;
  for (char& c : folded) {
    if (c != ' ') c = static_cast<char>('a' + static_cast<Byte>(c) % letters);
  }
  return folded;
}

template <class Trainer>
void check(Trainer&& trainer, const naive::Learned& expected) {
  while (trainer.step()) {
  }
  CHECK(trainer.merges().size() == expected.pairs.size());
  for (std::size_t i = 0; i < expected.pairs.size(); ++i) {
    CHECK(trainer.merges()[i].left == expected.pairs[i].first);
    CHECK(trainer.merges()[i].right == expected.pairs[i].second);
    CHECK(trainer.merges()[i].count == expected.counts[i]);
  }
  CHECK(trainer.num_tokens() == expected.num_tokens);
}

// Whether there is room for words of these sizes, by definition: the record of a word of 2 to 6 symbols is a header of 32 bits
// and a symbol, then its symbols; records begin at multiples of step, and must take fewer than 100 steps here (CMakeLists.txt).
bool has_room(const std::vector<std::size_t>& sizes, std::size_t header, std::size_t step) {
  std::size_t steps = 0;
  for (const std::size_t size : sizes) {
    if (size > 1 && size <= 6) steps += (header + size + step - 1) / step;
  }
  return steps < 100;
}

// Continues a training whose inherited merges were learned from other counts of the same pre-tokens.
void check_continuation(const naive::Counts& counts, fuzz::Random& random, std::size_t num_merges, std::uint64_t seed) {
  naive::Counts others = counts;
  for (auto& entry : others) entry.second = static_cast<std::int64_t>(1 + random.next() % 9);
  const naive::Learned inherited = naive::train(others, random.next() % 30, 1, 0);
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  for (const auto& [left, right] : inherited.pairs) tokens.push_back(tokens[left] + tokens[right]);
  const naive::Learned expected = naive::continue_training(counts, inherited.pairs, tokens, num_merges);

  std::vector<Id> ids;
  std::vector<std::int64_t> offsets{0}, times;
  std::vector<std::size_t> sizes;
  for (const auto& [word, count] : naive::words_of(counts)) {
    naive::Word cut = word;
    for (std::size_t i = 0; i < inherited.pairs.size(); ++i) {
      cut = naive::merge_pair(cut, inherited.pairs[i], static_cast<Id>(256 + i));
    }
    ids.insert(ids.end(), cut.begin(), cut.end());
    offsets.push_back(static_cast<std::int64_t>(ids.size()));
    times.push_back(count);
    sizes.push_back(cut.size());
  }
  if (!has_room(sizes, 3, 1)) return;
  const CutWords words{ids, offsets, times};
  const std::vector<std::string_view> known(tokens.begin(), tokens.end());
  words.check(known);
  const ContinuationOptions options{{num_merges, 1, 0, seed}, 0, {}};
  check(ContinuationOf<std::uint16_t>(words, known, options), expected);
  check(ContinuationOf<std::uint32_t>(words, known, options), expected);
}

struct Shared {
  const PretokenCounts& counts;
  template <class Sink>
  void for_each(const Sink& sink) const {
    counts.for_each(sink);
  }
};

template <class Trainer>
void check_with_room(const PretokenCounts& pretokens, const TrainerOptions& options, const naive::Learned& expected, bool room) {
  bool found_room = true;
  try {
    check(Trainer(pretokens, options), expected);
  } catch (const std::length_error&) {
    found_room = false;
  }
  CHECK(found_room == room);
}

// Parity training of one language is plain BPE; with a second text of the same words only the counts differ.
template <class Symbol>
void check_parity(const PretokenCounts& pretokens, const naive::Counts& counts, std::size_t num_merges, std::uint64_t seed) {
  naive::Learned expected = naive::train(counts, num_merges, 1, 0);
  const ParityOptions options{{num_merges, 1, 0, seed}, num_merges / 2, {1}, 3, 1};
  const std::vector<Shared> one{{pretokens}}, two{{pretokens}, {pretokens}};
  auto report = [](std::size_t) {};
  try {
    check(ParityTrainerOf<Symbol>(one, one, options, report), expected);
    for (std::int64_t& count : expected.counts) count *= 2;
    expected.num_tokens *= 2;
    check(ParityTrainerOf<Symbol>(two, one, options, report), expected);
  } catch (const std::length_error&) {  // check_with_room() tests the room of the plain trainer
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMostBytes = 700;  // the textbook is slow
  Input input(data, size);
  const std::size_t num_merges = input.below(100);
  const auto min_frequency = static_cast<std::int64_t>(1 + input.below(4));
  const std::size_t max_token_length = input.below(10);  // 0 is no limit, 1 allows no merge
  const std::size_t letters = input.below(6);
  const auto pattern = static_cast<Pattern>(input.below(kPatternNames.size()));
  const auto most_count = std::int64_t{1} << input.below(40);
  const std::uint64_t seed = input.word();
  fuzz::Random random(seed);
  const Bytes text = input.rest().first(std::min(input.rest().size(), kMostBytes));

  // A PretokenCounter would also do, but would be compiled here for every pattern and tier.
  PretokenTable table(seed);
  PretokenCounts pretokens(seed);
  naive::Counts counts;
  for (const std::string& pretoken : naive::pretokens(pattern, with_few_letters(text, letters))) {
    const auto count = static_cast<std::int64_t>(1 + random.next() % static_cast<std::uint64_t>(most_count));
    const std::string padded = pretoken + std::string(kKeyPadding, '\0');
    table.add(naive::to_bytes(padded).data(), pretoken.size(), count);
    counts[pretoken] += count;
  }
  pretokens.take(table);

  const TrainerOptions options{num_merges, min_frequency, max_token_length, seed, 1 + static_cast<unsigned>(random.next() % 2)};
  const naive::Learned expected = naive::train(counts, num_merges, min_frequency, max_token_length);
  std::vector<std::size_t> sizes;
  for (const auto& [word, count] : counts) sizes.push_back(word.size());
  check_with_room<TrainerOf<std::uint16_t>>(pretokens, options, expected, has_room(sizes, 3, 1));
  check_with_room<TrainerOf<std::uint32_t>>(pretokens, options, expected, has_room(sizes, 2, 1));
  check_with_room<TrainerOf<std::uint16_t, kWideStep>>(pretokens, options, expected, has_room(sizes, 3, kWideStep));
  check_with_room<TrainerOf<std::uint32_t, kWideStep>>(pretokens, options, expected, has_room(sizes, 2, kWideStep));
  check_with_room<Trainer>(pretokens, options, expected, has_room(sizes, 3, kWideStep));
  check_continuation(counts, random, num_merges, seed);
  check_parity<std::uint16_t>(pretokens, counts, num_merges, seed);
  check_parity<std::uint32_t>(pretokens, counts, num_merges, seed);
  return 0;
}
