// BPE over characters for the encoder: a text is cut where no token can cross, and each word is normalized and merged by
// itself.
#pragma once

#include <memory>

#include "encoding/added_tokens.hpp"
#include "encoding/encoder.hpp"
#include "merger.hpp"
#include "normalization/certain_cuts.hpp"

namespace tokbench {

struct CharacterBpe {
  CharacterPieces pieces;
  Normalizer normalizer;
};

class CharacterBpeFamily {
 public:
  using Model = CharacterBpe;

  class Solver {
   public:
    explicit Solver(const CharacterBpe& model) : model_(model), merger_(model.pieces) {}

    std::size_t solve(Bytes word, std::uint64_t, Id* out) { return solve_part(word, {false, false}, out); }

    // The same for a part of a text that contains the given ends.
    std::size_t solve_part(Bytes part, TextEnds ends, Id* out) {
      clear();
      add(part, ends);
      const Prepared& added = prepared_.front();
      return write(added, merger_.merge(symbols_of(added)), out);
    }

    // Merges words side by side, if that is faster; otherwise, a word is merged unless it is known by then.
    void prepare(std::span<const Bytes> words) {
      if (!model_.pieces.has_many_merges()) return words_.assign(words.begin(), words.end());
      clear();
      for (const Bytes word : words) add(word, {false, false});
      spans_.clear();
      for (const Prepared& each : prepared_) spans_.push_back(symbols_of(each));
      counts_.resize(words.size());
      merger_.merge_together(spans_, counts_);
    }
    std::size_t solve_prepared(std::size_t number, Id* out) {
      if (!model_.pieces.has_many_merges()) return solve_part(words_[number], {false, false}, out);
      return write(prepared_[number], counts_[number], out);
    }

   private:
    // The part of all symbols, and of all normalized bytes, that belongs to a word.
    struct Prepared {
      std::size_t first_symbol, num_symbols, first_byte, num_bytes;
    };

    void clear() {
      prepared_.clear();
      symbols_.clear();
      bytes_.clear();
    }

    // Adds the initial symbols of a word.
    void add(Bytes word, TextEnds ends) {
      model_.normalizer.normalize(word, ends, normal_);
      const std::size_t first_symbol = symbols_.size(), first_byte = bytes_.size();
      add_symbols();
      bytes_.insert(bytes_.end(), normal_.bytes.begin(), normal_.bytes.end());
      prepared_.push_back({first_symbol, symbols_.size() - first_symbol, first_byte, normal_.bytes.size()});
    }

    std::span<PlacedSymbol> symbols_of(const Prepared& each) { return std::span(symbols_).subspan(each.first_symbol, each.num_symbols); }

    // Writes the ids of a word of which `count` symbols are left.
    std::size_t write(const Prepared& each, std::size_t count, Id* out) const {
      Id* const first = out;
      const PlacedSymbol* const symbols = symbols_.data() + each.first_symbol;
      const Bytes text = Bytes(bytes_).subspan(each.first_byte, each.num_bytes);
      const bool joins_unknown = model_.pieces.joins_unknown();
      bool is_after_unknown = false;
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t start = symbols[i].start, stop = i + 1 < count ? symbols[i + 1].start : text.size();
        model_.pieces.emit(symbols[i].symbol, text.subspan(start, stop - start), [&](Id id) {
          const bool is_unknown = joins_unknown && model_.pieces.is_unknown(id);
          if (!is_unknown || !is_after_unknown) *out++ = id;
          is_after_unknown = is_unknown;
        });
      }
      return static_cast<std::size_t>(out - first);
    }

    // Adds the initial symbols of the normalized text: user-defined symbols, which never merge, and characters.
    void add_symbols() {
      const Byte* const first = normal_.bytes.data();
      const Byte* const end = first + normal_.bytes.size();
      if (normal_.bytes.size() >= UINT32_MAX) throw std::length_error("a word of more than 4 GB");
      const Symbols& symbols = model_.normalizer.symbols();
      for (const Byte* p = first; p != end;) {
        const auto start = static_cast<std::uint32_t>(p - first);
        if (const std::size_t length = symbols.longest(p, end); length != 0) {
          symbols_.push_back({model_.pieces.user_defined({p, length}), start});
          p += length;
          continue;
        }
        const CodePoint character = code_point_at(p, end);
        symbols_.push_back({model_.pieces.symbol_of(character.value), start});
        p += character.value != CodePoint::kNoCharacter ? character.length : length_by_lead(p, end);
      }
    }

    // The number of bytes that the library takes for an invalid character: it goes by the lead byte.
    static std::size_t length_by_lead(const Byte* p, const Byte* end) {
      const std::size_t length = *p < 0xC0 ? 1 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : 4;
      return std::min(length, static_cast<std::size_t>(end - p));
    }

    const CharacterBpe& model_;
    CharacterMerger merger_;
    NormalizedText normal_;
    std::vector<Bytes> words_;
    std::vector<Prepared> prepared_;
    std::vector<PlacedSymbol> symbols_;  // of all words that are prepared
    std::vector<Byte> bytes_;            // their normalized bytes
    std::vector<std::span<PlacedSymbol>> spans_;
    std::vector<std::size_t> counts_;    // the numbers of symbols that are left of them
  };

  // `cuts` are those of the model's pieces and normalizer; there may be none.
  CharacterBpeFamily(CertainCuts cuts, const NormalizerOptions& options)
      : cuts_(std::make_shared<const CertainCuts>(std::move(cuts))), options_(options), most_ids_(cuts_->most_made()) {
    if (most_ids_ > kMostGrowth) throw NotTheSame("its normalization makes texts many times as long");
  }

  SplitWords split_words() const { return nullptr; }

  // Before a space after an ASCII letter or digit, if that is a cut.
  std::size_t first_safe_cut(const Text& text, std::size_t from) const {
    if (!cuts_->cuts()) return text.size;
    const auto among = [&](const auto* units) {
      for (std::size_t cut = std::max<std::size_t>(from, 1); cut < text.size; ++cut) {
        if (units[cut] == ' ' && is_ascii_word(units[cut - 1]) && cuts_->is_cut(units[cut - 1], ' ')) return cut;
      }
      return text.size;
    };
    if (text.units == Units::Ucs2) return among(static_cast<const std::uint16_t*>(text.data));
    if (text.units == Units::Ucs4) return among(static_cast<const std::uint32_t*>(text.data));
    return among(static_cast<const std::uint8_t*>(text.data));
  }

  // Encodes a text, or a part of one that contains the given ends.
  template <class Worker, class Output>
  void encode(Worker& worker, const Text& text, TextEnds ends, Output& output) const {
    if (text.size != 0) encode_part(worker, worker.utf8(text), ends, output);
  }

  // The same for non-empty UTF-8.
  template <class Worker, class Output>
  void encode_part(Worker& worker, Bytes utf8, TextEnds ends, Output& output) const {
    const bool has_prefix = ends.is_first && options_.add_dummy_prefix && !options_.treat_whitespace_as_suffix;
    if (!cuts_->cuts() || (has_prefix && !cuts_->takes_space_in_front())) return solve(worker, utf8, ends, output);
    const Bytes spaced = has_prefix ? after_space(worker, utf8) : utf8;
    const std::size_t size_of_prefix = has_prefix ? 1 : 0;
    const std::size_t first = ends.is_first && !has_prefix ? begin_of_words(spaced) : 0;
    const std::size_t after = ends.is_last ? end_of_words(spaced) : spaced.size();
    if (first == kNoWords || after <= std::max(first, size_of_prefix)) return solve(worker, utf8, ends, output);
    Widened<Worker, Output> widened{output, most_ids_};
    worker.encode_words_of(*cuts_, spaced.subspan(first, after - first), widened);
    output = widened.output;
    if (after != spaced.size()) solve(worker, spaced.subspan(after), {false, true}, output);
  }

  // Needed to compute spans.
  const CertainCuts& cuts() const { return *cuts_; }

 private:
  static constexpr std::size_t kNoWords = SIZE_MAX;
  static constexpr std::size_t kMostGrowth = 64;

  // An output that reserves room for the growth of words by normalization.
  template <class Worker, class Output>
  struct Widened {
    Output output;
    std::size_t most_ids;

    void begin(std::size_t most) { output.begin(most * most_ids); }
    void put(const WordEntry& entry) { output.put(entry); }
    void put(std::span<const Id> ids) { output.put(ids); }
    Id* room(Worker& worker, std::size_t size) { return output.room(worker, size * most_ids); }
    void use(std::size_t count) { output.use(count); }
    void end() { output.end(); }
  };

  template <class Worker, class Output>
  void solve(Worker& worker, Bytes part, TextEnds ends, Output& output) const {
    const std::size_t most = part.size() * most_ids_ + kMostAdded;
    output.begin(most);
    output.use(worker.solver().solve_part(part, ends, output.room(worker, most)));
    output.end();
  }

  template <class Worker>
  static Bytes after_space(Worker& worker, Bytes utf8) {
    Byte* const spaced = worker.room_for_copies(utf8.size() + 1);
    spaced[0] = ' ';
    std::copy(utf8.begin(), utf8.end(), spaced + 1);
    return {spaced, utf8.size() + 1};
  }

  // The start of the first word of a text whose leading spaces are removed; kNoWords if more than plain spaces would be
  // removed.
  std::size_t begin_of_words(Bytes text) const {
    if (!options_.remove_extra_whitespaces) return 0;
    std::size_t first = 0;
    while (first < text.size() && text[first] == ' ') ++first;
    if (first == text.size()) return kNoWords;
    const bool is_plain = cuts_->is_plain(code_point_at(text.data() + first, text.data() + text.size()).value);
    return is_plain && cuts_->takes_space_in_front() ? first : kNoWords;
  }

  // The start of the last word, after which spaces may be removed or one added; the size of the text if neither happens.
  std::size_t end_of_words(Bytes text) const {
    const bool has_suffix = options_.add_dummy_prefix && options_.treat_whitespace_as_suffix;
    if (!options_.remove_extra_whitespaces && !has_suffix) return text.size();
    std::size_t at = text.size();
    CodePoint character{};
    do {
      if (at == 0) return 0;
      character = character_before(text, at);
      at -= character.length;
    } while (!cuts_->is_plain(character.value) || cuts_->is_space(character.value));
    if (at + character.length == text.size() && !has_suffix) return text.size();
    while (at != 0) {
      const CodePoint before = character_before(text, at);
      if (cuts_->is_cut(before.value, character.value)) break;
      character = before;
      at -= character.length;
    }
    return at;
  }

  static CodePoint character_before(Bytes text, std::size_t end) {
    std::size_t start = end - 1;
    while (start > 0 && end - start < 4 && is_continuation(text[start])) --start;
    const CodePoint found = code_point_at(text.data() + start, text.data() + end);
    return found.length == end - start ? found : CodePoint{CodePoint::kNoCharacter, 1};
  }

  static constexpr std::size_t kMostAdded = 3;  // most ids of the dummy prefix

  std::shared_ptr<const CertainCuts> cuts_;
  NormalizerOptions options_;
  std::size_t most_ids_;
};

using CharacterBpeEncoder = Encoder<CharacterBpeFamily>;

}  // namespace tokbench
