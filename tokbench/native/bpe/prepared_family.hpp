// A family that encodes pre-tokens, with the preparation of texts that a `tokenizer.json` may require: added tokens,
// normalization, and splitting in several steps.
#pragma once

#include <memory>
#include <optional>

#include "encoding/added_tokens.hpp"
#include "family.hpp"
#include "normalization/character_changes.hpp"
#include "normalization/nfc.hpp"
#include "split_steps.hpp"

namespace tokbench {

// Follows each pre-token in vocabularies with an end-of-word suffix. Not a byte of valid UTF-8.
inline constexpr Byte kEndMark = 0xFF;

// Precedes a single pre-token in the word store, which also holds unsplit parts of several pre-tokens. Not a byte of valid
// UTF-8.
inline constexpr Byte kPretokenMark = 0xFE;

// The marks around the pre-tokens that are looked up.
struct PretokenMarks {
  bool start = false;  // kPretokenMark
  bool end = false;    // kEndMark

  std::size_t count() const { return std::size_t{start} + std::size_t{end}; }

  // Writes a pre-token between its marks to `room`, and advances it.
  Bytes copy(Bytes pretoken, Byte*& room) const {
    Byte* const first = room;
    if (start) *room++ = kPretokenMark;
    room = std::copy(pretoken.begin(), pretoken.end(), room);
    if (end) *room++ = kEndMark;
    return {first, room};
  }
};

struct Preparation {
  AddedTokens ordinary;              // the added tokens that are matched in every text
  AddedTokens with_specials;         // these and the special tokens, for texts in which special tokens are encoded
  std::optional<SplitSteps> steps;   // replaces the pattern
  bool marks_ends = false;           // whether each pre-token is followed by kEndMark; requires steps
  bool makes_nfc = false;            // whether texts are normalized to NFC after the first added tokens were matched
  bool ends_merge = false;           // whether every byte merges with kEndMark, so that no text has more ids than bytes
};

// `Base` is the family of the algorithm that encodes pre-tokens.
template <class Base>
class Prepared : public Base {
 public:
  struct Reading {
    bool has_specials = false;   // whether special tokens are matched
    bool is_normalized = false;  // the text was already normalized, and split at the added tokens that are matched before that
    const CharacterChanges* changes = nullptr;  // normalization by a table, after NFC; not owned
  };

  // Given the steps, solves unsplit parts of a text by splitting them, and single pre-tokens after a kPretokenMark.
  class Solver : public Base::Solver {
   public:
    using Base::Solver::Solver;

    void split_in(const SplitSteps& steps, bool marks_ends) {
      steps_ = &steps;
      marks_ends_ = marks_ends;
    }

    std::size_t solve(Bytes word, std::uint64_t hash, Id* out) {
      if (steps_ == nullptr) return Base::Solver::solve(word, hash, out);
      Id* next = out;
      make_room(word.size());
      for_each_pretoken(word, [&](Bytes pretoken) {  // with its mark it may need more room while it is merged
        next = std::copy_n(ids_.begin(), Base::Solver::solve(pretoken, hash_of(pretoken), ids_.data()), next);
      });
      return static_cast<std::size_t>(next - out);
    }

    void solve_together(std::span<NewWord> words)
      requires SolvesTogether<typename Base::Solver>
    {
      if (steps_ == nullptr) return Base::Solver::solve_together(words);
      pretokens_.clear();
      ends_.clear();
      std::size_t size = 0;
      for (const NewWord& word : words) size += word.bytes.size();
      make_room(size);
      for (const NewWord& word : words) {
        for_each_pretoken(word.bytes, [&](Bytes pretoken) { pretokens_.push_back({pretoken, hash_of(pretoken), {}}); });
        ends_.push_back(pretokens_.size());
      }
      Base::Solver::solve_together(pretokens_);
      Id* next = ids_.data();
      std::size_t i = 0;
      for (std::size_t k = 0; k < words.size(); ++k) {
        Id* const first = next;
        for (; i < ends_[k]; ++i) next = std::ranges::copy(pretokens_[i].ids, next).out;
        words[k].ids = {first, next};
      }
    }

   private:
    // For words of this many bytes together: at most all of them are pre-tokens of one byte and a mark.
    void make_room(std::size_t size) {
      if (ids_.size() < size * 2) ids_.resize(size * 2);
      if (marks_ends_ && marked_.size() < size * 2) marked_.resize(size * 2);
      next_marked_ = marked_.data();
    }

    void for_each_pretoken(Bytes word, FunctionRef<void(Bytes)> sink) {
      if (word.front() == kPretokenMark) return sink(word.subspan(1));
      const auto marked = [&](Bytes pretoken) { sink(PretokenMarks{.end = true}.copy(pretoken, next_marked_)); };
      steps_->for_each_pretoken(word, SplitSteps::Copies{}, marks_ends_ ? FunctionRef<void(Bytes)>(marked) : sink);
    }

    std::vector<NewWord> pretokens_;
    std::vector<std::size_t> ends_;  // the ends of each word's pre-tokens
    std::vector<Id> ids_;
    std::vector<Byte> marked_;  // copies of pre-tokens with their marks
    Byte* next_marked_ = nullptr;
    const SplitSteps* steps_ = nullptr;
    bool marks_ends_ = false;
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

  // If the output has a `placing` (prepared_places.hpp), that is told which part of the text the ids belong to.
  template <class Worker, class Output>
  void encode(Worker& worker, SplitWords split, const Text& text, Reading reading, Output& output) const {
    const auto encode_part = [&](Bytes part) {
      if constexpr (kPlaces<Output>) {
        place_part(worker, split, part, output);
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
        if (preparation_->makes_nfc) part = Nfc::of(part, worker.room_for_composed());
        return reading.changes != nullptr ? reading.changes->of(part, worker.room_for_normalized()) : part;
      }
    };
    const Bytes utf8 = worker.utf8(text);
    if constexpr (kPlaces<Output>) output.begin_text(utf8);
    added(reading).cut(utf8, reading.is_normalized, normalize, encode_part, encode_token);
  }

 private:
  template <class Output>
  static constexpr bool kPlaces = requires(Output& output) { output.placing; };

  // Whether short parts between two spaces may be looked up without splitting them.
  bool looks_up_parts() const { return preparation_->steps->cuts_at_spaces() && (!preparation_->marks_ends || preparation_->ends_merge); }

  // If the steps allow it, short parts between two spaces are looked up without splitting them, because they repeat as
  // pre-tokens do. In a text with few spaces, single pre-tokens are looked up instead, with a mark that distinguishes them from
  // unsplit parts.
  template <class Worker, class Output>
  void encode_in_steps(Worker& worker, Bytes text, Output& output) const {
    if (!looks_up_parts() || !has_many_spaces(text)) return encode_pretokens(worker, text, output);
    worker.solver().split_in(*preparation_->steps, preparation_->marks_ends);
    worker.encode_words_of(split_at_spaces_, text, output);
  }

  // The same for spans, for which each pre-token is encoded by itself.
  template <class Worker, class Output>
  void place_part(Worker& worker, SplitWords split, Bytes text, Output& output) const {
    if (preparation_->steps) {
      encode_pretokens(worker, text, output);
    } else {
      worker.encode_words_of(split, text, output);
    }
  }

  // Judged by the beginning of the text.
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
    const PretokenMarks marks{.start = looks_up_parts(), .end = preparation_->marks_ends};
    if (marks.start) worker.solver().split_in(steps, marks.end);
    const std::size_t spaced_size = text.size() * steps.copied_per_byte();
    const std::size_t marked_size = marks.count() == 0 ? 0 : std::max(text.size(), spaced_size) * (1 + marks.count());
    Byte* const spaced = worker.room_for_copies(spaced_size + marked_size);
    SplitSteps::Copies copies{spaced};
    if constexpr (kPlaces<Output>) copies.sources = output.placing->room_for_sources({spaced, spaced_size});
    worker.encode_each(
        [&](const auto& sink) {
          Byte* marked = spaced + spaced_size;
          steps.for_each_pretoken(text, copies, [&](Bytes pretoken) {
            if constexpr (kPlaces<Output>) output.placing->expect(pretoken);
            sink(marks.count() == 0 ? pretoken : marks.copy(pretoken, marked));
          });
        },
        output);
  }

  SplitWords split_at_spaces_;
  std::shared_ptr<const Preparation> preparation_;
};

using PreparedEncoder = Encoder<Prepared<BpeFamily>>;

}  // namespace tokbench
