// Byte-level BPE for the encoder: a pattern splits the text into pre-tokens, and each is merged by itself.
#pragma once

#include "encoding/encoder.hpp"
#include "group_merger.hpp"
#include "pretoken_pattern.hpp"
#include "reachable.hpp"

namespace tokbench {

class BpeFamily {
 public:
  using Model = Vocabulary;

  class Solver {
   public:
    explicit Solver(const Vocabulary& vocabulary) : vocabulary_(vocabulary), merger_(vocabulary), group_merger_(vocabulary) {}

    std::size_t solve(Bytes pretoken, std::uint64_t hash, Id* out) {
      if (const auto whole = vocabulary_.whole_token(pretoken, hash)) {
        *out = *whole;
        return 1;
      }
      return merger_.merge(pretoken, out);
    }
    void solve_together(std::span<NewWord> words) {
      std::size_t size = 0;
      for (const NewWord& word : words) size += word.bytes.size();
      if (ids_.size() < size) ids_.resize(size);
      Id* out = ids_.data();
      tasks_.clear();
      for (NewWord& word : words) {
        if (const auto whole = vocabulary_.whole_token(word.bytes, word.hash)) {
          *out = *whole;
          word.ids = {out++, 1};
        } else {
          tasks_.push_back({word.bytes, out, 0});
          word.ids = {};
          out += word.bytes.size();
        }
      }
      group_merger_.merge(tasks_);
      auto task = tasks_.begin();
      for (NewWord& word : words) {
        if (!word.ids.empty()) continue;
        word.ids = {task->out, task->count};
        ++task;
      }
    }
    void fetch(std::uint64_t hash) const { vocabulary_.fetch_whole_token(hash); }

   private:
    const Vocabulary& vocabulary_;
    Merger merger_;
    GroupMerger group_merger_;
    std::vector<GroupMerger::Task> tasks_;
    std::vector<Id> ids_;
  };

  // How many bytes of a word each id covers.
  class Sizes {
   public:
    explicit Sizes(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

    // Calls use(id, size) for each id of a word. The last token may also cover a mark that follows the word.
    template <class Use>
    void for_each(Bytes word, std::span<const Id> ids, const Use& use) const {
      std::size_t left = word.size();
      for (const Id id : ids) {
        const std::size_t size = std::min(left, vocabulary_.token_length(id));
        use(id, size);
        left -= size;
      }
    }

   private:
    const Vocabulary& vocabulary_;
  };

  BpeFamily(PretokenPattern pattern) : pattern_(std::move(pattern)) {}  // NOLINT: implicit on purpose
  BpeFamily(Pattern named) : pattern_(named) {}                         // NOLINT: the same

  const PretokenPattern& pattern() const { return pattern_; }
  SplitWords split_words() const { return pattern_.split_words(); }
  std::size_t first_safe_cut(const Text& text, std::size_t from) const { return pattern_.first_safe_cut(text, from); }
  static std::shared_ptr<const Vocabulary> completed(std::shared_ptr<const Vocabulary> vocabulary) {
    return tokbench::completed(std::move(vocabulary));
  }

 private:
  PretokenPattern pattern_;
};

using BpeEncoder = Encoder<BpeFamily>;

}  // namespace tokbench
