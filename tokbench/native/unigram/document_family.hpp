// Unigram of a `tokenizer.json` as the encoder runs it: each pre-token has a sum of scores of its own.
#pragma once

#include "best_path.hpp"
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
    explicit Solver(const Model& model) : model_(model), path_(model.pieces), parts_(model.pieces, model.form, path_) {}

    const Model& model() const { return model_; }

    std::size_t solve(Bytes word, std::uint64_t, Id* out) {
      Id* const first = out;
      double sum_of_parts = 0;
      if (parts_.solve_behind(sum_of_parts, word, out)) return static_cast<std::size_t>(out - first);
      out = first;
      model_.form.for_each_pretoken(word, made_, [&](Bytes pretoken) {
        double sum = 0;
        out += path_.at(sum, pretoken, out);
      });
      return static_cast<std::size_t>(out - first);
    }
    const void* slot_of(std::uint64_t) const { return nullptr; }

   private:
    const Model& model_;
    BestPath<double> path_;
    PartSolver<double, DocumentForm> parts_;
    std::vector<Byte> made_;
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
    Roomy<Worker, Output> roomy{output, worker.solver().model().form.most_made_per_byte()};
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
