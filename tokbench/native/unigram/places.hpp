// The span of each token in the original text. As in `tokenizers`, a span extends from the start of the first character that
// contributes to the token to the end of the last one.
//
// If normalization changes no character of a word, its pieces are adjacent in it; ▁ has the span of a space, or an empty one.
// Other words are normalized and segmented again with the origin of each byte.
#pragma once

#include "document_family.hpp"
#include "encoding/placed_texts.hpp"

namespace tokbench {

// Whether these are the library's offsets. The library's are off after a removed first character, and follow rules of their own
// where several characters are replaced together.
inline bool tells_places(const DocumentUnigramEncoder& encoder, Bytes text) {
  bool has_others = false;
  const std::shared_ptr<const UnigramDocument> model = encoder.model();
  encoder.family().found_first().cut(
      text, [&](Bytes part) { has_others |= model->form.removes_first(part) || model->form.replacements().replaces_cluster(part); }, [](Id, Bytes) {});
  return !has_others;
}

// Computes the spans of tokens, one word after another.
class UnigramPlacing {
 public:
  UnigramPlacing(const UnigramDocument& model, Placed& placed)
      : pieces_(model.pieces), form_(model.form), placed_(placed), path_(model.pieces), texts_(model.pieces) {}

  void begin_text(Bytes text) { text_ = text.data(); }
  void begin_part(Bytes part) { part_ = part.data(); }
  void add_added(Id id, Bytes found) { placed_.add(id, found.data() - text_, found.data() + found.size() - text_); }

  // Adds the ids of a word of the text.
  void add(Bytes word, std::span<const Id> ids) {
    const std::optional<PlacedText::Place> in_front = space_in_front(word);
    if (!add_plain(word, ids, in_front)) add_normalized(word, in_front, false);
  }

  // Adds a word of the text that has no ▁ in front, unless it becomes white space.
  void add_unmarked(Bytes word) { add_normalized(word, std::nullopt, true); }

 private:
  using Place = PlacedText::Place;

  // The white space that becomes ▁, relative to the word.
  std::optional<Place> space_in_front(Bytes word) const {
    if (!form_.only_spaces() || word.data() == part_) return std::nullopt;
    // To the library, "\r\n" is one character, and has the offsets of its first byte.
    const bool is_line_end = word.data() - part_ >= 2 && word.data()[-1] == '\n' && word.data()[-2] == '\r';
    return is_line_end ? Place{-2, -1} : Place{-1, 0};
  }

  // Returns false unless the ids are certainly pieces of the raw word, with at most one unknown token among them.
  bool add_plain(Bytes word, std::span<const Id> ids, const std::optional<Place>& in_front) {
    const Id unknown = pieces_.rules().unknown;
    std::size_t size = 0, num_unknown = 0;
    for (const Id id : ids) {
      num_unknown += id == unknown;
      size += id == unknown ? 0 : pieces_.piece_size(id);
    }
    const std::size_t whole = word.size() + kSpaceMark.size();
    const bool may_be_known = num_unknown == 0 ? size == whole : num_unknown == 1 && size < whole && !pieces_.has_doubtful_unknown();
    if (!may_be_known || !is_plain(word)) return false;
    const std::int64_t offset = word.data() - text_;
    const auto mark = static_cast<std::int64_t>(kSpaceMark.size());
    std::int64_t at = -mark;
    for (const Id id : ids) {
      const std::int64_t after = at + static_cast<std::int64_t>(id == unknown ? whole - size : pieces_.piece_size(id));
      const bool is_first = at < 0;
      const std::int64_t start = !is_first ? at : in_front ? in_front->start : 0;
      const std::int64_t stop = after > 0 ? after : in_front ? in_front->stop : 0;
      placed_.add(id, offset + start, offset + stop);
      at = after;
    }
    return true;
  }

  bool is_plain(Bytes word) const {
    if (form_.may_hold_added(word)) return false;
    const Byte* const end = word.data() + word.size();
    for (const Byte* p = word.data(); p != end;) {
      const CodePoint character = code_point_at(p, end);
      if (pieces_.raw_number_of(character.value) == UnigramModel<double>::kRewritten) return false;
      p += character.length;
    }
    return true;
  }

  void add_normalized(Bytes word, const std::optional<Place>& in_front, bool is_unmarked) {
    const std::int64_t offset = word.data() - text_;
    form_.for_each_placed_text(
        word, in_front, is_unmarked, normal_,
        [&](Bytes text, std::span<const Place> places) {
          texts_.clear();
          texts_.add(text);
          texts_.walk();
          double sum = 0;
          path_.place(sum, texts_[0], [&](std::span<const Id> ids, std::size_t start, std::size_t stop) {
            for (const Id id : ids) placed_.add(id, offset + places[start].start, offset + places[stop - 1].stop);
          });
        },
        [&](Id id, Place place) { placed_.add(id, offset + place.start, offset + place.stop); });
  }

  const UnigramModel<double>& pieces_;
  const DocumentForm& form_;
  Placed& placed_;
  BestPath<double> path_;
  WalkedTexts<double> texts_;
  PlacedText normal_;
  const Byte* text_ = nullptr;
  const Byte* part_ = nullptr;
};

}  // namespace tokbench
