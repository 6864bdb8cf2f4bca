// Unigram as the encoder runs it: words as they stand in the text, each by itself normalised and cut, and one sum of scores
// through all of them.
//
// A word is remembered with the sums before it for which its best cut stays what it is (best_path.hpp). The sum runs along, token
// by token, in the precision of the library; a word whose cut is not certain at the sum before it is cut anew there.
#pragma once

#include <atomic>

#include "best_path.hpp"
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
    explicit Solver(const Model& model) : model_(model), path_(model.pieces), parts_(model.pieces, model.form, path_) {}

    const Model& model() const { return model_; }

    // As a word is remembered.
    std::size_t solve(Bytes word, std::uint64_t, Id* out) {
      if (word.size() <= kMostRemembered) {
        const std::size_t count = remembered(word, out);
        if (count != 0) return count;
      }
      out[0] = 0;
      return 1;
    }
    const void* slot_of(std::uint64_t) const { return nullptr; }

    // What it becomes behind a sum, which becomes the one behind it.
    std::size_t solve_behind(Real& sum, Bytes word, Id* out) {
      Real by_parts = sum;
      if (Id* end = out; parts_.solve_behind(by_parts, word, end)) {
        sum = by_parts;
        return static_cast<std::size_t>(end - out);
      }
      model_.form.normalize_word(word, normal_);
      return path_.at(sum, normal_.bytes, out);
    }

    // The same of a text that is not cut.
    std::size_t solve_text(Bytes text, Id* out) {
      Real sum = 0;
      model_.form.normalize_text(text, normal_);
      return path_.at(sum, normal_.bytes, out);
    }

   private:
    // 0 where no sum is told for which it stays so.
    std::size_t remembered(Bytes word, Id* out) {
      if (const auto told = parts_.remembered(word, out)) return *told;
      model_.form.normalize_word(word, normal_);
      const std::size_t count = path_.anywhere(normal_.bytes, out);
      return count != 0 && packed::level_of(out[0]) == 0 ? 0 : count;
    }

    static constexpr std::size_t kMostRemembered = 1024;  // bytes; the word store takes no longer ones

    const Model& model_;
    BestPath<Real> path_;
    PartSolver<Real, Form> parts_;
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
    Adding<Worker, Output> adding{&worker, output};
    const Bytes rest = puts_space_in_front_ ? encode_first(worker, utf8, adding) : utf8;
    if (!rest.empty()) worker.encode(split, rest, adding);
    output = adding.output;
    counts_->words.fetch_add(adding.words, std::memory_order_relaxed);
    counts_->doubtful.fetch_add(adding.doubtful, std::memory_order_relaxed);
  }

 private:
  // Takes the words of a text with what is remembered of them, and gives ids to an output.
  template <class Worker, class Output>
  struct Adding {
    Worker* worker;
    Output output;
    Real sum = 0;
    Bytes word{};
    Id* unseen = nullptr;
    std::uint64_t words = 0, doubtful = 0;

    void begin(std::size_t most) { output.begin(most * most_per_byte()); }
    void begin_word(const TextWord& next) {
      word = next.bytes();
      ++words;
    }
    void put(const WordEntry& entry) {
      if (entry.count() == 0) return;
      if (!is_certain(entry.few()[0])) return put_anew();
      add({entry.few(), entry.count()});
      if constexpr (kWrites) {
        Id* const first = output.out;
        output.put(entry);
        for (std::size_t i = 0; i < WordEntry::kMaxIds; ++i) first[i] &= packed::kIdMask;
      } else {
        output.put(entry);
      }
    }
    void put(std::span<const Id> numbers) {
      if (!is_certain(numbers[0])) return put_anew();
      add(numbers);
      if constexpr (kWrites) {
        for (const Id number : numbers) *output.out++ = packed::id_of(number);
      } else {
        output.put(numbers);
      }
    }
    Id* room(Worker& its, std::size_t size) { return unseen = output.room(its, size * most_per_byte()); }
    void use(std::size_t count) {
      if (count == 0) return;
      if (!is_certain(unseen[0])) return put_anew();
      add({unseen, count});
      for (std::size_t i = 0; i < count; ++i) unseen[i] = packed::id_of(unseen[i]);
      output.use(count);
    }
    void end() { output.end(); }

   private:
    static constexpr bool kWrites = requires(Output& o) { o.out; };

    std::size_t most_per_byte() const { return worker->solver().model().form.most_made(1); }
    bool is_certain(Id number) const {
      return static_cast<double>(std::abs(sum)) < static_cast<double>(kSteadyBelow<Real>[packed::level_of(number)]);
    }
    void add(std::span<const Id> numbers) {
      for (const Id number : numbers) sum = worker->solver().model().pieces.added(sum, number);
    }
    void put_anew() {
      ++doubtful;
      Id* const ids = output.room(*worker, word.size() * most_per_byte());
      output.use(worker->solver().solve_behind(sum, word, ids));
    }
  };

  // The first word with one more space in front; returns what is behind it.
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
