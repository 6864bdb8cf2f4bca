// New words of a batch → pieces, by their parts (part_cuts.hpp).
//
// Parts come back in words that are new: "(foo" and "foo," have one. The short ones of a thread are remembered in a table of a
// fixed size, where a new one takes the place of another. Those that are not there are looked at side by side (walked_texts.hpp).
// Words with characters that are rewritten before pieces are looked for are normalized, and are one part.
#pragma once

#include "best_path.hpp"
#include "common/word_key.hpp"
#include "common/zeroed_table.hpp"
#include "encoding/whole_tokens.hpp"

namespace tokbench {

// `Form` says what a word is to its pieces:
//
//   puts_space_in_front_of_words()      whether it is cut after one more space
//   kTextsAreAlone                      whether the sum begins at 0 with each text that a word becomes
//   for_each_text(word, normal, use, use_added)    calls use(text) for each, with room for it, and use_added(id) for each
//                                       added token that is found in the normalized word
//   may_hold_added(word)                whether one is found in a word of which no character is rewritten
template <class Real, class Form>
class PartSolver {
 public:
  PartSolver(const UnigramModel<Real>& model, const Form& form) : model_(model), form_(form), path_(model), texts_(model) {}

  // Takes words, which stay where they are, in the place of those before.
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

  // Writes the ids of one of them as they are remembered (model.hpp), at most one for each byte of its normal form; returns how
  // many: 0 where they stay the same below no sum.
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

  // The ids after a sum, which becomes the one after them.
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

  // The same of a normalized text, whatever words were taken.
  std::size_t text_after(Real& sum, Bytes text, Id* out) {
    WalkedTexts<Real> alone(model_);
    alone.add(text);
    alone.walk();
    return path_.after(sum, alone[0], out);
  }

 private:
  static constexpr std::size_t kRememberedParts = 1 << 17;  // 4 MiB
  static constexpr std::size_t kMostCut = 1 << 12;  // bytes of a word that is cut: of longer ones, parts would take much memory
  static constexpr std::size_t kMostIds = 4;
  static constexpr unsigned kLengthShift = 56, kMarkShift = 60, kCountShift = 61;
  static constexpr std::uint64_t kCountMask = ~std::uint64_t{0} << kCountShift;

  // A short part with its ids: its key, and above the length in it whether there is ▁ in front, and the number of ids.
  struct Entry {
    std::uint64_t low, high;
    Id ids[kMostIds];
  };

  // One cache line. It is written where it stays: its parts are read again at once, in other sizes than they are copied in.
  struct Part {
    Bytes raw;                 // none where it is normalized
    WordKey key;               // of a short one
    Entry* entry = nullptr;    // where it may be
    Id ids[kMostIds];
    std::uint32_t text = 0;    // among those that are walked, where no ids were found
    std::uint8_t count = 0;    // of ids that were found
    bool has_mark = false;
    bool is_added = false;     // it is the first of the ids
  };

  struct Word {
    std::size_t first, size;
  };

  std::span<Part> parts_of(std::size_t word) { return std::span(parts_).subspan(words_[word].first, words_[word].size); }

  // The entries where parts may be are on the way from memory while other parts are looked for.
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

  // False where a character is rewritten.
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

  // The key of a short part, of which nothing is read but itself.
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
