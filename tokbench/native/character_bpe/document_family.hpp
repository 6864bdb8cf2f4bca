// BPE over characters of a `tokenizer.json` as the encoder runs it: added tokens, and between them texts with a space in front.
#pragma once

#include "encoding/added_tokens.hpp"
#include "family.hpp"

namespace tokbench {

// What gets a space in front.
enum class SpaceInFront : std::uint8_t {
  Nothing,
  EachPart,      // of a text that has no added tokens
  PartsWithout,  // those of them that do not begin with one, or with ▁
  TextWithout,   // the one of these that begins the text
};

class CharacterBpeDocument : public CharacterBpeFamily {
 public:
  struct Preparation {
    AddedTokens ordinary;       // that are found in every text
    AddedTokens with_specials;  // and those that are found where special tokens are
    SpaceInFront space = SpaceInFront::Nothing;
  };

  struct Reading {
    bool has_specials = false;   // special tokens are found
    bool is_normalized = false;  // added tokens that are found before a text is normalized were found, and are not in it
  };

  // `options` of the model's normalizer, which puts a space in front unless there is `Nothing` to get one, and drops none.
  CharacterBpeDocument(CertainCuts cuts, const NormalizerOptions& options, Preparation preparation)
      : CharacterBpeFamily(std::move(cuts), options), preparation_(std::make_shared<const Preparation>(std::move(preparation))) {}

  const AddedTokens& added(Reading reading) const {
    return reading.has_specials ? preparation_->with_specials : preparation_->ordinary;
  }

  using CharacterBpeFamily::first_safe_cut;
  std::size_t first_safe_cut(const Text& text, std::size_t from, Reading reading) const {
    const AddedTokens& tokens = added(reading);
    const bool may_be_cut = tokens.may_be_cut_before_spaces() && !(preparation_->space == SpaceInFront::EachPart && tokens.may_end_words());
    return may_be_cut ? CharacterBpeFamily::first_safe_cut(text, from) : text.size;
  }

  // The ids of a part of a text with its ends.
  template <class Worker, class Output>
  void encode(Worker& worker, const Text& text, TextEnds ends, Reading reading, Output& output) const {
    const Bytes utf8 = worker.utf8(text);
    const auto encode_between = [&](Bytes part) {
      const bool is_cut_off = part.data() == utf8.data() && !ends.is_first;
      const bool begins_text = part.data() == utf8.data() && ends.is_first;
      encode_part(worker, part, {!is_cut_off && gets_space(part, begins_text), true}, output);
    };
    added(reading).cut(utf8, reading.is_normalized, encode_between, [&](Id id, Bytes) {
      output.begin(1);
      output.put(std::span<const Id>(&id, 1));
      output.end();
    });
  }

 private:
  bool gets_space(Bytes part, bool begins_text) const {
    switch (preparation_->space) {
      case SpaceInFront::Nothing:
        return false;
      case SpaceInFront::EachPart:
        return true;
      case SpaceInFront::PartsWithout:
        return !begins_with_space(part);
      case SpaceInFront::TextWithout:
        return begins_text && !begins_with_space(part);
    }
    return false;
  }

  static bool begins_with_space(Bytes part) {
    constexpr Byte kMark[] = {0xE2, 0x96, 0x81};  // ▁
    return part.front() == ' ' || (part.size() >= sizeof kMark && std::equal(std::begin(kMark), std::end(kMark), part.begin()));
  }

  std::shared_ptr<const Preparation> preparation_;
};

using CharacterBpeDocumentEncoder = Encoder<CharacterBpeDocument>;

}  // namespace tokbench
