// Every character of a text is counted once; Unigram's pieces and scores do not depend on threads; BPE learns the pieces of its
// definition.
#include "fuzz.hpp"
#include "naive.hpp"
#include <map>
#include <set>
#include <tuple>

#include "sentencepiece_training/bpe_trainer.hpp"
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

// The number of characters in lines, without line ends and NUL; ▅ ends a line too.
std::uint64_t characters_in(std::string text) {
  constexpr std::string_view kReserved = "\xE2\x96\x85";
  for (std::size_t at; (at = text.find(kReserved)) != std::string::npos;) text.replace(at, kReserved.size(), "\n");
  std::uint64_t count = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t stop = std::min(text.find('\n', start), text.size());
    std::size_t end = stop;
    while (end > start && text[end - 1] == '\r') --end;
    const std::string line = text.substr(start, end - start);
    for (const std::uint32_t c : naive::code_points(naive::to_bytes(line))) count += c != 0 ? 1 : 0;
    start = stop + 1;
  }
  return count;
}

std::vector<TrainedPiece> trained(const Segments& segments, const PieceRules& rules, UnigramOptions options, unsigned threads) {
  const StopSign sign;
  options.threads = threads;
  UnigramTrainer trainer(segments, rules, options, sign);
  while (trainer.step()) {
  }
  return trainer.finish();
}

using Symbols32 = std::vector<std::u32string>;

// Textbook BPE: all pairs are counted again for each piece.
std::vector<std::u32string> merged_by_definition(const Segments& segments, const PieceRules& rules, std::size_t num_pieces) {
  using Pair = std::pair<std::u32string, std::u32string>;
  std::vector<std::pair<Symbols32, std::int64_t>> words;
  std::set<Pair> met, refused;
  std::map<std::u32string, std::size_t> ranks;
  const auto meet = [&](const std::u32string& left, const std::u32string& right) {
    const std::u32string both = left + right;
    if (rules.allow(std::vector<std::uint32_t>(both.begin(), both.end()))) met.emplace(left, right);
  };
  for (std::size_t i = 0; i < segments.size(); ++i) {
    Symbols32 word;
    for (std::size_t at = segments.starts[i]; at + 1 < segments.starts[i + 1]; ++at) word.emplace_back(1, segments.alphabet[segments.codes[at]]);
    for (std::size_t at = 0; at + 1 < word.size(); ++at) meet(word[at], word[at + 1]);
    words.emplace_back(word, segments.counts[i]);
  }
  std::vector<std::u32string> pieces;
  while (pieces.size() < num_pieces) {
    std::map<Pair, std::int64_t> counts;
    for (const Pair& pair : met) {
      if (!refused.contains(pair)) counts[pair] = 0;
    }
    for (const auto& [word, count] : words) {
      for (std::size_t at = 0; at + 1 < word.size(); ++at) {
        if (const auto found = counts.find({word[at], word[at + 1]}); found != counts.end()) found->second += count;
      }
    }
    if (counts.empty()) break;
    const auto key = [&](const auto& each) {
      const auto& [pair, count] = each;
      const std::u32string both = pair.first + pair.second;
      return std::tuple(-count, both.size(), both, ranks[pair.first], ranks[pair.second]);
    };
    const Pair best = std::ranges::min_element(counts, {}, key)->first;
    refused.insert(best);
    const std::u32string made = best.first + best.second;
    if (std::ranges::find(pieces, made) != pieces.end()) continue;
    pieces.push_back(made);
    ranks[made] = pieces.size();
    for (auto& [word, count] : words) {
      for (std::size_t at = 0; at + 1 < word.size(); ++at) {
        if (word[at] != best.first || word[at + 1] != best.second) continue;
        word[at] = made;
        word.erase(word.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        if (at > 0) meet(word[at - 1], made);
        if (at + 1 < word.size()) meet(made, word[at + 1]);
      }
    }
  }
  return pieces;
}

void check_merging(const Segments& segments, const PieceRules& rules, std::size_t num_pieces, unsigned threads) {
  const StopSign sign;
  const auto merged = BpeTrainer(segments, rules, {num_pieces, threads}, sign).train([](std::size_t) {});
  const std::vector<std::u32string> expected = merged_by_definition(segments, rules, num_pieces);
  CHECK(merged.size() == expected.size());
  for (std::size_t i = 0; i < merged.size(); ++i) CHECK(std::u32string(merged[i].begin(), merged[i].end()) == expected[i]);
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
  SegmentCounter counted(rules, normalizer, false, symbols, seed);
  counter.counts().for_each([&](Bytes word, std::int64_t count) { counted.add(word, count); });
  CHECK(counted.num_characters() == characters_in(text));
  const Segments segments = counted.finish({1.0, {}});
  if (segments.size() == 0) return 0;

  if (segments.codes.size() < 500) check_merging(segments, rules, more, threads);  // the definition is slow
  const std::size_t letters = segments.alphabet.size() - 1;
  const UnigramOptions options{letters + more, most_seeds, letters + more + pruned_more, kept_share, rounds, 1};
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
