// An algorithm that encodes pre-tokens, in a text to which more is done than splitting it by one pattern: what a `tokenizer.json`
// can ask for.
#pragma once

#include <memory>
#include <optional>

#include "encoding/added_tokens.hpp"
#include "family.hpp"
#include "normalization/character_changes.hpp"
#include "normalization/nfc.hpp"
#include "split_steps.hpp"

namespace tokbench {

// Ends the pre-tokens of vocabularies in which the last letter of a word is a letter of its own: no UTF-8 has it.
inline constexpr Byte kEndMark = 0xFF;

// Begins the pre-tokens that are looked up where parts of a text with several of them are, too: no UTF-8 has it either.
inline constexpr Byte kPretokenMark = 0xFE;

struct Preparation {
  AddedTokens ordinary;              // that are found in every text
  AddedTokens with_specials;         // and those that are found where special tokens are
  std::optional<SplitSteps> steps;   // instead of the pattern
  bool marks_ends = false;           // whether each pre-token is followed by kEndMark; only in steps
  bool makes_nfc = false;            // whether texts are brought to NFC, but for what added tokens are found before
};

// `Base` is the family of the algorithm.
template <class Base>
class Prepared : public Base {
 public:
  struct Reading {
    bool has_specials = false;   // special tokens are found
    bool is_normalized = false;  // it was normalized; added tokens that are found before that were found, and are not in it
    const CharacterChanges* changes = nullptr;  // what is done to the text otherwise; here it is only looked at
  };

  // Solves parts of a text by splitting them, and marked pre-tokens, where it was given the steps.
  class Solver : public Base::Solver {
   public:
    using Base::Solver::Solver;

    void split_in(const SplitSteps& steps) { steps_ = &steps; }

    std::size_t solve(Bytes word, std::uint64_t hash, Id* out) {
      if (steps_ == nullptr) return Base::Solver::solve(word, hash, out);
      Id* next = out;
      for_each_pretoken(word, [&](Bytes pretoken) { next += Base::Solver::solve(pretoken, hash_of(pretoken), next); });
      return static_cast<std::size_t>(next - out);
    }

    void solve_together(std::span<NewWord> words)
      requires SolvesTogether<typename Base::Solver>
    {
      if (steps_ == nullptr) return Base::Solver::solve_together(words);
      pretokens_.clear();
      ends_.clear();
      std::size_t size = 0;
      for (const NewWord& word : words) {
        for_each_pretoken(word.bytes, [&](Bytes pretoken) { pretokens_.push_back({pretoken, hash_of(pretoken), {}}); });
        ends_.push_back(pretokens_.size());
        size += word.bytes.size();
      }
      Base::Solver::solve_together(pretokens_);
      if (ids_.size() < size) ids_.resize(size);
      Id* next = ids_.data();
      std::size_t i = 0;
      for (std::size_t k = 0; k < words.size(); ++k) {
        Id* const first = next;
        for (; i < ends_[k]; ++i) next = std::ranges::copy(pretokens_[i].ids, next).out;
        words[k].ids = {first, next};
      }
    }

   private:
    template <class Sink>
    void for_each_pretoken(Bytes word, const Sink& sink) const {
      if (word.front() == kPretokenMark) return sink(word.subspan(1));
      steps_->for_each_pretoken(word, nullptr, sink);
    }

    std::vector<NewWord> pretokens_;
    std::vector<std::size_t> ends_;  // of the pre-tokens of each word
    std::vector<Id> ids_;
    const SplitSteps* steps_ = nullptr;
  };

  Prepared(Base base, Preparation preparation)
      : Base(std::move(base)), split_at_spaces_(tokbench::split_at_spaces()),
        preparation_(std::make_shared<const Preparation>(std::move(preparation))) {}

  const std::optional<SplitSteps>& steps() const { return preparation_->steps; }
  const AddedTokens& added(Reading reading) const { return reading.has_specials ? preparation_->with_specials : preparation_->ordinary; }

  using Base::first_safe_cut;
  std::size_t first_safe_cut(const Text& text, std::size_t from, Reading reading) const {
    if (reading.changes != nullptr && !(preparation_->steps && reading.changes->keeps_words())) return text.size;
    if (preparation_->steps) {
      const bool may_be_cut = preparation_->steps->cuts_at_spaces() && added(reading).may_be_cut_before_spaces();
      return may_be_cut ? first_space_between_letters(text, from) : text.size;
    }
    return added(reading).may_be_cut() ? Base::first_safe_cut(text, from) : text.size;
  }

  // An output with a `placing` (prepared_places.hpp) says to it what the ids are of.
  template <class Worker, class Output>
  void encode(Worker& worker, SplitWords split, const Text& text, Reading reading, Output& output) const {
    const auto encode_part = [&](Bytes part) {
      if constexpr (kPlaces<Output>) {
        place_pretokens(worker, part, output);
      } else if (preparation_->steps) {
        encode_in_steps(worker, part, output);
      } else {
        worker.encode(split, part, output);
      }
    };
    const auto encode_token = [&](Id id, [[maybe_unused]] Bytes found) {
      if constexpr (kPlaces<Output>) {
        output.placing->add_added(id, found);
      } else {
        output.begin(1);
        output.put(std::span<const Id>(&id, 1));
        output.end();
      }
    };
    const auto normalize = [&](Bytes part) {
      if constexpr (kPlaces<Output>) {
        return output.placing->normalized(part, reading.changes, preparation_->makes_nfc, worker.room_for_normalized());
      } else {
        if (reading.changes != nullptr) return reading.changes->of(part, worker.room_for_normalized());
        return preparation_->makes_nfc ? Nfc::of(part, worker.room_for_normalized()) : part;
      }
    };
    const Bytes utf8 = worker.utf8(text);
    if constexpr (kPlaces<Output>) output.begin_text(utf8);
    added(reading).cut(utf8, reading.is_normalized, normalize, encode_part, encode_token);
  }

 private:
  template <class Output>
  static constexpr bool kPlaces = requires(Output& output) { output.placing; };

  // Where the steps allow it, what is between two spaces is looked up unsplit, as long as that is short: it comes back as
  // pre-tokens do. In a text of few spaces pre-tokens are looked up, and marked, as the same bytes can be either.
  template <class Worker, class Output>
  void encode_in_steps(Worker& worker, Bytes text, Output& output) const {
    const SplitSteps& steps = *preparation_->steps;
    if (preparation_->marks_ends || !steps.cuts_at_spaces()) return encode_pretokens(worker, text, output);
    worker.solver().split_in(steps);
    if (has_many_spaces(text)) return worker.encode_words_of(split_at_spaces_, text, output);
    Byte* marked = worker.room_for_copies(text.size() * 2);
    worker.encode_each(
        [&](const auto& sink) {
          steps.for_each_pretoken(text, nullptr, [&](Bytes pretoken) { sink(marked_copy(pretoken, marked)); });
        },
        output);
  }

  // A pre-token after its mark, written to `room`, which is moved after it.
  static Bytes marked_copy(Bytes pretoken, Byte*& room) {
    Byte* const start = room;
    *room++ = kPretokenMark;
    room = std::copy(pretoken.begin(), pretoken.end(), room);
    return {start, room};
  }

  // Each pre-token by itself, in steps that add nothing.
  template <class Worker, class Output>
  void place_pretokens(Worker& worker, Bytes text, Output& output) const {
    const SplitSteps& steps = *preparation_->steps;
    const bool are_marked = steps.cuts_at_spaces();
    if (are_marked) worker.solver().split_in(steps);
    Byte* marked = worker.room_for_copies(are_marked ? text.size() * 2 : 0);
    worker.encode_each(
        [&](const auto& sink) {
          steps.for_each_pretoken(text, nullptr, [&](Bytes pretoken) {
            output.placing->expect(pretoken);
            sink(are_marked ? marked_copy(pretoken, marked) : pretoken);
          });
        },
        output);
  }

  // As far as its beginning tells.
  static bool has_many_spaces(Bytes text) {
    constexpr std::size_t kSampled = 1024, kBytesPerSpace = 16;
    const auto is_letter = [](Byte byte) -> unsigned { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; };
    const std::size_t size = std::min(text.size(), kSampled);
    std::size_t found = 0;
    for (std::size_t i = 1; i + 1 < size; ++i) found += (text[i] == ' ') & is_letter(text[i - 1]) & is_letter(text[i + 1]);
    return found * kBytesPerSpace >= size;
  }

  template <class Worker, class Output>
  void encode_pretokens(Worker& worker, Bytes text, Output& output) const {
    const SplitSteps& steps = *preparation_->steps;
    const std::size_t spaced_size = text.size() * steps.copied_per_byte();
    const std::size_t marked_size = preparation_->marks_ends ? std::max(text.size(), spaced_size) * 2 : 0;
    Byte* const spaced = worker.room_for_copies(spaced_size + marked_size);
    if (!preparation_->marks_ends) {
      return worker.encode_each([&](const auto& sink) { steps.for_each_pretoken(text, spaced, sink); }, output);
    }
    worker.encode_each(
        [&](const auto& sink) {
          Byte* marked = spaced + spaced_size;
          steps.for_each_pretoken(text, spaced, [&](Bytes pretoken) {
            Byte* const start = marked;
            marked = std::copy(pretoken.begin(), pretoken.end(), marked);
            *marked++ = kEndMark;
            sink(Bytes(start, marked));
          });
        },
        output);
  }

  SplitWords split_at_spaces_;
  std::shared_ptr<const Preparation> preparation_;
};

using PreparedEncoder = Encoder<Prepared<BpeFamily>>;

}  // namespace tokbench
