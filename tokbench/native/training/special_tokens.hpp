// Finds special tokens in a text, to split it there.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "common/utf8.hpp"

namespace tokbench {

class SpecialTokens {
 public:
  // The texts must not be empty. Of several matches at the same position, the longest wins.
  explicit SpecialTokens(std::vector<std::string> texts) : texts_(std::move(texts)) {
    std::sort(texts_.begin(), texts_.end(),
              [](const std::string& a, const std::string& b) { return a.size() != b.size() ? a.size() > b.size() : a < b; });
  }

  bool empty() const { return texts_.empty(); }

  // The size of the longest special token in bytes.
  std::size_t longest() const { return texts_.empty() ? 0 : texts_.front().size(); }

  // Calls sink(part) for each non-empty part of the text between special tokens.
  template <class Sink>
  void for_each_ordinary_part(Bytes text, Sink sink) const {
    if (texts_.empty()) {
      if (!text.empty()) sink(text);
      return;
    }
    const std::string_view view = as_view(text);
    std::vector<std::size_t> next(texts_.size(), 0);  // the next occurrence of each token
    std::size_t position = 0;
    while (position < view.size()) {
      std::size_t start = std::string_view::npos, length = 0;
      for (std::size_t i = 0; i < texts_.size(); ++i) {
        if (next[i] != std::string_view::npos && (next[i] < position || position == 0)) next[i] = view.find(texts_[i], position);
        if (next[i] < start) start = next[i], length = texts_[i].size();
      }
      const std::size_t stop = std::min(start, view.size());
      if (stop > position) sink(text.subspan(position, stop - position));
      if (start == std::string_view::npos) return;
      position = start + length;
    }
  }

  // Whether a special token extends across `cut`. The text must continue for longest() - 1 bytes after the cut, or be complete.
  bool straddles(Bytes text, std::size_t cut) const {
    const std::string_view view = as_view(text);
    for (const std::string& token : texts_) {
      const std::size_t reach = token.size() - 1;
      const std::size_t start = cut > reach ? cut - reach : 0;
      if (view.substr(start, std::min(view.size(), cut + reach) - start).find(token) != std::string_view::npos) return true;
    }
    return false;
  }

 private:
  static std::string_view as_view(Bytes text) { return {reinterpret_cast<const char*>(text.data()), text.size()}; }

  std::vector<std::string> texts_;  // longest first
};

}  // namespace tokbench
