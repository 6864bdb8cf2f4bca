// Splits words into distinct segments, between which no piece extends, as codes of characters.
//
// For example, no piece extends across a change of script, so that the segments on both sides are independent and their
// probabilities multiply. "word," and "word." share the segment "word", which training processes once.
#pragma once

#include <algorithm>
#include <numeric>

#include "codes.hpp"
#include "normalization/normalizer.hpp"
#include "piece_rules.hpp"
#include "training/pretoken_counts.hpp"

namespace tokbench::sentencepiece {

struct Segments {
  std::vector<std::uint32_t> alphabet;      // by code: its character, ascending; code 0 ends a segment
  std::vector<std::uint64_t> occurrences;   // by code
  Codes codes;                              // all segments, each followed by a 0
  std::vector<std::uint32_t> starts;        // by segment: its start in `codes`; and their end
  std::vector<std::int64_t> counts;         // by segment
  std::vector<std::uint64_t> too_many;      // only if the codes would not fit, and the rest is empty: see SegmentCounter
  std::size_t size() const { return counts.size(); }
};

// Which characters pieces may contain (character coverage).
struct Coverage {
  double share;                         // share of all characters that must be covered
  std::vector<std::uint32_t> required;  // characters that are always covered
};

class SegmentCounter {
 public:
  // `seed` is that of the counter whose words are added. `normalizer` must keep spaces and have no symbols; normalized words
  // are split at `symbols`. With `collapse`, extra spaces in its output are removed.
  SegmentCounter(const PieceRules& rules, const Normalizer& normalizer, bool collapse, const Symbols& symbols, std::uint64_t seed)
      : rules_(rules), normalizer_(normalizer), collapse_(collapse), symbols_(symbols), counts_(seed ^ kSeedOfSegments), occurrences_(kCodePoints), seed_(seed) {}

  // Adds a word of valid UTF-8 with its leading spaces.
  void add(Bytes word, std::int64_t count) {
    if (word.empty()) return;
    if (normalizer_.map().is_empty()) {
      add_between_symbols(word, count);
    } else {
      normalizer_.normalize(word, {}, normal_);
      add_between_symbols(collapse_ ? collapsed(normal_.bytes, word[0] != ' ') : Bytes(normal_.bytes), count);
    }
  }

  std::uint64_t num_characters() const { return num_characters_; }

  static constexpr std::size_t kMostCodes = std::size_t{1} << 31;
  static constexpr std::size_t kCountsTold = 64;

  // Returns the segments if they have fewer than `most_codes` codes. Otherwise returns only `too_many`: the number of codes of
  // segments that occur 0, 1, … times, and, in the last element, kCountsTold times or more. If the caller drops words up to
  // some frequency, no remaining segment is as rare as that.
  Segments finish(const Coverage& coverage, std::size_t most_codes = kMostCodes) {
    Segments made;
    std::vector<std::uint32_t> code_of(kCodePoints);
    made.alphabet = alphabet(coverage);
    for (std::size_t code = 1; code < made.alphabet.size(); ++code) {
      code_of[made.alphabet[code]] = static_cast<std::uint32_t>(code);
      made.occurrences.resize(code + 1);
      made.occurrences[code] = occurrences_[made.alphabet[code]];
    }
    occurrences_ = std::vector<std::uint64_t>();
    add_known_parts(code_of);
    std::size_t size = 0;
    std::vector<std::uint64_t> codes_by_count(kCountsTold + 1);
    counts_.for_each([&](Bytes segment, std::int64_t count) {
      if (!is_known(segment, code_of)) return;
      ++size;
      std::uint64_t& num_codes = codes_by_count[std::min(static_cast<std::size_t>(count), kCountsTold)];
      ++num_codes;
      for_each_character(segment, [&](std::uint32_t, std::size_t, std::size_t) { ++num_codes; });
    });
    const std::size_t num_codes = std::accumulate(codes_by_count.begin(), codes_by_count.end(), std::size_t{0});
    if (num_codes >= most_codes) {
      made.too_many = std::move(codes_by_count);
      return made;
    }
    made.codes.reserve(num_codes);
    made.starts.reserve(size + 1);
    made.counts.reserve(size);
    counts_.take_each([&](Bytes segment, std::int64_t count) {
      if (!is_known(segment, code_of)) return;
      made.starts.push_back(static_cast<std::uint32_t>(made.codes.size()));
      made.counts.push_back(count);
      for_each_character(segment, [&](std::uint32_t c, std::size_t, std::size_t) { made.codes.push_back(code_of[c]); });
      made.codes.push_back(0);
    });
    made.starts.push_back(static_cast<std::uint32_t>(made.codes.size()));
    return made;
  }

 private:
  // Different seeds, because a table that is filled in the order of another one with the same seed has clusters.
  static constexpr std::uint64_t kSeedOfSegments = 1 << 8, kSeedOfParts = 1 << 9;

  // Removes extra spaces, those at the end of a word, and those at its start if it starts a line.
  Bytes collapsed(Bytes word, bool begins_line) {
    collapsed_.clear();
    bool is_after_space = begins_line;
    for (const Byte byte : word) {
      if (byte != ' ' || !is_after_space) collapsed_.push_back(byte);
      is_after_space = byte == ' ';
    }
    if (!collapsed_.empty() && collapsed_.back() == ' ') collapsed_.pop_back();
    return collapsed_;
  }

  void add_between_symbols(Bytes word, std::int64_t count) {
    std::size_t start = 0;
    for (std::size_t i = 0; i < word.size();) {
      const std::size_t length = symbols_.is_empty() ? 0 : symbols_.longest(word.data() + i, word.data() + word.size());
      if (length == 0) {
        ++i;
        continue;
      }
      add_normal(word.subspan(start, i - start), count);
      start = i += length;
      occurrences_[kBoundary] += static_cast<std::uint64_t>(count);
      num_characters_ += static_cast<std::uint64_t>(count);
    }
    add_normal(word.subspan(start), count);
  }

  // Adds a normalized part, splitting it at ▁ in the raw text, which counts as a space.
  void add_normal(Bytes part, std::int64_t count) {
    constexpr Byte kMark[] = {0xE2, 0x96, 0x81};
    auto found = std::search(part.begin(), part.end(), std::begin(kMark), std::end(kMark));
    if (found == part.end()) {
      add_part(part, count);
      return;
    }
    std::vector<Byte> spaced;
    auto p = part.begin();
    for (; found != part.end(); found = std::search(p, part.end(), std::begin(kMark), std::end(kMark))) {
      spaced.insert(spaced.end(), p, found);
      spaced.push_back(' ');
      p = found + std::ssize(kMark);
    }
    spaced.insert(spaced.end(), p, part.end());
    add_part(spaced, count);
  }

  // Calls sink(character, start, stop) for each character of valid UTF-8, with ▁ for spaces.
  template <class Sink>
  static void for_each_character(Bytes text, Sink sink) {
    for (std::size_t i = 0; i < text.size();) {
      const Byte* const p = text.data() + i;
      const std::uint32_t lead = p[0];
      std::uint32_t c = lead;
      std::size_t length = 1;
      if (lead >= 0xF0) {
        c = (lead & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
        length = 4;
      } else if (lead >= 0xE0) {
        c = (lead & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
        length = 3;
      } else if (lead >= 0xC0) {
        c = (lead & 0x1F) << 6 | (p[1] & 0x3Fu);
        length = 2;
      } else if (lead == ' ') {
        c = kSpace;
      }
      sink(c, i, i + length);
      i += length;
    }
  }

  void add_part(Bytes part, std::int64_t count) {
    std::size_t start = 0;
    std::uint32_t before = 0;
    for_each_character(part, [&](std::uint32_t c, std::size_t from, std::size_t to) {
      const auto times = static_cast<std::uint64_t>(count);
      if (c != 0 && c != 0x2585) {
        occurrences_[c] += times;
        num_characters_ += times;
      }
      if (PieceRules::is_in_no_piece(c)) {
        count_segment(counts_, part.subspan(start, from - start), count);
        start = to;
        before = 0;
        return;
      }
      if (before != 0 && rules_.are_parted(before, c)) {
        count_segment(counts_, part.subspan(start, from - start), count);
        start = from;
      }
      before = c;
    });
    count_segment(counts_, part.subspan(start), count);
  }

  // Never inlined: if a compiler knows that a segment is short, it warns about the code for long ones.
  TOKBENCH_NEVER_INLINE static void count_segment(PretokenCounts& counts, Bytes segment, std::int64_t count) {
    if (!segment.empty()) counts.add(segment, count);
  }

  using CodeOf = std::vector<std::uint32_t>;  // by character; 0 if pieces may not contain it

  static bool is_known(Bytes segment, const CodeOf& code_of) {
    bool is_known = true;
    for_each_character(segment, [&](std::uint32_t c, std::size_t, std::size_t) { is_known &= code_of[c] != 0; });
    return is_known;
  }

  // Splits segments at characters that pieces may not contain, and adds the parts. The segments themselves stay, and are
  // skipped.
  void add_known_parts(const CodeOf& code_of) {
    PretokenCounts parts(seed_ ^ kSeedOfParts);
    counts_.for_each([&](Bytes segment, std::int64_t count) {
      std::size_t start = 0;
      for_each_character(segment, [&](std::uint32_t c, std::size_t from, std::size_t to) {
        if (code_of[c] != 0) return;
        count_segment(parts, segment.subspan(start, from - start), count);
        start = to;
      });
      if (start != 0) count_segment(parts, segment.subspan(start), count);
    });
    parts.for_each([&](Bytes part, std::int64_t count) { count_segment(counts_, part, count); });
  }

  // The required characters and the most frequent ones, smaller ones first at equal counts, until their share is reached. The
  // share is computed in single precision, as in SentencePiece.
  std::vector<std::uint32_t> alphabet(const Coverage& coverage) {
    std::vector<std::uint32_t> seen, taken;
    std::vector<bool> is_required(kCodePoints);
    std::uint64_t covered = 0;
    const auto take = [&](std::uint32_t c) {
      covered += occurrences_[c];
      if (!PieceRules::is_in_no_piece(c)) taken.push_back(c);
    };
    for (const std::uint32_t c : coverage.required) {
      if (c >= kCodePoints) throw std::invalid_argument("a required character is none");
      if (!is_required[c]) take(c);
      is_required[c] = true;
    }
    for (std::uint32_t c = 0; c < kCodePoints; ++c) {
      if (occurrences_[c] != 0 && !is_required[c]) seen.push_back(c);
    }
    std::stable_sort(seen.begin(), seen.end(), [&](std::uint32_t a, std::uint32_t b) { return occurrences_[a] > occurrences_[b]; });
    for (const std::uint32_t c : seen) {
      const double share = static_cast<double>(covered) / static_cast<double>(num_characters_);
      if (static_cast<float>(share) >= static_cast<float>(coverage.share)) break;
      take(c);
    }
    taken.push_back(0);
    std::sort(taken.begin(), taken.end());
    return taken;
  }

  const PieceRules& rules_;
  const Normalizer& normalizer_;
  bool collapse_;
  const Symbols& symbols_;
  NormalizedText normal_;
  std::vector<Byte> collapsed_;
  PretokenCounts counts_;
  std::vector<std::uint64_t> occurrences_;
  std::uint64_t num_characters_ = 0;
  std::uint64_t seed_;
};

}  // namespace tokbench::sentencepiece
