// Counting and training for Python.
#include "binding.hpp"
#include "continuation.hpp"
#include "pretoken_counter.hpp"
#include "trainer.hpp"
#include "training/python_words.hpp"
#include "training/word_list.hpp"

namespace tokbench {

using namespace nb::literals;

namespace {

// The counts of a finished counter; before that, they are spread over threads.
const PretokenCounts& counts_of(const PretokenCounter& counter) {
  if (!counter.is_finished()) throw std::invalid_argument("the counter is not finished");
  return counter.counts();
}

const WordList& counts_of(const WordList& words) { return words; }

template <class C>
nb::list counted_items(const C& counter) {
  nb::list items;
  counts_of(counter).for_each([&](Bytes text, std::int64_t count) {
    items.append(nb::make_tuple(nb::bytes(reinterpret_cast<const char*>(text.data()), text.size()), count));
  });
  return items;
}

// The result of a trainer, for Python.
struct Learned {
  std::vector<Id> pairs;
  std::vector<std::int64_t> counts;
  std::int64_t num_tokens = 0;
};

template <class Trainer>
void run(Trainer& trainer, Learned& learned, Reporter& report) {
  while (trainer.step()) report(trainer.merges().size());
  for (const Merge& merge : trainer.merges()) {
    learned.pairs.push_back(merge.left);
    learned.pairs.push_back(merge.right);
    learned.counts.push_back(merge.count);
  }
  learned.num_tokens = trainer.num_tokens();
}

nb::tuple to_python(Learned&& learned) {
  const std::size_t size = learned.counts.size();
  return nb::make_tuple(to_array(std::move(learned.pairs), {size, 2}), to_array(std::move(learned.counts)),
                        learned.num_tokens);
}

template <class C>
nb::tuple train(const C& counter, std::size_t num_merges, std::int64_t min_frequency,
                std::size_t max_token_length, std::uint64_t seed, nb::object progress, unsigned threads) {
  if (min_frequency < 1) throw std::invalid_argument("min_frequency must be at least 1");
  const auto& pretokens = counts_of(counter);
  Learned learned;
  {
    Reporter report(std::move(progress));
    const nb::gil_scoped_release unlocked;
    Trainer trainer(pretokens, {num_merges, min_frequency, max_token_length, seed, threads});
    run(trainer, learned, report);
  }
  return to_python(std::move(learned));
}

nb::tuple continue_training(const InputArray<Id>& ids, const InputArray<std::int64_t>& offsets,
                            const InputArray<std::int64_t>& counts, const nb::list& tokens, std::size_t num_merges,
                            std::int64_t min_frequency, std::size_t max_token_length, std::size_t max_words,
                            const nb::bytes& excluded, std::uint64_t seed, nb::object progress) {
  if (min_frequency < 1) throw std::invalid_argument("min_frequency must be at least 1");
  const std::vector<std::string_view> known = views_of_list(tokens);
  const CutWords words{view(ids), view(offsets), view(counts)};
  const std::string_view never(excluded.c_str(), excluded.size());
  Learned learned;
  {
    Reporter report(std::move(progress));
    const nb::gil_scoped_release unlocked;
    words.check(known);
    const ContinuationOptions options{{num_merges, min_frequency, max_token_length, seed}, max_words, never};
    if (known.size() + num_merges <= ContinuationOf<std::uint16_t>::kMostTokens) {
      ContinuationOf<std::uint16_t> trainer(words, known, options);
      run(trainer, learned, report);
    } else {
      ContinuationOf<std::uint32_t> trainer(words, known, options);
      run(trainer, learned, report);
    }
  }
  return to_python(std::move(learned));
}

void add_each(WordList& words, const InputArray<std::uint8_t>& data, const InputArray<std::int64_t>& offsets,
              const InputArray<std::int64_t>& counts) {
  const Bytes bytes = view(data);
  const std::span<const std::int64_t> places = view(offsets), times = view(counts);
  const nb::gil_scoped_release unlocked;
  check_arrays(bytes, places, times);
  for_each_word(bytes, places, times, [&](Bytes word, std::int64_t count) { words.add(word, count); });
}

// Binds the methods that both classes of counted pre-tokens have.
template <class C>
void bind_counts(nb::class_<C>& type, nb::module_& module) {
  module.def("train", &train<C>, "counter"_a, nb::kw_only(), "num_merges"_a, "min_frequency"_a, "max_token_length"_a,
             "seed"_a, "progress"_a.none(), "threads"_a = 1,
             "Learn merges from counted pre-tokens: (uint32[n, 2] pairs, int64[n] counts, tokens of the text).");
  type.def("items", &counted_items<C>, "Each distinct pre-token and its count, in no order.")
      .def_prop_ro("pretokens", [](const C& self) { return self.totals().pretokens; })
      .def_prop_ro("distinct_pretokens", [](const C& self) { return counts_of(self).size(); });
}

void bind_word_list(nb::module_& module) {
  nb::class_<WordList> words(module, "WordList");
  bind_counts(words, module);
  words.def(nb::init<>())
      .def("add_arrays", &add_each, "data"_a.noconvert(), "offsets"_a.noconvert(), "counts"_a.noconvert(),
           "Words that were counted elsewhere, each of them once.")
      .def(
          "add_totals",
          [](WordList& self, std::uint64_t documents, std::uint64_t bytes, std::uint64_t pretokens) {
            self.add_totals({documents, bytes, pretokens});
          },
          nb::kw_only(), "documents"_a, "num_bytes"_a, "pretokens"_a)
      .def("finish", [](const WordList&) {}, "Nothing is pending here.")
      .def_prop_ro("memory", &WordList::memory, "Bytes that it takes.")
      .def_prop_ro("documents", [](const WordList& self) { return self.totals().documents; })
      .def_prop_ro("num_bytes", [](const WordList& self) { return self.totals().bytes; });
}

}  // namespace

void bind_training(nb::module_& module) {
  module.def("continue_training", &continue_training, "ids"_a.noconvert(), "offsets"_a.noconvert(), "counts"_a.noconvert(),
             "tokens"_a, nb::kw_only(), "num_merges"_a, "min_frequency"_a, "max_token_length"_a, "max_words"_a,
             "excluded"_a, "seed"_a, "progress"_a.none(),
             "Learn merges after those of a vocabulary, from words cut into its tokens: as train.");

  nb::class_<PretokenCounter> counter(module, "PretokenCounter");
  bind_documents(counter);
  bind_words(counter);
  bind_counts(counter, module);
  counter
      .def(
          "__init__",
          [](PretokenCounter* self, nb::handle pattern, std::vector<std::string> special_tokens,
             unsigned threads, std::uint64_t seed) {
            new (self) PretokenCounter(PatternSplitter(pattern_of(pattern)), checked(std::move(special_tokens)), threads, seed);
          },
          nb::kw_only(), "pattern"_a.none(), "special_tokens"_a, "threads"_a, "seed"_a)
      .def(
          "add_counted",
          [](PretokenCounter& self, nb::handle pretoken, std::int64_t count) {
            if (count < 1) throw std::invalid_argument("a count must be positive");
            self.add_counted(utf8_view(pretoken), count);
          },
          "pretoken"_a, "count"_a, "Occurrences of a pre-token that was split off elsewhere.");
  bind_word_list(module);
}

}  // namespace tokbench
