// Unigram's trainer counts every character of the text once, and its pieces and scores do not depend on threads.
#include "fuzz.hpp"
#include "naive.hpp"
#include "sentencepiece_training/line_words.hpp"
#include "sentencepiece_training/unigram_trainer.hpp"

using namespace tokbench;
using namespace tokbench::sentencepiece;
using fuzz::Input;

namespace {

std::string repaired(std::string text) {
  while (const auto bad = naive::first_invalid(naive::to_bytes(text))) text.erase(*bad, 1);
  return text;
}

// The characters of lines, without what ends these.
std::uint64_t characters_in(const std::string& text) {
  std::uint64_t count = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t stop = std::min(text.find('\n', start), text.size());
    std::size_t end = stop;
    while (end > start && text[end - 1] == '\r') --end;
    const std::string line = text.substr(start, end - start);
    for (const std::uint32_t c : naive::code_points(naive::to_bytes(line))) count += PieceRules::is_in_no_piece(c) ? 0 : 1;
    start = stop + 1;
  }
  return count;
}

std::vector<TrainedPiece> trained(const Segments& segments, const PieceRules& rules, TrainingOptions options, unsigned threads) {
  const StopSign sign;
  options.threads = threads;
  Trainer trainer(segments, rules, options, sign);
  while (trainer.step()) {
  }
  return trainer.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const PieceOptions piece_options{1 + input.below(8), input.below(2) != 0, input.below(2) != 0, input.below(2) != 0, input.below(2) != 0, false};
  const auto threads = static_cast<unsigned>(2 + input.below(2));
  const std::size_t more = input.below(60), pruned_more = input.below(8), most_seeds = 1 + input.below(200);
  const auto rounds = static_cast<unsigned>(1 + input.below(3));
  const double kept_share = 0.25 + 0.25 * static_cast<double>(input.below(3));
  const std::uint64_t seed = input.word();
  const std::string text = repaired(naive::to_string(input.rest()));

  LineWordCounter counter(LineWords({false, false, !piece_options.split_by_whitespace}), SpecialTokens({}), threads, seed);
  counter.add_document(naive::to_bytes(text));
  counter.finish();
  const std::vector<std::uint32_t> starts = {0, 0x80, 0x370};
  const std::vector<std::uint8_t> scripts = {1, 0, 2};
  const PieceRules rules(piece_options, starts, scripts);
  const Normalizer normalizer(CharacterMap(), {}, {false, false, false, false});
  const Symbols symbols;
  SegmentCounter counted(rules, normalizer, symbols, seed);
  counter.counts().for_each([&](Bytes word, std::int64_t count) { counted.add(word, count); });
  CHECK(counted.num_characters() == characters_in(text));
  const Segments segments = counted.finish({1.0, {}});
  if (segments.size() == 0) return 0;

  const std::size_t letters = segments.alphabet.size() - 1;
  const TrainingOptions options{letters + more, most_seeds, letters + more + pruned_more, kept_share, rounds, 1};
  const std::vector<TrainedPiece> pieces = trained(segments, rules, options, 1), same = trained(segments, rules, options, threads);
  CHECK(pieces.size() == same.size());
  CHECK(pieces.size() <= options.size);
  std::size_t single = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    CHECK(pieces[i].characters == same[i].characters && pieces[i].score == same[i].score);
    CHECK(std::isfinite(pieces[i].score));
    if (pieces[i].characters.size() == 1) {
      ++single;
    } else {
      CHECK(rules.allow(pieces[i].characters));
    }
  }
  CHECK(single == letters);
  return 0;
}
