// BPE over characters of a `tokenizer.json` for the encoder: the text is split at added tokens, and parts may get a space in
// front.
#pragma once

#include "encoding/added_tokens.hpp"
#include "family.hpp"

namespace tokbench {

// Which parts of a text get a space in front.
enum class SpaceInFront : std::uint8_t {
  Nothing,
  EachPart,      // each part between added tokens
  PartsWithout,  // each part that does not start with a space or ▁
  TextWithout,   // such a part only if it starts the text
};

class CharacterBpeDocument : public CharacterBpeFamily {
 public:
  struct Preparation {
    AddedTokens ordinary;       // the added tokens that are matched in every text
    AddedTokens with_specials;  // these and the special tokens, for texts in which special tokens are encoded
    SpaceInFront space = SpaceInFront::Nothing;
  };

  struct Reading {
    bool has_specials = false;   // whether special tokens are matched
    bool is_normalized = false;  // the text was already split at the added tokens that are matched before normalization
  };

  // `options` are those of the model's normalizer, which must add a dummy prefix except for `Nothing`, and must keep extra
  // spaces.
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

  // Encodes a text, or a part of one that contains the given ends.
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
