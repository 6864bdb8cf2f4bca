// The Python module `_sentencepiece_training`: training of SentencePiece models. Arguments are checked here, and only here; the
// interpreter's lock is released around everything that takes time.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "common/freed_memory.hpp"
#include "encoding/python_encoding.hpp"
#include "bpe_trainer.hpp"
#include "line_words.hpp"
#include "unigram_trainer.hpp"
#include "training/python_words.hpp"

using namespace tokbench;
using namespace tokbench::sentencepiece;
using namespace nb::literals;

namespace {

constexpr std::uint64_t kSeed = 0x5EED;
constexpr std::size_t kMostPieces = std::size_t{1} << 24;
constexpr std::int64_t kMostCharacters = std::int64_t{1} << 38;  // expected counts in fixed-point units then fit into 63 bits

struct TrainingText {
  PieceRules rules;
  Segments segments;
  std::uint64_t num_characters;

  bool is_blank() const {
    return std::ranges::all_of(segments.alphabet, [](std::uint32_t c) { return c == 0 || c == kSpace; });
  }
};

std::unique_ptr<TrainingText> training_text(LineWordCounter& counter, const InputArray<std::uint32_t>& starts,
                                            const InputArray<std::uint8_t>& scripts, std::size_t longest, bool split_by_script,
                                            bool split_by_number, bool split_by_whitespace, bool split_digits, bool whitespace_only,
                                            const nb::bytes& charsmap, bool collapse, const std::vector<std::string>& symbols, double coverage,
                                            std::vector<std::uint32_t> required, std::size_t most_codes) {
  if (!counter.is_finished()) throw std::invalid_argument("the counter is not finished");
  if (counter.invalid()) throw std::invalid_argument("the text is not UTF-8");
  if (most_codes > SegmentCounter::kMostCodes) throw std::invalid_argument("so many characters of words are not numbered");
  if (longest < 1 || longest > kLongestPiece) throw std::invalid_argument("a piece has 1 to 512 characters");
  PieceRules rules({longest, split_by_script, split_by_number, split_by_whitespace, split_digits, whitespace_only}, view(starts), view(scripts));
  const Normalizer normalizer(charsmap.size() == 0 ? CharacterMap() : CharacterMap(view(charsmap)), {}, {false, false, false, false});
  const Symbols cut_at(std::vector<std::string_view>(symbols.begin(), symbols.end()));
  auto text = std::make_unique<TrainingText>(TrainingText{std::move(rules), {}, 0});
  const nb::gil_scoped_release unlocked;
  {
    SegmentCounter segments(text->rules, normalizer, collapse, cut_at, kSeed);
    counter.counts().take_each([&](Bytes word, std::int64_t count) { segments.add(word, count); });
    text->num_characters = segments.num_characters();
    text->segments = segments.finish({coverage, std::move(required)}, most_codes);
  }
  return_freed_memory();
  return text;
}

void append_utf8(std::string& text, std::uint32_t c) {
  const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

// Runs work(sign, report) on another thread, while this one passes its reports to Python and handles Ctrl-C.
template <class Report, class Tell, class Work>
void run_interruptibly(Tell tell, Work work) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Report> reports;
  std::exception_ptr failure;
  bool is_done = false;
  StopSign sign;
  std::thread worker([&] {
    try {
      work(sign, [&](const Report& report) {
        const std::lock_guard lock(mutex);
        reports.push_back(report);
        changed.notify_one();
      });
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    is_done = true;
    changed.notify_one();
  });
  try {
    for (bool is_last = false; !is_last;) {
      std::vector<Report> news;
      {
        const nb::gil_scoped_release unlocked;
        std::unique_lock lock(mutex);
        changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return is_done || !reports.empty(); });
        news.swap(reports);
        is_last = is_done;
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      for (const Report& report : news) tell(report);
    }
  } catch (...) {
    sign.stop();
    const nb::gil_scoped_release unlocked;
    worker.join();
    throw;
  }
  worker.join();
  if (failure) std::rethrow_exception(failure);
}

nb::str to_str(Characters characters) {
  std::string spelled;
  for (const std::uint32_t c : characters) append_utf8(spelled, c);
  return nb::str(spelled.data(), spelled.size());
}

// The characters that pieces may contain, in ascending order, with their numbers of occurrences.
nb::list characters_of(const TrainingText& text) {
  nb::list all;
  for (std::size_t code = 1; code < text.segments.alphabet.size(); ++code) {
    all.append(nb::make_tuple(to_str(Characters(&text.segments.alphabet[code], 1)), text.segments.occurrences[code]));
  }
  return all;
}

nb::list train_bpe(const TrainingText& text, std::size_t num_pieces, unsigned threads, const nb::object& progress) {
  if (num_pieces > kMostPieces) throw std::invalid_argument("so many pieces have no numbers");
  std::vector<std::vector<std::uint32_t>> trained;
  const auto tell = [&](std::size_t done) {
    if (!progress.is_none()) progress(done);
  };
  run_interruptibly<std::size_t>(tell, [&](const StopSign& sign, const auto& report) {
    trained = BpeTrainer(text.segments, text.rules, {num_pieces, std::max(threads, 1u)}, sign).train(report);
  });
  nb::list pieces;
  for (const std::vector<std::uint32_t>& piece : trained) pieces.append(to_str(piece));
  return pieces;
}

nb::tuple train_unigram(const TrainingText& text, std::size_t size, std::size_t most_seeds, std::size_t pruned_to, double kept_share, unsigned rounds,
                unsigned threads, const nb::object& progress) {
  if (text.segments.size() == 0) throw std::invalid_argument("there is no text");
  if (text.num_characters > static_cast<std::uint64_t>(kMostCharacters)) throw std::invalid_argument("the text has too many characters");
  if (size + 1 < text.segments.alphabet.size() || pruned_to + 1 < text.segments.alphabet.size()) throw std::invalid_argument("the characters alone are more pieces");
  if (!(kept_share > 0 && kept_share < 1) || rounds < 1 || most_seeds < 1 || most_seeds > (1u << 30)) throw std::invalid_argument("an option is out of range");
  std::vector<TrainedPiece> trained;
  unsigned done = 0;
  struct Round {
    unsigned number;
    std::size_t left;
  };
  const auto tell = [&](const Round& round) {
    if (!progress.is_none()) progress(round.number, round.left);
  };
  run_interruptibly<Round>(tell, [&](const StopSign& sign, const auto& report) {
    UnigramTrainer trainer(text.segments, text.rules, {size, most_seeds, pruned_to, kept_share, rounds, std::max(threads, 1u)}, sign);
    for (bool is_more = true; is_more;) {
      is_more = trainer.step();
      report({++done, trainer.size()});
    }
    trained = trainer.finish();
  });
  nb::list pieces;
  std::vector<double> scores;
  for (const TrainedPiece& piece : trained) {
    pieces.append(to_str(piece.characters));
    scores.push_back(piece.score);
  }
  return nb::make_tuple(pieces, to_array(std::move(scores)), done);
}

}  // namespace

NB_MODULE(_sentencepiece_training, module) {
  module.attr("SOURCES") = TOKBENCH_SOURCES;
  nb::class_<LineWordCounter> counter(module, "WordCounter", "Counts the words of the lines of documents, on threads.");
  bind_documents(counter);
  bind_words(counter);
  counter
      .def(
          "__init__",
          [](LineWordCounter* self, bool dummy_prefix, bool collapse, bool whole_lines, std::vector<std::string> special_tokens, unsigned threads,
             std::uint64_t seed) {
            new (self) LineWordCounter(LineWords({dummy_prefix, collapse, whole_lines}), checked(std::move(special_tokens)), threads, seed);
          },
          nb::kw_only(), "dummy_prefix"_a, "collapse"_a, "whole_lines"_a, "special_tokens"_a, "threads"_a, "seed"_a = kSeed)
      .def_prop_ro("words", [](const LineWordCounter& self) { return self.totals().pretokens; })
      .def_prop_ro("distinct", [](const LineWordCounter& self) { return self.is_finished() ? self.counts().size() : 0; });
  nb::class_<TrainingText>(module, "TrainingText", "The segments of counted words, and the characters that they are made of.")
      .def_prop_ro("num_characters", [](const TrainingText& self) { return self.num_characters; })
      .def_prop_ro("distinct", [](const TrainingText& self) { return self.segments.size(); })
      .def_prop_ro("is_blank", [](const TrainingText& self) { return self.is_blank(); })
      .def_prop_ro("too_many", [](const TrainingText& self) { return self.segments.too_many; })
      .def_prop_ro("characters", &characters_of)
      .def_prop_ro("alphabet", [](const TrainingText& self) { return self.segments.alphabet.size() - 1; });
  module.def("training_text", &training_text, "counter"_a, nb::kw_only(), "starts"_a, "scripts"_a, "longest"_a, "split_by_script"_a,
             "split_by_number"_a, "split_by_whitespace"_a, "split_digits"_a, "whitespace_only"_a, "charsmap"_a, "collapse"_a, "symbols"_a, "coverage"_a, "required"_a, "most_codes"_a,
             "The segments of a finished counter's words, which it forgets.");
  module.def("train_bpe", &train_bpe, "text"_a, nb::kw_only(), "num_pieces"_a, "threads"_a, "progress"_a.none(),
             "Learn pieces by merging: a list of them.");
  module.def("train_unigram", &train_unigram, "text"_a, nb::kw_only(), "size"_a, "most_seeds"_a, "pruned_to"_a, "kept_share"_a, "rounds"_a, "threads"_a,
             "progress"_a.none(), "Learn pieces: (list of them, float64 scores, rounds).");
}
