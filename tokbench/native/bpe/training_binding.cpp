// Counting and training for Python.
#include "binding.hpp"
#include "pretoken_counter.hpp"
#include "trainer.hpp"
#include "training/python_words.hpp"

namespace tokbench {

using namespace nb::literals;

namespace {

// The counts of a finished counter; before that, they are spread over threads.
const PretokenCounts& counts_of(const PretokenCounter& counter) {
  if (!counter.is_finished()) throw std::invalid_argument("the counter is not finished");
  return counter.counts();
}

nb::list counted_items(const PretokenCounter& counter) {
  nb::list items;
  counts_of(counter).for_each([&](Bytes text, std::int64_t count) {
    items.append(nb::make_tuple(nb::bytes(reinterpret_cast<const char*>(text.data()), text.size()), count));
  });
  return items;
}

nb::tuple train(const PretokenCounter& counter, std::size_t num_merges, std::int64_t min_frequency,
                std::size_t max_token_length, std::uint64_t seed, nb::object progress) {
  if (min_frequency < 1) throw std::invalid_argument("min_frequency must be at least 1");
  const PretokenCounts& pretokens = counts_of(counter);
  std::vector<Id> pairs;
  std::vector<std::int64_t> counts;
  std::int64_t num_tokens = 0;
  {
    Reporter report(std::move(progress));
    const nb::gil_scoped_release unlocked;
    Trainer trainer(pretokens, {num_merges, min_frequency, max_token_length, seed});
    while (trainer.step()) report(trainer.merges().size());
    for (const Merge& merge : trainer.merges()) {
      pairs.push_back(merge.left);
      pairs.push_back(merge.right);
      counts.push_back(merge.count);
    }
    num_tokens = trainer.num_tokens();
  }
  const std::size_t learned = counts.size();
  return nb::make_tuple(to_array(std::move(pairs), {learned, 2}), to_array(std::move(counts)), num_tokens);
}

}  // namespace

void bind_training(nb::module_& module) {
  module.def("train", &train, "counter"_a, nb::kw_only(), "num_merges"_a, "min_frequency"_a, "max_token_length"_a,
             "seed"_a, "progress"_a.none(),
             "Learn merges from a finished counter: (uint32[n, 2] pairs, int64[n] counts, tokens of the text).");

  nb::class_<PretokenCounter> counter(module, "PretokenCounter");
  bind_documents(counter);
  bind_words(counter);
  counter
      .def(
          "__init__",
          [](PretokenCounter* self, const std::optional<std::string>& pattern, std::vector<std::string> special_tokens,
             unsigned threads, std::uint64_t seed) {
            new (self) PretokenCounter(PatternSplitter(pattern_or_none(pattern)), checked(std::move(special_tokens)), threads, seed);
          },
          nb::kw_only(), "pattern"_a.none(), "special_tokens"_a, "threads"_a, "seed"_a)
      .def(
          "add_counted",
          [](PretokenCounter& self, nb::handle pretoken, std::int64_t count) {
            if (count < 1) throw std::invalid_argument("a count must be positive");
            self.add_counted(utf8_view(pretoken), count);
          },
          "pretoken"_a, "count"_a, "Occurrences of a pre-token that was split off elsewhere.")
      .def("items", &counted_items, "Each distinct pre-token and its count, in no order.")
      .def_prop_ro("pretokens", [](const PretokenCounter& self) { return self.totals().pretokens; })
      .def_prop_ro("distinct_pretokens", [](const PretokenCounter& self) { return counts_of(self).size(); });
}

}  // namespace tokbench
