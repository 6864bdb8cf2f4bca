// Unigram of a SentencePiece model for the encoder: each word of the raw text is normalized and segmented by itself, with one
// running sum of scores over the whole text.
//
// A word is remembered together with the range of preceding sums for which its segmentation holds (best_path.hpp). The running
// sum is added up token by token in the library's precision; a word outside its range is segmented again at the true sum.
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

// How many words were encoded, and how many of them were segmented again because of the preceding sum.
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

    // Writes the packed ids of a word to be remembered; a single 0 where its segmentation holds for no range of sums.
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

    // Segments the word that was solved last at the given preceding sum, and updates the sum.
    std::size_t solve_last_after(Real& sum, Id* out) { return ahead_.after(sum, last_, out); }
    // The same for any word.
    std::size_t solve_after(Real& sum, Bytes word, Id* out) {
      alone_.take({&word, 1});
      return alone_.after(sum, 0, out);
    }

    // The same for a text that is not split into words.
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

  // A text has one running sum, so it cannot be divided among threads.
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
  // Passes the remembered ids of each word on to an output and keeps the running sum.
  //
  // Adding up scores word by word would be one long chain of dependent additions. Where ids are written to memory, they stay in
  // their packed form for as long as an upper bound on the sum suffices to accept them; then their scores are added in one go.
  template <class Worker, class Output>
  struct Adding {
    Worker* worker;
    Output output;
    std::size_t step;  // upper bound on the absolute score of a token
    Real sum = 0;      // the sum without the ids that wait
    Id* waiting = nullptr;
    std::size_t bound = 0;  // upper bound on the absolute sum, with the ids that wait
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

    // Adds ids to those that wait. The unused ids of an entry are 0.
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

  // Encodes the first word with a space in front of it (the dummy prefix); returns the rest of the text.
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
