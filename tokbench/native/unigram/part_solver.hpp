// Words → pieces by their parts: what stands between two places where no piece reaches across (normalization/certain_cuts.hpp).
//
// Parts come back in words that are new: "(foo" and "foo," have one. The short ones of a thread are remembered in a table of a
// fixed size, where a new one takes the place of another. A part that no key of the character map has to do with is not
// normalised, and characters that are in no piece are not looked for.
#pragma once

#include <optional>

#include "best_path.hpp"
#include "common/zeroed_table.hpp"
#include "encoding/whole_tokens.hpp"
#include "normalization/certain_cuts.hpp"

namespace tokbench {

// `Form` says what a word is to its pieces:
//
//   cuts()                           where it is cut; nullptr for nowhere
//   puts_space_in_front_of_words()   whether it is cut behind one more space
//   normalize_part(part, out)        what a part that is altered becomes
template <class Real, class Form>
class PartSolver {
 public:
  PartSolver(const UnigramModel<Real>& model, const Form& form, BestPath<Real>& path) : model_(model), form_(form), path_(path) {}

  // Writes the ids of a word as they are remembered (model.hpp), at most one for each byte of its normal form; returns how many:
  // 0 where they stay the same below no sum, and none where its parts do not tell.
  std::optional<std::size_t> remembered(Bytes word, Id* out) {
    Id* const first = out;
    std::size_t tokens = 0;
    Id level = kLevels - 1;
    const bool is_told = for_each_solved(word, [&](const Found& part) {
      if (level == 0) return true;
      if (part.is_foreign) {
        if (part.characters > packed::kMostUnknown || model_.has_doubtful_unknown()) level = 0;
        if (level == 0) return true;
        Id* const first_of_part = out;
        out = write_foreign(part, out);
        *first_of_part |= static_cast<Id>(part.characters) << packed::kUnknownShift;
        tokens += part.characters;
        return true;
      }
      level = std::min<Id>(level, packed::level_of(part.ids[0]));
      for (const Id id : part.ids) {
        *out++ = id & ~packed::kLevelMask;
        tokens += std::max<std::size_t>(packed::unknown_of(id), 1);
      }
      return true;
    });
    if (!is_told) return std::nullopt;
    if (level == 0 || out == first || static_cast<double>(tokens) * static_cast<double>(model_.largest_step()) >= kMostExtent) return 0;
    *first |= level << packed::kLevelShift;
    return static_cast<std::size_t>(out - first);
  }

  // The ids of a word behind a sum, which becomes the one behind it; false where its parts do not tell.
  bool solve_behind(Real& sum, Bytes word, Id*& out) {
    const Real unknown_score = model_.rules().unknown_score;
    return for_each_solved(word, [&](const Found& part) {
      const double before = static_cast<double>(std::abs(sum));
      if (part.is_foreign) {
        const double most = before + static_cast<double>(part.characters) * std::abs(static_cast<double>(unknown_score));
        if (most < static_cast<double>(kSteadyBelow<Real>[kLevels - 1])) {
          for (std::size_t i = 0; i < part.characters; ++i) sum += unknown_score;
          out = write_foreign(part, out);
        } else {
          out += path_.at(sum, part.raw, out);
        }
      } else if (before < static_cast<double>(kSteadyBelow<Real>[packed::level_of(part.ids[0])])) {
        for (const Id id : part.ids) {
          sum = model_.added(sum, id & ~packed::kLevelMask);
          *out++ = packed::id_of(id);
        }
      } else {
        out += path_.at(sum, normal_of(part), out);
      }
      return true;
    });
  }

 private:
  static constexpr std::size_t kRememberedParts = 1 << 15;  // 1 MiB
  static constexpr std::size_t kMostIds = 4;
  static constexpr unsigned kCountShift = 60;

  // A short part with its ids: its key, and above the length in it the number of ids.
  struct Entry {
    std::uint64_t low, high;
    Id ids[kMostIds];
  };

  struct Found {
    Bytes raw;
    std::span<const Id> ids;  // as they are remembered; of a foreign part none
    std::size_t characters;
    bool is_foreign, is_altered;
    WordKey key;   // of a short one
    Entry* entry;  // where it may be
  };

  template <class Use>
  bool for_each_solved(Bytes word, Use use) {
    const CertainCuts* const cuts = form_.cuts();
    if (cuts == nullptr) return false;
    const std::size_t size_of_prefix = form_.puts_space_in_front_of_words() ? 1 : 0, size = word.size() + size_of_prefix;
    if (copy_.size() < size + kKeyPadding) copy_.resize(size + kKeyPadding);
    copy_[0] = ' ';
    std::memcpy(copy_.data() + size_of_prefix, word.data(), word.size());
    found_.clear();
    if (!cuts->for_each_part(copy_.data(), copy_.data() + size, [this](const CertainCuts::Part& part) { return find(part); })) return false;
    return std::ranges::all_of(found_, [&](Found& part) {
      if (!part.is_foreign) part.ids = ids_of(part);
      return use(part);
    });
  }

  // Where the ids of a part may be is on the way from memory while the next one is looked for.
  bool find(const CertainCuts::Part& part) {
    Found found{{part.start, part.stop}, {}, part.characters, part.is_foreign, part.is_altered, {}, nullptr};
    if (!part.is_foreign && found.raw.size() <= kShortWord) {
      found.key = short_key(part.start, found.raw.size());
      found.entry = &parts_[hash_of(found.key) >> 16 & (kRememberedParts - 1)];
      prefetch(found.entry);
    }
    found_.push_back(found);
    return true;
  }

  std::span<const Id> ids_of(const Found& part) {
    if (part.entry == nullptr) return solved_anew(part);
    Entry& entry = *part.entry;
    const WordKey& key = part.key;
    if (entry.low == key.low && (entry.high << (64 - kCountShift)) == (key.high << (64 - kCountShift))) {
      return {entry.ids, static_cast<std::size_t>(entry.high >> kCountShift)};
    }
    const std::span<const Id> ids = solved_anew(part);
    if (ids.size() <= kMostIds) {
      entry = {key.low, key.high | std::uint64_t{ids.size()} << kCountShift, {}};
      std::ranges::copy(ids, entry.ids);
    }
    return ids;
  }

  std::span<const Id> solved_anew(const Found& part) {
    const Bytes normal = normal_of(part);
    if (ids_.size() < normal.size()) ids_.resize(normal.size());
    return {ids_.data(), path_.anywhere(normal, ids_.data())};
  }

  // A part as its pieces see it, until the next one is asked for.
  Bytes normal_of(const Found& part) {
    if (part.is_altered) {
      form_.normalize_part(part.raw, normal_);
      return normal_.bytes;
    }
    if (part.raw.front() != ' ') return part.raw;
    normal_.bytes.clear();
    std::size_t spaces = 0;
    for (; spaces < part.raw.size() && part.raw[spaces] == ' '; ++spaces) {
      normal_.bytes.insert(normal_.bytes.end(), kSpaceMark.begin(), kSpaceMark.end());
    }
    normal_.bytes.insert(normal_.bytes.end(), part.raw.begin() + static_cast<std::ptrdiff_t>(spaces), part.raw.end());
    return normal_.bytes;
  }

  // The ids of characters that are in no piece.
  Id* write_foreign(const Found& part, Id* out) const {
    const auto& rules = model_.rules();
    if (!rules.has_byte_fallback) {
      *out++ = rules.unknown;
    } else {
      for (const Byte byte : part.raw) *out++ = rules.bytes[byte];
    }
    return out;
  }

  const UnigramModel<Real>& model_;
  const Form& form_;
  BestPath<Real>& path_;
  ZeroedTable<Entry> parts_{kRememberedParts};
  std::vector<Byte> copy_;
  std::vector<Found> found_;
  std::vector<Id> ids_;
  NormalizedText normal_;
};

}  // namespace tokbench
