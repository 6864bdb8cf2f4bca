// Unigram as the encoder runs it: words as they stand in the text, each by itself normalized and cut, and one sum of scores
// through all of them.
//
// A word is remembered with the sums before it for which its best cut stays what it is (best_path.hpp). The sum runs along, token
// by token, in the precision of the library; a word whose cut is not certain at the sum before it is cut anew there.
#pragma once

#include <atomic>

#include "encoding/encoder.hpp"
#include "normal_form.hpp"
#include "part_solver.hpp"

namespace tokbench {

template <class Real, class Form>
struct UnigramText {
  UnigramModel<Real> pieces;
  Form form;
};

// How many words were looked at, and how many were cut anew for the sum before them.
struct UnigramCounts {
  std::atomic<std::uint64_t> words{0};
  std::atomic<std::uint64_t> doubtful{0};
};

template <class Real, class Form>
class UnigramFamily {
 public:
  using Model = UnigramText<Real, Form>;
  struct Reading {};

  class Solver {
   public:
    explicit Solver(const Model& model) : model_(model), ahead_(model.pieces, model.form), alone_(model.pieces, model.form) {}

    const Model& model() const { return model_; }

    // As words are remembered: where no sum is known for which it stays so, 0 alone.
    void prepare(std::span<const Bytes> words) { ahead_.take(words); }
    std::size_t solve_prepared(std::size_t number, Id* out) {
      last_ = number;
      if (const std::size_t count = ahead_.remembered(number, out); count != 0) return count;
      out[0] = 0;
      return 1;
    }
    std::size_t solve(Bytes word, std::uint64_t, Id* out) {
      prepare({&word, 1});
      return solve_prepared(0, out);
    }

    // What the last one that was solved becomes after a sum, which becomes the one after it.
    std::size_t solve_last_after(Real& sum, Id* out) { return ahead_.after(sum, last_, out); }
    // The same of any word.
    std::size_t solve_after(Real& sum, Bytes word, Id* out) {
      alone_.take({&word, 1});
      return alone_.after(sum, 0, out);
    }

    // The same of a text that is not cut.
    std::size_t solve_text(Bytes text, Id* out) {
      Real sum = 0;
      model_.form.normalize_text(text, normal_);
      return alone_.text_after(sum, normal_.bytes, out);
    }

   private:
    const Model& model_;
    PartSolver<Real, Form> ahead_, alone_;
    std::size_t last_ = 0;
    NormalizedText normal_;
  };

  explicit UnigramFamily(const Form& form)
      : cut_(form.cut()), puts_space_in_front_(form.puts_space_in_front()), counts_(std::make_shared<UnigramCounts>()) {}

  SplitWords split_words() const { return words_of(cut_); }
  WordCut cut() const { return cut_; }
  const UnigramCounts& counts() const { return *counts_; }

  // One sum runs through a text.
  std::size_t first_safe_cut(const Text& text, std::size_t) const { return text.size; }
  std::size_t first_safe_cut(const Text& text, std::size_t, Reading) const { return text.size; }

  template <class Worker, class Output>
  void encode(Worker& worker, SplitWords split, const Text& text, Reading, Output& output) const {
    const Bytes utf8 = worker.utf8(text);
    if (utf8.empty()) return;
    const Form& form = worker.solver().model().form;
    if (!form.is_cut(utf8)) {
      output.begin(form.most_made(utf8.size()));
      output.use(worker.solver().solve_text(utf8, output.room(worker, form.most_made(utf8.size()))));
      return output.end();
    }
    const auto step = static_cast<std::size_t>(worker.solver().model().pieces.largest_step()) + 2;
    Adding<Worker, Output> adding{&worker, output, step};
    const Bytes rest = puts_space_in_front_ ? encode_first(worker, utf8, adding) : utf8;
    if (!rest.empty()) worker.encode(split, rest, adding);
    output = adding.output;
    counts_->words.fetch_add(adding.words, std::memory_order_relaxed);
    counts_->doubtful.fetch_add(adding.doubtful, std::memory_order_relaxed);
  }

 private:
  // Takes the words of a text with what is remembered of them, and gives ids to an output.
  //
  // To add up scores word by word would wait for each sum, and for how many ids a word has. Where ids are written, they wait as
  // they are remembered while a bound of the sum is enough to be certain of them; then they are added up together.
  template <class Worker, class Output>
  struct Adding {
    Worker* worker;
    Output output;
    std::size_t step;  // more than any token adds to the amount of the sum
    Real sum = 0;      // after all words, but for those that wait
    Id* waiting = nullptr;
    std::size_t bound = 0;  // of the sum, with them
    Bytes word{};
    Id* unseen = nullptr;
    std::uint64_t words = 0, doubtful = 0;

    void begin(std::size_t most) {
      output.begin(most * most_per_byte());
      if constexpr (kWrites) waiting = output.out;
    }
    void begin_word(const TextWord& next) {
      word = next.bytes();
      ++words;
    }
    void put(const WordEntry& entry) {
      if (entry.count() == 0) return;
      const Id* const few = entry.few();
      if (!is_certain(few[0])) [[unlikely]] return put_anew();
      if constexpr (!kWrites) add({few, entry.count()});
      output.put(entry);
      let_wait(entry.count(), {few, WordEntry::kMaxIds});
    }
    void put(std::span<const Id> numbers) {
      if (!is_certain(numbers[0])) [[unlikely]] return put_anew();
      if constexpr (!kWrites) add(numbers);
      output.put(numbers);
      let_wait(numbers.size(), numbers);
    }
    Id* room(Worker& its, std::size_t size) { return unseen = output.room(its, size * most_per_byte()); }
    void use(std::size_t count) {
      if (count == 0) return;
      if (is_certain(unseen[0])) {
        if constexpr (!kWrites) add({unseen, count});
        output.use(count);
        return let_wait(count, {unseen, count});
      }
      ++doubtful;
      output.use(worker->solver().solve_last_after(sum, output.room(*worker, word.size() * most_per_byte())));
      begin_to_wait();
    }
    void end() {
      add_waiting();
      output.end();
    }

   private:
    static constexpr bool kWrites = requires(Output& o) { o.out; };

    const UnigramModel<Real>& pieces() const { return worker->solver().model().pieces; }
    std::size_t most_per_byte() const { return worker->solver().model().form.most_made(1); }

    bool is_certain(Id number) {
      const Real below = kSteadyBelow<Real>[packed::level_of(number)];
      if constexpr (kWrites) {
        if (bound < static_cast<std::size_t>(below)) [[likely]] return true;
        add_waiting();
      }
      return std::abs(sum) < below;
    }

    // So many ids; of an entry, what is after them is 0.
    void let_wait(std::size_t count, std::span<const Id> numbers) {
      for (const Id number : numbers) count += packed::unknown_of(number);
      bound += count * step;
    }

    void add(std::span<const Id> numbers) {
      for (const Id number : numbers) sum = pieces().added(sum, number & ~packed::kLevelMask);
    }
    void add_waiting() {
      if constexpr (kWrites) {
        for (; waiting != output.out; ++waiting) {
          sum = pieces().added(sum, *waiting & ~packed::kLevelMask);
          *waiting = packed::id_of(*waiting);
        }
      }
      begin_to_wait();
    }
    void begin_to_wait() {
      if constexpr (kWrites) waiting = output.out;
      bound = static_cast<std::size_t>(std::abs(sum)) + 1;
    }

    void put_anew() {
      ++doubtful;
      Id* const ids = output.room(*worker, word.size() * most_per_byte());
      output.use(worker->solver().solve_after(sum, word, ids));
      begin_to_wait();
    }
  };

  // The first word with one more space in front; returns what is after it.
  template <class Worker, class Output>
  static Bytes encode_first(Worker& worker, Bytes text, Output& output) {
    std::size_t size = 0;
    while (size < text.size() && text[size] == ' ') ++size;
    while (size < text.size() && text[size] != ' ') ++size;
    Byte* const spaced = worker.room_for_copies(size + 1);
    spaced[0] = ' ';
    std::copy_n(text.data(), size, spaced + 1);
    worker.encode_each([&](const auto& sink) { sink(Bytes(spaced, size + 1)); }, output);
    return text.subspan(size);
  }

  WordCut cut_;
  bool puts_space_in_front_;
  std::shared_ptr<UnigramCounts> counts_;
};

using SentencePieceUnigram = UnigramFamily<float, NormalForm>;
using SentencePieceUnigramEncoder = Encoder<SentencePieceUnigram>;

}  // namespace tokbench
