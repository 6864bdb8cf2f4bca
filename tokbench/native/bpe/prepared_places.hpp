// The spans of tokens of words that are split in steps. As in `tokenizers`, a span extends from the start of the first
// character that contributes to the token to the end of the last one.
//
// The tokens of a word are adjacent, each as long as the part that it encodes. In a normalized text, a position maps to the
// original character.
#pragma once

#include "encoding/placed_texts.hpp"
#include "prepared_family.hpp"

namespace tokbench {

// `Base` is the family of an algorithm on words, which must have a type Sizes.
template <class Base>
class PreparedPlacing {
 public:
  using Model = typename Base::Model;

  PreparedPlacing(const Model& model, Placed& placed) : sizes_(model), placed_(placed) {}

  void begin_text(Bytes text) { text_ = part_ = text; }

  // Normalizes a part of the text; everything until the next call refers to that part.
  Bytes normalized(Bytes part, const CharacterChanges* changes, bool makes_nfc, std::vector<Byte>& buffer) {
    part_ = part;
    if (makes_nfc && !std::ranges::equal(Nfc::of(part, buffer), part)) throw std::invalid_argument("places are not known in a text that NFC changes");
    return changes != nullptr ? normal_ = changes->of(part, buffer, origins_) : part;
  }

  // Adds an added token that was matched in the text, or in the normalized form of a part of it.
  void add_added(Id id, Bytes found) { add_at(found, [&](const auto& place) { place(id, found.size()); }); }

  // Announces the word of the next ids, after the words announced before.
  void expect(Bytes word) { words_.push_back(word); }

  // Adds the ids of the next word.
  void add(Bytes, std::span<const Id> ids) {
    const Bytes word = words_[next_++];
    if (next_ == words_.size()) {
      words_.clear();
      next_ = 0;
    }
    add_at(word, [&](const auto& place) { sizes_.for_each(word, ids, place); });
  }

 private:
  // Calls for_each(place), which must call place(id, size) for adjacent tokens from the start of `word` on.
  template <class ForEach>
  void add_at(Bytes word, const ForEach& for_each) {
    const Byte* at = word.data();
    if (is_in_text(at)) {
      for_each([&](Id id, std::size_t size) {
        placed_.add(id, start_of_character(at) - text_.data(), end_of_character(at + size) - text_.data());
        at += size;
      });
      return;
    }
    const std::int64_t offset = part_.data() - text_.data();
    for_each([&](Id id, std::size_t size) {
      const auto start = static_cast<std::size_t>(at - normal_.data());
      const Byte* const last = part_.data() + origins_[start + size - 1];
      placed_.add(id, offset + origins_[start], end_of_character(last + 1) - text_.data());
      at += size;
    });
  }

  bool is_in_text(const Byte* p) const {
    return !std::less<const Byte*>()(p, text_.data()) && std::less<const Byte*>()(p, text_.data() + text_.size());
  }

  const Byte* start_of_character(const Byte* p) const {
    while (p != text_.data() && is_continuation(*p)) --p;
    return p;
  }

  const Byte* end_of_character(const Byte* after) const {
    while (after != text_.data() + text_.size() && is_continuation(*after)) ++after;
    return after;
  }

  typename Base::Sizes sizes_;
  Placed& placed_;
  Bytes text_;
  Bytes part_;    // the part of the text that was normalized to `normal_`
  Bytes normal_;
  std::vector<CharacterChanges::Origin> origins_;  // where in `part_` each byte of `normal_` comes from
  std::vector<Bytes> words_;
  std::size_t next_ = 0;
};

}  // namespace tokbench
