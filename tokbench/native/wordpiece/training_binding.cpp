// Counting words and joining pieces for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "family.hpp"
#include "trainer.hpp"
#include "training/python_words.hpp"
#include "training_binding.hpp"
#include "word_counter.hpp"

namespace tokbench {

using namespace nb::literals;

namespace {

nb::str to_str(Bytes text) { return nb::str(reinterpret_cast<const char*>(text.data()), text.size()); }

WordCounter* made_counter(std::vector<std::string> special_tokens, const InputArray<std::uint8_t>& settled,
                          std::size_t max_characters_per_word, bool clean_text, bool handle_chinese_chars, bool strip_accents,
                          bool lowercase, unsigned threads, std::uint64_t seed) {
  if (settled.size() != 0x110000) throw std::invalid_argument("there must be a mark for each code point");
  const std::span<const std::uint8_t> marks = view(settled);
  return new WordCounter(checked(std::move(special_tokens)), {marks.begin(), marks.end()},
                         {{clean_text, handle_chinese_chars, strip_accents, lowercase}, max_characters_per_word, threads, seed});
}

// The words of a finished counter; before that, they are not made yet.
const PretokenCounts& words_of(const WordCounter& counter) {
  if (!counter.is_finished()) throw std::invalid_argument("the counter is not finished");
  return counter.counts();
}

nb::list counted_items(const WordCounter& counter) {
  nb::list items;
  words_of(counter).for_each([&](Bytes word, std::int64_t count) { items.append(nb::make_tuple(to_str(word), count)); });
  return items;
}

std::int64_t num_words(const WordCounter& counter) {
  std::int64_t total = 0;
  words_of(counter).for_each([&](Bytes, std::int64_t count) { total += count; });
  return total;
}

nb::list taken_unsettled(WordCounter& counter) {
  nb::list parts;
  for (const WordCounter::Part& part : counter.take_unsettled()) parts.append(nb::make_tuple(part.text, part.count));
  return parts;
}

nb::list counted_characters(const WordCounter& counter) {
  struct Count {
    std::int64_t times = 0;
    bool is_inside = false;
  };
  const PretokenCounts& words = words_of(counter);
  std::vector<Count> counts(0x110000);
  {
    const nb::gil_scoped_release unlocked;
    words.for_each([&](Bytes word, std::int64_t count) {
      const Byte* const end = word.data() + word.size();
      for (const Byte* p = word.data(); p != end;) {
        const TextCharacter character = text_character_at(p, end);
        counts[character.code_point].times += count;
        counts[character.code_point].is_inside |= p != word.data();
        p += character.length;
      }
    });
  }
  nb::list found;
  for (std::uint32_t code_point = 0; code_point < counts.size(); ++code_point) {
    if (counts[code_point].times == 0) continue;
    Byte bytes[4];
    const auto size = static_cast<std::size_t>(write_character(code_point, bytes) - bytes);
    found.append(nb::make_tuple(to_str({bytes, size}), counts[code_point].times, counts[code_point].is_inside));
  }
  return found;
}

Objective objective_named(const std::string& name) {
  if (name == "frequency") return Objective::Frequency;
  if (name == "likelihood") return Objective::Likelihood;
  throw std::invalid_argument("there is no objective \"" + name + "\"");
}

std::vector<std::string> train(const WordCounter& counter, std::vector<std::string> pieces, const std::vector<std::string>& letters,
                               std::size_t num_pieces, const std::string& objective, std::int64_t min_frequency,
                               std::string prefix, std::uint64_t seed, nb::object progress) {
  if (min_frequency < 1) throw std::invalid_argument("min_frequency must be at least 1");
  const PretokenCounts& words = words_of(counter);
  PieceTrainer trainer(std::move(pieces), letters, {num_pieces, objective_named(objective), min_frequency, std::move(prefix), seed});
  Reporter report(std::move(progress));
  {
    const nb::gil_scoped_release unlocked;
    trainer.train(words, [&](std::size_t done) { report(done); });
  }
  return trainer.pieces();
}

std::int64_t count_tokens(const WordPieceEncoder& encoder, const WordCounter& counter, unsigned threads) {
  const PretokenCounts& words = words_of(counter);
  const std::shared_ptr<const Pieces> pieces = encoder.model();
  const nb::gil_scoped_release unlocked;
  std::atomic<std::int64_t> total = 0;
  Turns turns(PretokenCounts::kParts);
  run_on(std::max(threads, 1u), [&] {
    std::vector<Id> ids;
    std::int64_t sum = 0;
    for (std::size_t turn; turns.take(turn);) {
      words.for_each_in(turn, [&](Bytes word, std::int64_t count) {
        if (ids.size() < word.size()) ids.resize(word.size() * 2);
        const auto characters = std::ranges::count_if(word, [](Byte byte) { return !is_continuation(byte); });
        sum += count * static_cast<std::int64_t>(pieces->encode(word, static_cast<std::size_t>(characters), ids.data()));
      });
    }
    total += sum;
  });
  return total;
}

}  // namespace

void bind_training(nb::module_& module) {
  nb::class_<WordCounter> counter(module, "WordCounter");
  bind_documents(counter);
  bind_words(counter);
  counter
      .def(nb::new_(&made_counter), nb::kw_only(), "special_tokens"_a, "settled"_a.noconvert(), "max_characters_per_word"_a,
           "clean_text"_a, "handle_chinese_chars"_a, "strip_accents"_a, "lowercase"_a, "threads"_a, "seed"_a)
      .def("take_unsettled", &taken_unsettled, "Parts of the text with characters that are not settled, and their counts.")
      .def(
          "add_counted",
          [](WordCounter& self, nb::handle word, std::int64_t count) {
            if (count < 1) throw std::invalid_argument("a count must be positive");
            self.add_counted(utf8_view(word), count);
          },
          "word"_a, "count"_a, "Occurrences of a word that was normalized elsewhere.")
      .def("items", &counted_items, "Each distinct word and its count, in no order.")
      .def("characters", &counted_characters, "(character, count, whether it stands inside words) by code point.")
      .def_prop_ro("words", &num_words)
      .def_prop_ro("distinct_words", [](const WordCounter& self) { return words_of(self).size(); })
      .def_prop_ro("too_long", [](const WordCounter& self) { return self.too_long(); });
  module.def("train", &train, "counter"_a, nb::kw_only(), "pieces"_a, "letters"_a, "num_pieces"_a, "objective"_a,
             "min_frequency"_a, "prefix"_a, "seed"_a, "progress"_a.none(), "The pieces that there are, and those that are learned.");
  module.def("count_tokens", &count_tokens, "encoder"_a, "counter"_a, "threads"_a, "How many tokens the counted words become.");
}

}  // namespace tokbench
