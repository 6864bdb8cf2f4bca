// Segments the new words of a batch by their parts (part_cuts.hpp).
//
// New words share parts: "(foo" and "foo," both contain "foo". Each thread remembers short parts in a direct-mapped table of fixed
// size, in which a new part overwrites an older one. The parts that are not found there are segmented side by side
// (walked_texts.hpp). A word with characters that normalization may change is normalized and treated as a single part.
#pragma once

#include "best_path.hpp"
#include "common/word_key.hpp"
#include "common/zeroed_table.hpp"
#include "encoding/whole_tokens.hpp"

namespace tokbench {

// `Form` provides:
//
//   puts_space_in_front_of_words()      whether a word is segmented with a space in front of it
//   kTextsAreAlone                      whether the sum starts at 0 for each normalized text of a word
//   for_each_text(word, normal, use, use_added)    normalizes a word into the buffer `normal`; calls use(text) for each resulting
//                                       text and use_added(id) for each added token that is matched in it
//   may_hold_added(word)                whether a word that normalization does not change contains an added token
template <class Real, class Form>
class PartSolver {
 public:
  PartSolver(const UnigramModel<Real>& model, const Form& form) : model_(model), form_(form), path_(model), texts_(model) {}

  // Starts a new batch. The words are not copied and must stay valid.
  void take(std::span<const Bytes> words) {
    parts_.clear();
    words_.clear();
    texts_.clear();
    for (const Bytes word : words) cut(word);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool is_plain = !form_.may_hold_added(words[i]) && std::ranges::all_of(parts_of(i), [this](Part& part) { return find(part); });
      if (!is_plain) normalize(i, words[i]);
    }
    texts_.walk();
    path_.look_at(texts_);
  }

  // Writes the packed ids (model.hpp) of one word, at most one per byte of its normal form, and returns their number: 0 if its
  // segmentation holds for no range of preceding sums.
  std::size_t remembered(std::size_t word, Id* out) {
    Id* const first = out;
    std::size_t tokens = 0;
    Id level = kLevels - 1;
    const auto unknown_score = static_cast<double>(model_.rules().unknown_score);
    for (Part& part : parts_of(word)) {
      if (part.count == 0 && static_cast<double>(texts_[part.text].num_foreign) * std::abs(unknown_score) >= kMostExtent) return 0;
      const std::span<const Id> ids = ids_of(part);
      if (ids.empty()) continue;
      level = std::min<Id>(level, packed::level_of(ids[0]));
      if (level == 0) return 0;
      for (const Id id : ids) {
        *out++ = id & ~packed::kLevelMask;
        tokens += std::max<std::size_t>(packed::unknown_of(id), 1);
      }
    }
    const bool is_one = words_[word].size == 1;
    if (out == first || (!is_one && static_cast<double>(tokens) * static_cast<double>(model_.largest_step()) >= kMostExtent)) return 0;
    *first |= level << packed::kLevelShift;
    return static_cast<std::size_t>(out - first);
  }

  // Writes the plain ids of a word after the preceding sum `sum`, and updates the sum.
  std::size_t after(Real& sum, std::size_t word, Id* out) {
    Id* const first = out;
    for (Part& part : parts_of(word)) {
      if (part.is_added) {
        *out++ = part.ids[0];
        continue;
      }
      if (Form::kTextsAreAlone && part.raw.empty()) sum = 0;
      const std::span<const Id> ids = ids_of(part);
      if (ids.empty()) continue;
      const bool is_certain = static_cast<double>(std::abs(sum)) < static_cast<double>(kSteadyBelow<Real>[packed::level_of(ids[0])]);
      if (!is_certain) {
        out += after_anew(sum, part, out);
        continue;
      }
      for (const Id id : ids) {
        sum = model_.added(sum, id & ~packed::kLevelMask);
        *out++ = packed::id_of(id);
      }
    }
    return static_cast<std::size_t>(out - first);
  }

  // The same for a normalized text that is not part of the batch.
  std::size_t text_after(Real& sum, Bytes text, Id* out) {
    WalkedTexts<Real> alone(model_);
    alone.add(text);
    alone.walk();
    return path_.after(sum, alone[0], out);
  }

 private:
  static constexpr std::size_t kRememberedParts = 1 << 17;  // 4 MiB
  static constexpr std::size_t kMostCut = 1 << 12;  // longer words (bytes) are one part: many parts would take much memory
  static constexpr std::size_t kMostIds = 4;
  static constexpr unsigned kLengthShift = 56, kMarkShift = 60, kCountShift = 61;
  static constexpr std::uint64_t kCountMask = ~std::uint64_t{0} << kCountShift;

  // A remembered part: its key, with the flag for a leading ▁ and the number of ids in the top bits, and its packed ids.
  struct Entry {
    std::uint64_t low, high;
    Id ids[kMostIds];
  };

  // One cache line. Parts are constructed in place: copying one and reading it at once in other sizes stalls store forwarding.
  struct Part {
    Bytes raw;                 // empty if the part was normalized
    WordKey key;               // of a short part
    Entry* entry = nullptr;    // the table entry of a short part
    Id ids[kMostIds];
    std::uint32_t text = 0;    // index into texts_ if no ids were found
    std::uint8_t count = 0;    // number of ids that were found
    bool has_mark = false;
    bool is_added = false;     // an added token, whose id is ids[0]
  };

  struct Word {
    std::size_t first, size;
  };

  std::span<Part> parts_of(std::size_t word) { return std::span(parts_).subspan(words_[word].first, words_[word].size); }

  // Cuts a word into parts and prefetches their table entries, which are read once all words are cut.
  void cut(Bytes word) {
    const Byte* const end = word.data() + word.size();
    const std::size_t first = parts_.size();
    bool has_mark = form_.puts_space_in_front_of_words();
    for (const Byte* p = word.data(); p != end; has_mark = false) {
      const Byte* const stop = word.size() <= kMostCut ? model_.part_cuts().after_part(p, end) : end;
      Part& part = parts_.emplace_back();
      part.raw = {p, stop};
      part.has_mark = has_mark;
      if (part.raw.size() <= kShortWord) {
        WordKey key = key_of(part.raw);
        key.high |= std::uint64_t{has_mark} << kMarkShift;
        part.key = key;
        part.entry = &table_[hash_of(key) >> 16 & (kRememberedParts - 1)];
        prefetch(part.entry);
      }
      p = stop;
    }
    words_.push_back({first, parts_.size() - first});
  }

  // Looks a part up, or adds it to texts_. Returns false if normalization may change one of its characters.
  bool find(Part& part) {
    const Entry* const entry = part.entry;
    if (entry != nullptr && entry->low == part.key.low && (entry->high & ~kCountMask) == part.key.high) {
      part.count = static_cast<std::uint8_t>(entry->high >> kCountShift);
      std::ranges::copy(entry->ids, part.ids);
    } else {
      part.text = static_cast<std::uint32_t>(texts_.size());
      if (!texts_.add_raw(part.raw, part.has_mark)) return false;
    }
    return true;
  }

  void normalize(std::size_t number, Bytes word) {
    const std::size_t first = parts_.size();
    form_.for_each_text(
        word, normal_,
        [this](Bytes text) {
          parts_.emplace_back().text = static_cast<std::uint32_t>(texts_.size());
          texts_.add(text);
        },
        [this](Id id) {
          Part& part = parts_.emplace_back();
          part.ids[0] = id;
          part.count = 1;
          part.is_added = true;
        });
    words_[number] = {first, parts_.size() - first};
  }

  std::span<const Id> ids_of(Part& part) {
    if (part.count != 0) return {part.ids, part.count};
    const std::span<const Id> ids = path_.anywhere(texts_, part.text);
    if (part.entry != nullptr && !ids.empty() && ids.size() <= kMostIds) {
      *part.entry = {part.key.low, part.key.high | std::uint64_t{ids.size()} << kCountShift, {}};
      std::ranges::copy(ids, part.entry->ids);
    }
    return ids;
  }

  std::size_t after_anew(Real& sum, const Part& part, Id* out) {
    if (part.count == 0) return path_.after(sum, texts_[part.text], out);
    WalkedTexts<Real> alone(model_);
    alone.add_raw(part.raw, part.has_mark);
    alone.walk();
    return path_.after(sum, alone[0], out);
  }

  // The key of a short part; reads no byte outside of it.
  static WordKey key_of(Bytes part) {
    const std::size_t size = part.size();
    const auto read = [&](auto word, std::size_t at) {
      std::memcpy(&word, part.data() + at, sizeof word);
      return std::uint64_t{word};
    };
    WordKey key{0, std::uint64_t{size} << kLengthShift};
    if (size >= 8) {
      key.low = read(std::uint64_t{}, 0);
      if (size > 8) key.high |= read(std::uint64_t{}, size - 8) >> 8 * (16 - size);
    } else if (size >= 4) {
      key.low = read(std::uint32_t{}, 0) | read(std::uint32_t{}, size - 4) << 8 * (size - 4);
    } else {
      key.low = read(Byte{}, 0) | read(Byte{}, size / 2) << 8 * (size / 2) | read(Byte{}, size - 1) << 8 * (size - 1);
    }
    return key;
  }

  const UnigramModel<Real>& model_;
  const Form& form_;
  BestPath<Real> path_;
  WalkedTexts<Real> texts_;
  ZeroedTable<Entry> table_{kRememberedParts};
  std::vector<Part> parts_;
  std::vector<Word> words_;
  NormalizedText normal_;
};

}  // namespace tokbench
