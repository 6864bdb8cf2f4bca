// The spans of tokens of words that are split in steps. As in `tokenizers`, a span extends from the start of the first
// character that contributes to the token to the end of the last one.
//
// The tokens of a word are adjacent, each as long as the part that it encodes; the byte tokens of a Unigram's unknown characters
// share one part. In a normalized text, and in a copy with added spaces or marks, a position maps to the original character.
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
  void add_added(Id id, Bytes found) {
    const Byte* at = found.data();
    Adjacent(*this, at)(id, found.size());
  }

  // Where the steps note what each byte of their copy of the next words, which is written to `copy`, is for.
  const Byte** room_for_sources(Bytes copy) {
    copy_ = copy;
    if (sources_.size() < copy.size()) sources_.resize(copy.size());
    return sources_.data();
  }

  // Announces the word of the next ids, after the words announced before. It may be encoded from a copy.
  void expect(Bytes word) { words_.push_back(word); }

  // Adds the ids of a word: the first one of those announced, if any.
  void add(Bytes encoded, std::span<const Id> ids) {
    const Bytes word = words_.empty() ? encoded : words_[next_++];
    if (next_ == words_.size()) {
      words_.clear();
      next_ = 0;
    }
    const Byte* at = word.data();
    sizes_.for_each(word, ids, Adjacent(*this, at));
  }

 private:
  // Adds tokens that follow each other in a word.
  class Adjacent {
   public:
    Adjacent(PreparedPlacing& placing, const Byte*& at) : placing_(placing), is_copy_(is_in(placing.copy_, at)), at_(at) {}

    void operator()(Id id, std::size_t size) const { (*this)(std::span<const Id>(&id, 1), size); }
    // Several tokens for the same bytes.
    void operator()(std::span<const Id> ids, std::size_t size) const {
      const Byte *first = at_, *last = at_ + size - 1;
      if (is_copy_) {
        first = placing_.sources_[static_cast<std::size_t>(first - placing_.copy_.data())];
        last = placing_.sources_[static_cast<std::size_t>(last - placing_.copy_.data())];
      }
      const std::ptrdiff_t start = placing_.start_of_character(placing_.original(first)) - placing_.text_.data();
      const std::ptrdiff_t stop = placing_.end_of_character(placing_.original(last) + 1) - placing_.text_.data();
      for (const Id id : ids) placing_.placed_.add(id, start, stop);
      at_ += size;
    }

   private:
    PreparedPlacing& placing_;
    bool is_copy_;
    const Byte*& at_;  // where the next token begins
  };

  // A byte of the text, which the given one, of the text or a normalized part, is from.
  const Byte* original(const Byte* p) const { return is_in(text_, p) ? p : part_.data() + origins_[static_cast<std::size_t>(p - normal_.data())]; }

  static bool is_in(Bytes bytes, const Byte* p) {
    return !std::less<const Byte*>()(p, bytes.data()) && std::less<const Byte*>()(p, bytes.data() + bytes.size());
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
  Bytes copy_;
  std::vector<const Byte*> sources_;  // what each byte of `copy_` is for: a byte of the text or of `normal_`
  std::vector<Bytes> words_;
  std::size_t next_ = 0;
};

}  // namespace tokbench
