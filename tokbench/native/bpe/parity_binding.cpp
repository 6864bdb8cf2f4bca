// Parity-aware training, for Python.
#include <variant>

#include "binding.hpp"
#include "parity_trainer.hpp"
#include "pretoken_counter.hpp"
#include "training/python_words.hpp"
#include "training/word_list.hpp"

namespace tokbench {

using namespace nb::literals;

namespace {

// The pre-tokens of one text, from either class that counts them.
class CountedText {
 public:
  explicit CountedText(nb::handle counter) {
    if (nb::isinstance<WordList>(counter)) {
      counts_ = nb::cast<const WordList*>(counter);
      return;
    }
    const auto* counted = nb::cast<const PretokenCounter*>(counter);
    if (!counted->is_finished()) throw std::invalid_argument("a counter is not finished");
    counts_ = &counted->counts();
  }

  template <class Sink>
  void for_each(const Sink& sink) const {
    std::visit([&](const auto* counts) { counts->for_each(sink); }, counts_);
  }

 private:
  std::variant<const PretokenCounts*, const WordList*> counts_;
};

std::vector<CountedText> texts_of_list(const nb::list& counters) {
  std::vector<CountedText> texts;
  for (const nb::handle counter : counters) texts.emplace_back(counter);
  return texts;
}

void check(const std::vector<CountedText>& languages, const std::vector<CountedText>& development, const ParityOptions& options) {
  if (options.training.min_frequency < 1) throw std::invalid_argument("min_frequency must be at least 1");
  if (development.empty()) throw std::invalid_argument("there is no development text");
  if (languages.size() < development.size()) throw std::invalid_argument("a development text has no language");
  if (options.divisors.size() != development.size()) throw std::invalid_argument("there must be a divisor for each language");
  for (const std::int64_t divisor : options.divisors) {
    if (divisor < 1 || divisor > LanguageChoice::kMost) throw std::invalid_argument("a divisor is out of range");
  }
  for (const CountedText& text : development) {
    std::int64_t num_bytes = 0;
    text.for_each([&](Bytes word, std::int64_t count) { num_bytes += count * static_cast<std::int64_t>(word.size()); });
    if (num_bytes > LanguageChoice::kMost) throw std::invalid_argument("a development text has more than 2 GiB");
  }
}

template <class Symbol>
nb::tuple run(const std::vector<CountedText>& languages, const std::vector<CountedText>& development, const ParityOptions& options,
              nb::object progress) {
  std::vector<Id> pairs;
  std::vector<std::int64_t> counts, development_tokens;
  std::vector<std::int32_t> chosen_for;
  std::int64_t num_tokens = 0;
  {
    Reporter report(std::move(progress));
    const nb::gil_scoped_release unlocked;
    ParityTrainerOf<Symbol> trainer(languages, development, options, report);
    while (trainer.step()) report(trainer.merges().size());
    for (const Merge& merge : trainer.merges()) {
      pairs.push_back(merge.left);
      pairs.push_back(merge.right);
      counts.push_back(merge.count);
    }
    chosen_for = trainer.chosen_for();
    num_tokens = trainer.num_tokens();
    development_tokens = trainer.development_tokens();
  }
  const std::size_t size = counts.size();
  return nb::make_tuple(to_array(std::move(pairs), {size, 2}), to_array(std::move(counts)), num_tokens,
                        to_array(std::move(chosen_for)), to_array(std::move(development_tokens)));
}

nb::tuple train_for_parity(const nb::list& languages, const nb::list& development, std::size_t num_merges, std::size_t num_global,
                           std::vector<std::int64_t> divisors, std::size_t window, std::size_t most_taken,
                           std::int64_t min_frequency, std::size_t max_token_length, std::uint64_t seed, nb::object progress) {
  const std::vector<CountedText> texts = texts_of_list(languages), held = texts_of_list(development);
  const ParityOptions options{
      {num_merges, min_frequency, max_token_length, seed}, num_global, std::move(divisors), window, most_taken};
  check(texts, held, options);
  return num_merges + 256 <= (1 << 16) ? run<std::uint16_t>(texts, held, options, std::move(progress))
                                       : run<std::uint32_t>(texts, held, options, std::move(progress));
}

}  // namespace

void bind_parity(nb::module_& module) {
  module.def("train_for_parity", &train_for_parity, "languages"_a, "development"_a, nb::kw_only(), "num_merges"_a,
             "num_global"_a, "divisors"_a, "window"_a, "most_taken"_a, "min_frequency"_a, "max_token_length"_a, "seed"_a,
             "progress"_a.none(),
             "Learn merges for one language after another: what train gives, int32[n] languages, int64 tokens of the "
             "development texts.");
}

}  // namespace tokbench
