// Unigram of a `tokenizer.json` for the encoder: the text is split at added tokens, then into pre-tokens, each with a sum of
// scores of its own.
#pragma once

#include "document_form.hpp"
#include "encoding/added_tokens.hpp"
#include "encoding/encoder.hpp"
#include "part_solver.hpp"
#include "word_cuts.hpp"

namespace tokbench {

struct UnigramDocument {
  UnigramModel<double> pieces;
  DocumentForm form;
};

class DocumentUnigram {
 public:
  using Model = UnigramDocument;

  struct Reading {
    bool is_normalized = false;  // the text was already split at the added tokens that are matched before normalization
  };

  class Solver {
   public:
    explicit Solver(const Model& model) : parts_(model.pieces, model.form), form_(model.form) {}

    const DocumentForm& form() const { return form_; }

    void prepare(std::span<const Bytes> words) { parts_.take(words); }
    std::size_t solve_prepared(std::size_t number, Id* out) {
      double sum = 0;
      return parts_.after(sum, number, out);
    }
    std::size_t solve(Bytes word, std::uint64_t, Id* out) {
      parts_.take({&word, 1});
      return solve_prepared(0, out);
    }

    // Solves a word without ▁ in front, whose ids differ from those that are remembered.
    std::size_t solve_unmarked(Bytes word, Id* out) {
      Id* const first = out;
      form_.for_each_unmarked_text(word, normal_, [&](Bytes text) {
        double sum = 0;
        out += parts_.text_after(sum, text, out);
      });
      return static_cast<std::size_t>(out - first);
    }

   private:
    PartSolver<double, DocumentForm> parts_;
    const DocumentForm& form_;
    NormalizedText normal_;
  };

  // `found_first` are the added tokens that are matched before normalization; the form has those that are matched after it.
  explicit DocumentUnigram(AddedTokenSet found_first)
      : found_first_(std::make_shared<const AddedTokenSet>(std::move(found_first))),
        reaches_spaces_(!found_first_->may_be_cut_before_spaces()) {}

  const AddedTokenSet& found_first() const { return *found_first_; }

  SplitWords split_words() const { return words_of(WordCut::AtWhiteSpace); }

  // A text can be cut before white space; where added tokens are matched, only before a space after a letter or digit. "\r\n" is
  // never cut, because the library reports it as one character.
  std::size_t first_safe_cut(const Text& text, std::size_t from) const { return first_safe_cut(text, from, {}); }
  std::size_t first_safe_cut(const Text& text, std::size_t from, Reading reading) const {
    const bool has_tokens = !reading.is_normalized && !found_first_->empty();
    if (has_tokens && reaches_spaces_) return text.size;
    const auto among = [&](const auto* units) {
      for (std::size_t cut = from; cut < text.size; ++cut) {
        const std::uint32_t before = cut > 0 ? units[cut - 1] : 0;
        if (has_tokens ? units[cut] == ' ' && is_ascii_word(before) : units[cut] == ' ' || (units[cut] == '\n' && before != '\r')) return cut;
      }
      return text.size;
    };
    if (text.units == Units::Ucs2) return among(static_cast<const std::uint16_t*>(text.data));
    if (text.units == Units::Ucs4) return among(static_cast<const std::uint32_t*>(text.data));
    return among(static_cast<const std::uint8_t*>(text.data));
  }

  template <class Worker, class Output>
  void encode(Worker& worker, SplitWords split, const Text& text, Reading reading, Output& output) const {
    const Bytes utf8 = worker.utf8(text);
    if constexpr (requires { output.begin_text(utf8); }) output.begin_text(utf8);
    const auto encode_part = [&](Bytes part) {
      if constexpr (requires { output.begin_part(part); }) output.begin_part(part);
      const DocumentForm& form = worker.solver().form();
      Roomy<Worker, Output> roomy{output, form.most_made_per_byte()};
      if (!has_first_mark(form.first_mark(), part, utf8)) part = encode_first(worker, part, roomy);
      if (!part.empty()) worker.encode_words_of(split, part, roomy);
      output = roomy.output;
    };
    if (reading.is_normalized || found_first_->empty()) return encode_part(utf8);
    found_first_->cut(utf8, encode_part, [&](Id id, Bytes found) {
      if constexpr (requires { output.put_added(id, found); }) {
        output.put_added(id, found);
      } else {
        output.begin(1);
        output.put(std::span<const Id>(&id, 1));
        output.end();
      }
    });
  }

 private:
  // Whether ▁ is put in front of the first word of a part of a text.
  static bool has_first_mark(FirstMark mark, Bytes part, Bytes text) {
    return mark == FirstMark::Always || (mark == FirstMark::AtTextStart && part.data() == text.data());
  }

  // Encodes the first word of a part, which is empty if white space precedes it, without ▁; returns the rest of the part.
  template <class Worker, class Output>
  static Bytes encode_first(Worker& worker, Bytes part, Output& roomy) {
    const Bytes word = part.first(static_cast<std::size_t>(std::ranges::find_if(part, is_space<WordCut::AtWhiteSpace>) - part.begin()));
    if constexpr (requires { roomy.output.placing->add_unmarked(word); }) {
      roomy.output.placing->add_unmarked(word);
    } else {
      roomy.begin(word.size());
      Id* const ids = roomy.room(worker, word.size());
      roomy.use(worker.solver().solve_unmarked(word, ids));
      roomy.end();
    }
    return part.subspan(word.size());
  }

  // An output with room for more than one id per byte.
  template <class Worker, class Output>
  struct Roomy {
    Output output;
    std::size_t most_per_byte;

    void begin(std::size_t most) { output.begin(most * most_per_byte); }
    void begin_word(const TextWord& word) {
      if constexpr (requires { output.begin_word(word); }) output.begin_word(word);
    }
    void put(const WordEntry& entry) { output.put(entry); }
    void put(std::span<const Id> ids) { output.put(ids); }
    Id* room(Worker& worker, std::size_t size) { return output.room(worker, size * most_per_byte); }
    void use(std::size_t count) { output.use(count); }
    void end() { output.end(); }
  };

  std::shared_ptr<const AddedTokenSet> found_first_;
  bool reaches_spaces_;
};

using DocumentUnigramEncoder = Encoder<DocumentUnigram>;

}  // namespace tokbench
