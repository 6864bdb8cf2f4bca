// Unigram of a `tokenizer.json` as the encoder runs it: each pre-token has a sum of scores of its own.
#pragma once

#include "document_form.hpp"
#include "encoding/encoder.hpp"
#include "part_solver.hpp"
#include "word_lookup.hpp"

namespace tokbench {

struct UnigramDocument {
  UnigramModel<double> pieces;
  DocumentForm form;
};

class DocumentUnigram {
 public:
  using Model = UnigramDocument;
  struct Reading {};

  class Solver {
   public:
    explicit Solver(const Model& model) : parts_(model.pieces, model.form), form_(model.form) {}

    const DocumentForm& form() const { return form_; }

    void prepare(std::span<const Bytes> words) { parts_.take(words); }
    std::size_t solve_prepared(std::size_t number, Id* out) {
      double sum = 0;
      return parts_.behind(sum, number, out);
    }
    std::size_t solve(Bytes word, std::uint64_t, Id* out) {
      parts_.take({&word, 1});
      return solve_prepared(0, out);
    }
    const void* slot_of(std::uint64_t) const { return nullptr; }

   private:
    PartSolver<double, DocumentForm> parts_;
    const DocumentForm& form_;
  };

  SplitWords split_words() const { return words_of(WordCut::AtWhiteSpace); }

  // In front of white space.
  std::size_t first_safe_cut(const Text& text, std::size_t from) const {
    const auto among = [&](const auto* units) {
      for (std::size_t cut = from; cut < text.size; ++cut) {
        if (units[cut] == ' ' || units[cut] == '\n') return cut;
      }
      return text.size;
    };
    if (text.units == Units::Ucs2) return among(static_cast<const std::uint16_t*>(text.data));
    if (text.units == Units::Ucs4) return among(static_cast<const std::uint32_t*>(text.data));
    return among(static_cast<const std::uint8_t*>(text.data));
  }
  std::size_t first_safe_cut(const Text& text, std::size_t from, Reading) const { return first_safe_cut(text, from); }

  template <class Worker, class Output>
  void encode(Worker& worker, SplitWords split, const Text& text, Reading, Output& output) const {
    Roomy<Worker, Output> roomy{output, worker.solver().form().most_made_per_byte()};
    worker.encode(split, text, roomy);
    output = roomy.output;
  }

 private:
  // Gives an output more room than for an id a byte.
  template <class Worker, class Output>
  struct Roomy {
    Output output;
    std::size_t most_per_byte;

    void begin(std::size_t most) { output.begin(most * most_per_byte); }
    void put(const WordEntry& entry) { output.put(entry); }
    void put(std::span<const Id> ids) { output.put(ids); }
    Id* room(Worker& worker, std::size_t size) { return output.room(worker, size * most_per_byte); }
    void use(std::size_t count) { output.use(count); }
    void end() { output.end(); }
  };
};

using DocumentUnigramEncoder = Encoder<DocumentUnigram>;

}  // namespace tokbench
