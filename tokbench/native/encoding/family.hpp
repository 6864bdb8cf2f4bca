// What an algorithm must provide to the encoder; everything else in this folder is shared by all algorithms.
//
// A text is cut into *words*, where the ids on each side of a cut do not depend on the other side. The ids of a word are looked up
// by its raw bytes among the words that any thread has seen; a new word is solved. A family that normalizes text does so in its
// solver, never before the lookup, so that repeated words cost the same with and without normalization.
#pragma once

#include <concepts>
#include <memory>

#include "common/texts.hpp"
#include "text_words.hpp"

namespace tokbench {

// A family is a small value that threads share:
//
//   Model             the vocabulary; constant, shared by threads
//   Solver            solves words for one thread; constructed from a model that outlives it
//   split_words()     the function that cuts a text into words; bytes between words have no ids
//   first_safe_cut()  the first position at or after `from` > 0, in units, where a text can be cut in two without changing its
//                     ids; the size of the text if there is none
//
// and of a solver:
//
//   solve(word, hash, out)   writes the ids of a non-empty word to `out`, which has room for one id per byte, and returns their
//                            number. The result depends on the bytes alone, not on their context. `hash` is hash_of(word)
//
// A family may also have completed(model), which builds tables that only pay for large texts: an encoder starts with the model as
// given, and switches to completed(model), which must give the same ids, after it has seen some text.
template <class F>
concept Family = requires(const F& family, const typename F::Model& model, typename F::Solver& solver, const Text& text,
                          Bytes word, std::uint64_t hash, Id* out, std::size_t from) {
  typename F::Solver;
  requires std::constructible_from<typename F::Solver, const typename F::Model&>;
  { family.split_words() } -> std::same_as<SplitWords>;
  { family.first_safe_cut(text, from) } -> std::same_as<std::size_t>;
  { solver.solve(word, hash, out) } -> std::same_as<std::size_t>;
};

template <class F>
concept Completes = requires(std::shared_ptr<const typename F::Model> model) {
  { F::completed(model) } -> std::same_as<std::shared_ptr<const typename F::Model>>;
};

// A solver may have fetch(hash), which prefetches the memory that solve() reads first.
template <class S>
concept FetchesWords = requires(const S& solver, std::uint64_t hash) { solver.fetch(hash); };

// A solver that is faster with several words at once may have
//
//   prepare(words)                 receives the new words of a batch, which stay valid
//   solve_prepared(number, out)    solves one of them by its index; of repeated words, only the first
template <class S>
concept PreparesWords = requires(S& solver, std::span<const Bytes> words, std::size_t number, Id* out) {
  solver.prepare(words);
  { solver.solve_prepared(number, out) } -> std::same_as<std::size_t>;
};

// A word that is not in the store: its bytes, their hash, and its ids once it is solved.
struct NewWord {
  Bytes bytes;
  std::uint64_t hash;
  std::span<const Id> ids;
};

// A solver that interleaves the work on several words may have
//
//   solve_together(words)   solves distinct words; their ids are valid until the next call
//
// New words are collected over several batches for it: the ids of the words after them are written first, and theirs are inserted
// later.
template <class S>
concept SolvesTogether = requires(S& solver, std::span<NewWord> words) { solver.solve_together(words); };

// A family that does more to a text than cut it into words has a type Reading, the options for reading a text, and
//
//   encode(worker, split_words, text, reading, output)   encodes a text into `output` with the worker
//   first_safe_cut(text, from, reading)                  as above, under these options
template <class F>
concept PreparesTexts = requires { typename F::Reading; };

// A family that treats the ends of a text differently from its middle has
//
//   encode(worker, text, ends, output)   encodes a text, or a part of one that contains the given ends, into `output`
//
// and cuts texts into words by itself: its split_words() is not called. With a Reading, that is the argument after the ends.

struct OnlyReading {};

template <class F>
struct ReadingFor {
  using Type = OnlyReading;
};
template <PreparesTexts F>
struct ReadingFor<F> {
  using Type = typename F::Reading;
};
template <class F>
using ReadingOf = typename ReadingFor<F>::Type;

}  // namespace tokbench
