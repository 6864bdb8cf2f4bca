// What an algorithm brings to the encoder; everything else in this folder is the same for all of them.
//
// A text is cut into *words* where nothing that happens on one side of the cut depends on the other side. The ids of a word
// are looked up among those that any thread has seen, by its bytes as they stand in the text; a new word is solved. A family
// whose algorithm rewrites text does so in its solver: what is looked up is never rewritten, so that words that come back
// cost nothing more than under one that does not.
#pragma once

#include <concepts>
#include <memory>

#include "common/texts.hpp"
#include "text_words.hpp"

namespace tokbench {

// A family is a small value, shared by threads:
//
//   Model             what the encoder was made of; constant, and shared by threads
//   Solver            what one thread solves words with: made of a model that outlives it
//   split_words()     the function that cuts a text into words. What it leaves out between words has no ids
//   first_safe_cut()  the first place at `from` > 0 or after it, in units, where a text can be cut into two of the same
//                     ids; the size of the text where there is none
//
// and of a solver:
//
//   solve(word, hash, out)   writes the ids of a word (not empty) to `out`, which has room for one a byte; returns how many.
//                            The same for the same bytes, whatever stands around them. `hash` is hash_of() the word
//
// A family that also has completed(model) is given a chance to make what large texts pay for: an encoder works with the
// model as it was made until it has seen some text, and with completed(model), the same or one of the same ids, from then on.
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

// A solver that knows where solve() reads first also has fetch(hash), which has that fetched beforehand.
template <class S>
concept FetchesWords = requires(const S& solver, std::uint64_t hash) { solver.fetch(hash); };

// A solver that is faster with several words at once also has
//
//   prepare(words)                 is given the new words of a batch, which stay where they are
//   solve_prepared(number, out)    solves one of them, by its number; of those that come twice, the first alone
template <class S>
concept PreparesWords = requires(S& solver, std::span<const Bytes> words, std::size_t number, Id* out) {
  solver.prepare(words);
  { solver.solve_prepared(number, out) } -> std::same_as<std::size_t>;
};

// A word that the store does not have: its bytes, their hash, and its ids once it is solved.
struct NewWord {
  Bytes bytes;
  std::uint64_t hash;
  std::span<const Id> ids;
};

// A solver that solves words that come together faster than one after the other also has
//
//   solve_together(words)   solves words, none of them twice; their ids stay until the next call
//
// and these words are those of many batches: the words after a new one are put first, and its ids come between later.
template <class S>
concept SolvesTogether = requires(S& solver, std::span<NewWord> words) { solver.solve_together(words); };

// A family that does more to a text than cut it into words has a Reading, which says how a text is read, and
//
//   encode(worker, split_words, text, reading, output)   gives the ids of a text to `output`, by what the worker offers
//   first_safe_cut(text, from, reading)                  as above, of a text that is read so
template <class F>
concept PreparesTexts = requires { typename F::Reading; };

// A family to which the ends of a text are not what its middle is has
//
//   encode(worker, text, ends, output)   gives the ids of a text, or of a part of one with its ends, to `output`
//
// and cuts texts into words by what it likes: nobody asks for its split_words(). One that has a Reading, too, gets it after
// the ends.

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
