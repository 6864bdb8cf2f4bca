// Counts the runs of a document: words, the numbers and identifiers in them, and operators.
//
// tokbench/metrics/reference.py defines the counts, with one pass for each; here, a single pass computes all of them. It only
// moves forward, so that time is linear in the text.
#pragma once

#include <utility>

#include "characters.hpp"
#include "counts.hpp"
#include "identifiers.hpp"
#include "tokens.hpp"
#include "word_table.hpp"

namespace tokbench::metrics {

template <class Tokens>  // TiledTokens or PlacedTokens
class RunMeasurer {
 public:
  // `readable` is the end of the readable bytes after the document.
  RunMeasurer(const CharacterTable& table, Bytes text, const Byte* readable, const Boundaries& boundaries, const Tokens& tokens,
              WordTable& words, NumbersByLength& numbers, Counts& counts)
      : table_(table), begin_(text.data()), end_(text.data() + text.size()), readable_(readable), boundaries_(boundaries),
        words_(words), numbers_(numbers), at_words_(tokens), at_numbers_(tokens), at_operators_(tokens), counts_(counts),
        white_start_(begin_) {}

  void measure() {
    if constexpr (Tokens::kTile) {
      measure_tokens();
    } else {
      for (const Byte* p = begin_; p < end_;) p = measure_run(p);
    }
  }

 private:
  std::int64_t& count(Count which) { return counts_[which]; }
  std::size_t offset_of(const Byte* p) const { return static_cast<std::size_t>(p - begin_); }

  // If a token is a whole word, or contains neither words nor operators, its id determines all counts, and its bytes are not
  // examined. Between such tokens, the text is processed run by run.
  void measure_tokens() {
    const typename Tokens::WholeWords whole = at_words_.note_words();
    count(kWords) += whole.words;
    count(kIdentifiers) += whole.identifiers;
    const Byte* p = begin_;  // everything before it is counted
    for (const std::size_t i : at_words_.unknown()) {
      const Byte* const start = begin_ + at_words_.start(i);
      const Byte* const stop = begin_ + at_words_.stop(i);
      // A token starts here, so the start of the white space before it does not matter.
      if (p < start) white_start_ = p = start;
      if (p == start && at_words_.is_word(i)) {
        ++count(kWords);
        count(kIdentifiers) += at_words_.is_identifier(i);
        at_words_.note_word(i);
        white_start_ = p = stop;
      } else {
        while (p < stop) p = measure_run(p);
      }
    }
  }

  // --- words --------------------------------------------------------------------------------------

  // Counts the run that starts at `p`, or skips a character between runs; returns its end.
  const Byte* measure_run(const Byte* p) {
    const unsigned flags = table_.flags(*p);
    if (flags & kWhiteByte) return p + 1;
    const Byte* stop = p + 1;
    unsigned seen = 0;
    if (flags & kWordByte) {
      stop = ascii_word_stop(p, seen);
    } else if (flags & kOperatorByte) {
      stop = measure_operator(p);
    } else if (flags & kBeyondAscii) {
      stop = stop_beyond_ascii(p, seen);
    }
    if (seen & kWordByte) measure_word(p, stop, seen);
    if (!(seen & kWhiteByte)) white_start_ = stop;
    return stop;
  }

  // The end of the word that starts at `p` with an ASCII character. `seen` collects the flags of its characters, without
  // kPartingByte of the first one.
  const Byte* ascii_word_stop(const Byte* p, unsigned& seen) const {
    seen = table_.flags(*p) & ~kPartingByte;
    p = table_.after_small_letters(p + 1, end_);
    while (p < end_ && (table_.flags(*p) & kWordByte)) seen |= table_.flags(*p++);
    const bool may_go_on = p < end_ && (table_.flags(*p) & (kJoinerByte | kBeyondAscii));
    return may_go_on ? word_stop(p, table_.class_of(p[-1]), seen) : p;
  }

  // The end of a word whose characters up to `p` are known; `base` is the class of the last one that is not a mark.
  const Byte* word_stop(const Byte* p, CharacterClass base, unsigned& seen) const {
    while (p < end_) {
      const ClassifiedCharacter next = table_.at(p, end_);
      if (starts_word(next.kind)) {
        base = next.kind;
        if (base == CharacterClass::Digit) seen |= kDigitByte;
      } else if (next.kind != CharacterClass::Mark && !joins(base, next.code_point, p + next.length)) {
        break;
      }
      seen |= kBeyondIdentifier;
      p += next.length;
    }
    return p;
  }

  // The end of the non-ASCII character at `p`, or of the word that it starts; `seen` receives its flags.
  const Byte* stop_beyond_ascii(const Byte* p, unsigned& seen) const {
    const ClassifiedCharacter character = table_.at(p, end_);
    const Byte* const stop = p + character.length;
    if (is_white_space(character.kind)) seen = kWhiteByte;
    if (starts_word(character.kind)) {
      seen = kWordByte | kBeyondIdentifier;
      if (character.kind == CharacterClass::Digit) seen |= kDigitByte;
      return word_stop(stop, character.kind, seen);
    }
    if (character.kind != CharacterClass::Unspaced) return stop;
    seen = kWordByte | kBeyondIdentifier | kUnspacedWord;
    return after_marks(stop);
  }

  const Byte* after_marks(const Byte* p) const {
    while (p < end_) {
      const ClassifiedCharacter character = table_.at(p, end_);
      if (character.kind != CharacterClass::Mark) break;
      p += character.length;
    }
    return p;
  }

  // Whether a character joins the parts of a word: an apostrophe between letters, a point between digits.
  bool joins(CharacterClass before, std::uint32_t joiner, const Byte* after) const {
    if (joins_letters(joiner)) return is_letter(before) && after < end_ && is_letter(table_.at(after, end_).kind);
    if (joiner != '.' && joiner != ',') return false;
    return before == CharacterClass::Digit && after < end_ && table_.at(after, end_).kind == CharacterClass::Digit;
  }

  // Counts a word and its numbers and identifiers.
  void measure_word(const Byte* start, const Byte* stop, unsigned seen) {
    const std::int64_t tokens = at_words_.touching(offset_of(start), offset_of(stop));
    ++count(kWords);
    if (tokens > 1) ++count(kSplitWords);
    if (tokens == 0) count(kUncoveredBytes) += stop - start;
    words_.add({start, stop}, readable_, static_cast<std::uint32_t>(tokens));
    if (seen & kDigitByte) measure_numbers(start, stop);
    if (seen & kBeyondIdentifier) {
      if (seen & kUnspacedWord) ++count(kUnspacedWords);
    } else if (!(table_.flags(*start) & kDigitByte)) {
      measure_identifier(start, stop, seen, tokens);
    }
  }

  // --- numbers ------------------------------------------------------------------------------------

  // Counts the numbers in a word.
  void measure_numbers(const Byte* word, const Byte* stop) {
    const Byte* start = word;
    std::size_t digits = 0;
    for (const Byte* p = word; p < stop;) {
      const ClassifiedCharacter character = table_.at(p, stop);
      if (character.kind == CharacterClass::Digit) {
        if (digits++ == 0) start = p;
      } else if (digits != 0) {
        measure_number(start, p, std::exchange(digits, 0), start == word ? white_start_ : start);
      }
      p += character.length;
    }
    if (digits != 0) measure_number(start, stop, digits, start == word ? white_start_ : start);
  }

  // Counts a number; `room` is the start of the white space before it.
  void measure_number(const Byte* start, const Byte* stop, std::size_t digits, const Byte* room) {
    const std::int64_t tokens = at_numbers_.touching(offset_of(start), offset_of(stop));
    ++count(kNumbers);
    count(kNumberTokens) += tokens;
    NumbersOfLength& alike = numbers_[std::min(digits, kLongestNumber)];
    ++alike.numbers;
    alike.tokens += tokens;
    count(kDigitCuts) += at_numbers_.cuts(tokens, offset_of(start), offset_of(stop));
    if (digits > 3) {
      measure_groups_of_digits(start, stop, digits);
      return;
    }
    ++count(kShortNumbers);
    if (tokens != 1 || !at_numbers_.stops_in(offset_of(stop), offset_of(stop))) return;
    if (at_numbers_.starts_in(offset_of(room), offset_of(start))) ++count(kWholeShortNumbers);
  }

  void measure_groups_of_digits(const Byte* start, const Byte* stop, std::size_t digits) {
    count(kDigitBoundaries) += static_cast<std::int64_t>((digits - 1) / 3);
    for (const Byte* p = start; p < stop; p += table_.at(p, stop).length, --digits) {
      if (digits % 3 == 0 && p != start && boundaries_.is_at(offset_of(p))) ++count(kDigitHits);
    }
  }

  // --- identifiers and operators ------------------------------------------------------------------

  void measure_identifier(const Byte* start, const Byte* stop, unsigned seen, std::int64_t tokens) {
    ++count(kIdentifiers);
    const std::size_t at = offset_of(start);
    const std::int64_t cuts = at_words_.cuts(tokens, at, offset_of(stop));
    count(kIdentifierCuts) += cuts;
    if (!(seen & kPartingByte) && *start != '_') return;
    for_each_identifier_boundary({start, stop}, [&](std::size_t left, std::size_t right) {
      ++count(kIdentifierBoundaries);
      if (cuts != 0 && (boundaries_.is_at(at + left) || boundaries_.is_at(at + right))) ++count(kIdentifierHits);
    });
  }

  // Counts an operator at `p`, or skips another character; returns its end.
  const Byte* measure_operator(const Byte* p) {
    const std::size_t length = operator_length(p, end_);
    if (length == 0) return p + 1;
    const Byte* const stop = p + length;
    ++count(kOperators);
    if (at_operators_.touching(offset_of(p), offset_of(stop)) == 1 && at_operators_.starts_in(offset_of(white_start_), offset_of(p)) &&
        at_operators_.stops_in(offset_of(stop), offset_of(table_.after_white_space(stop, end_)))) {
      ++count(kIsolatedOperators);
    }
    return stop;
  }

  const CharacterTable& table_;
  const Byte* begin_;
  const Byte* end_;
  const Byte* readable_;
  const Boundaries& boundaries_;
  WordTable& words_;
  NumbersByLength& numbers_;
  Tokens at_words_;
  Tokens at_numbers_;
  Tokens at_operators_;
  Counts& counts_;
  const Byte* white_start_;  // start of the white space before the current run
};

}  // namespace tokbench::metrics
