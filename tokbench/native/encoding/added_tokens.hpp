// Splits a text at added tokens, before anything else is done to it.
//
// The search is that of `tokenizers`: leftmost-longest, without overlaps. The tokens that are matched in the raw text come first;
// the parts between them are then searched for the tokens that are matched in normalized text.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/byte_classes.hpp"
#include "common/function_ref.hpp"
#include "id.hpp"

namespace tokbench {

struct AddedToken {
  std::string text;  // not empty
  Id id;
  bool lstrip;       // the match includes the white space before it
  bool rstrip;       // the match includes the white space after it
  bool single_word;  // no match next to an ASCII letter, digit or underscore
};

// A character after which a text may be cut before a space, if no added token extends over such a boundary.
inline constexpr bool is_ascii_word(std::uint32_t unit) {
  return (unit >= '0' && unit <= '9') || ((unit | 0x20) >= 'a' && (unit | 0x20) <= 'z');
}

// Added tokens that are searched for in one pass.
class AddedTokenSet {
 public:
  using Part = FunctionRef<void(Bytes)>;
  using Found = FunctionRef<void(Id, Bytes)>;

  explicit AddedTokenSet(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
    std::sort(tokens_.begin(), tokens_.end(), [](const AddedToken& a, const AddedToken& b) { return a.text < b.text; });
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].text.empty()) throw std::invalid_argument("an added token is empty");
      if (i > 0 && tokens_[i].text == tokens_[i - 1].text) throw std::invalid_argument("an added token occurs twice");
    }
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const Byte lead = lead_of(i);
      if (!is_lead_[lead]) {
        if (num_leads_ < leads_.size()) leads_[num_leads_] = lead;
        ++num_leads_;
        ranges_[lead].first = static_cast<std::uint32_t>(i);
      }
      is_lead_[lead] = 1;
      ranges_[lead].second = static_cast<std::uint32_t>(i + 1);
      const Byte second = tokens_[i].text.size() > 1 ? static_cast<Byte>(tokens_[i].text[1]) : Byte{0};
      add_pair({lead, second}, tokens_[i].text.size() > 1);
    }
  }

  bool empty() const { return tokens_.empty(); }
  const std::vector<AddedToken>& tokens() const { return tokens_; }

  // Calls found(id, bytes) for each match and part(bytes) for each non-empty part between matches, in the order of the text.
  void cut(Bytes text, Part part, Found found) const {
    const Byte* const end = text.data() + text.size();
    const Byte* after = text.data();  // the end of the last match
    for_each_match(text.data(), end, [&](const AddedToken& token, const Byte* start, const Byte* stop) {
      if (token.single_word && (touches_word(text.data(), start) || (stop != end && is_word(*stop)))) return;
      if (token.lstrip) start = before_white_space(after, start, end);
      if (token.rstrip) stop = skip_white_space(stop, end);
      if (after < start) part(Bytes(after, start));
      found(token.id, Bytes(start, stop));
      after = stop;
    });
    if (after < end) part(Bytes(after, end));
  }

  // Whether cutting a text between a letter or digit and a space leaves all matches as they are: no token spans such a boundary
  // or depends on the other side of it.
  bool may_be_cut_before_spaces() const {
    return std::ranges::all_of(tokens_, [](const AddedToken& token) {
      const std::string_view text = token.text;
      for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == ' ' && is_word(static_cast<Byte>(text[i - 1]))) return false;
      }
      const bool reaches = (token.lstrip && !is_ascii_sign(text.front())) || (token.rstrip && !is_ascii_sign(text.back()));
      return !token.single_word && !reaches;
    });
  }

  // Whether a part between matches may begin at such a boundary.
  bool may_end_words() const {
    return std::ranges::any_of(tokens_, [](const AddedToken& token) { return is_word(static_cast<Byte>(token.text.back())); });
  }

  // Whether a text can also be cut between a line end and a letter.
  bool may_be_cut() const {
    return may_be_cut_before_spaces() && std::ranges::none_of(tokens_, [](const AddedToken& token) {
      const std::string_view text = token.text;
      for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i - 1] == '\n' && !is_ascii_sign(text[i])) return true;
      }
      return false;
    });
  }

 private:
  using Pair = std::array<Byte, 2>;

  Byte lead_of(std::size_t i) const { return static_cast<Byte>(tokens_[i].text[0]); }

  void add_pair(Pair pair, bool has_second) {
    all_pairs_ = all_pairs_ && has_second;
    const auto* const after = pairs_.data() + num_pairs_;
    if (!has_second || std::find(static_cast<const Pair*>(pairs_.data()), after, pair) != after) return;
    if (num_pairs_ < pairs_.size()) {
      pairs_[num_pairs_++] = pair;
    } else {
      all_pairs_ = false;
    }
  }

  static bool is_ascii_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
  // Whether a byte is an ASCII character that is neither a letter nor white space nor a control character.
  static bool is_ascii_sign(char c) { return c > ' ' && c < 0x7F && !is_ascii_letter(c); }
  static bool is_word(Byte c) { return c < 0x80 && (is_ascii_letter(static_cast<char>(c)) || (c >= '0' && c <= '9') || c == '_'); }
  static bool touches_word(const Byte* begin, const Byte* start) { return start != begin && is_word(start[-1]); }

  static const Byte* before_white_space(const Byte* begin, const Byte* p, const Byte* end) {
    while (p > begin) {
      const Byte* before = p - 1;
      while (before > begin && is_continuation(*before)) --before;
      const Character character = character_at(before, end);
      if (character.kind != CharClass::Space || before + character.length != p) break;
      p = before;
    }
    return p;
  }

  static const Byte* skip_white_space(const Byte* p, const Byte* end) {
    while (p < end) {
      const Character character = character_at(p, end);
      if (character.kind != CharClass::Space) break;
      p += character.length;
    }
    return p;
  }

  template <class Use>
  void for_each_match(const Byte* p, const Byte* end, const Use& use) const {
    if (num_leads_ == 1) return for_each_match_by_lead(p, end, use);
    const Byte* free = p;  // the first position where the next match may begin
    while (p < end) {
      const auto size = std::min(static_cast<std::size_t>(end - p), kBlock);
      Byte padded[kBlock + 1];
      const Byte* known = p;
      if (static_cast<std::size_t>(end - p) <= kBlock) {
        std::fill(std::copy(p, end, padded), padded + sizeof padded, Byte{0});
        known = padded;
      }
      for (Mask candidates = candidates_in(known) & first_bits(size); candidates != 0; candidates &= candidates - 1) {
        const Byte* const start = p + std::countr_zero(candidates);
        if (start < free) continue;
        const AddedToken* const token = longest_at(start, end);
        if (token == nullptr) continue;
        free = start + token->text.size();
        use(*token, start, free);
      }
      p = std::max(p + size, free);
    }
  }

  // The same if all tokens begin with the same byte, such as "<" in most vocabularies.
  template <class Use>
  void for_each_match_by_lead(const Byte* p, const Byte* end, const Use& use) const {
    while (p < end) {
      p = static_cast<const Byte*>(std::memchr(p, leads_[0], static_cast<std::size_t>(end - p)));
      if (p == nullptr) return;
      const AddedToken* const token = may_begin_at(p, end) ? longest_at(p, end) : nullptr;
      const Byte* const start = p;
      p += token == nullptr ? 1 : token->text.size();
      if (token != nullptr) use(*token, start, p);
    }
  }

  bool may_begin_at(const Byte* p, const Byte* end) const {
    if (!all_pairs_) return true;
    const std::span<const Pair> pairs(pairs_.data(), num_pairs_);
    return end - p >= 2 && std::ranges::find(pairs, Pair{p[0], p[1]}) != pairs.end();
  }

  // A mask of the positions in a block of kBlock bytes where a token may begin. Reads one byte past the block.
  Mask candidates_in(const Byte* block) const {
#if defined(__SSE2__)
    if (all_pairs_ || num_leads_ <= leads_.size()) {
      Mask found = 0;
      for (unsigned i = 0; i < kBlock; i += 16) {
        const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + i));
        __m128i any = _mm_setzero_si128();
        if (all_pairs_) {
          const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + i + 1));
          for (std::size_t k = 0; k < num_pairs_; ++k) {
            any = _mm_or_si128(any, _mm_and_si128(_mm_cmpeq_epi8(first, _mm_set1_epi8(static_cast<char>(pairs_[k][0]))),
                                                  _mm_cmpeq_epi8(second, _mm_set1_epi8(static_cast<char>(pairs_[k][1])))));
          }
        } else {
          for (std::size_t k = 0; k < num_leads_; ++k) {
            any = _mm_or_si128(any, _mm_cmpeq_epi8(first, _mm_set1_epi8(static_cast<char>(leads_[k]))));
          }
        }
        found |= static_cast<Mask>(static_cast<std::uint32_t>(_mm_movemask_epi8(any))) << i;
      }
      return found;
    }
#endif
    Mask found = 0;
    for (unsigned i = 0; i < kBlock; ++i) found |= static_cast<Mask>(is_lead_[block[i]]) << i;
    return found;
  }

  // The longest token at a position. Tokens are sorted, so those that match the text so far are adjacent, and the one that ends
  // here is the first of them.
  const AddedToken* longest_at(const Byte* p, const Byte* end) const {
    auto [first, last] = ranges_[*p];
    const AddedToken* longest = nullptr;
    for (std::size_t depth = 1; first != last; ++depth) {
      if (tokens_[first].text.size() == depth) longest = &tokens_[first++];
      if (p + depth == end) break;
      const char wanted = static_cast<char>(p[depth]);
      const auto from = tokens_.begin() + first, to = tokens_.begin() + last;
      // Compares unsigned characters, as std::string does.
      const auto less = [depth](const AddedToken& token, char c) { return static_cast<Byte>(token.text[depth]) < static_cast<Byte>(c); };
      const auto greater = [depth](char c, const AddedToken& token) { return static_cast<Byte>(c) < static_cast<Byte>(token.text[depth]); };
      const auto lower = std::lower_bound(from, to, wanted, less);
      last = static_cast<std::uint32_t>(std::upper_bound(lower, to, wanted, greater) - tokens_.begin());
      first = static_cast<std::uint32_t>(lower - tokens_.begin());
    }
    return longest;
  }

  std::vector<AddedToken> tokens_;                                     // sorted by text
  std::array<std::pair<std::uint32_t, std::uint32_t>, 256> ranges_{};  // by first byte: the range of tokens_ that begin with it
  std::array<Byte, 256> is_lead_{};
  std::array<Byte, 8> leads_{};
  std::size_t num_leads_ = 0;
  std::array<Pair, 4> pairs_{};  // the first two bytes
  std::size_t num_pairs_ = 0;
  bool all_pairs_ = true;  // whether each token begins with one of pairs_
};

// All added tokens: those matched in raw text, then those matched in normalized text.
class AddedTokens {
 public:
  using Part = AddedTokenSet::Part;
  using Found = AddedTokenSet::Found;
  using Normalize = FunctionRef<Bytes(Bytes)>;

  AddedTokens() = default;
  AddedTokens(std::vector<AddedToken> as_it_is, std::vector<AddedToken> normalized)
      : sets_{AddedTokenSet(std::move(as_it_is)), AddedTokenSet(std::move(normalized))} {}

  bool empty() const { return sets_[0].empty() && sets_[1].empty(); }
  bool may_be_cut_before_spaces() const { return sets_[0].may_be_cut_before_spaces() && sets_[1].may_be_cut_before_spaces(); }
  bool may_end_words() const { return sets_[0].may_end_words() || sets_[1].may_end_words(); }
  bool may_be_cut() const { return sets_[0].may_be_cut() && sets_[1].may_be_cut(); }

  // See AddedTokenSet::cut(). A text that is already normalized was split at the first set before.
  void cut(Bytes text, bool is_normalized, Part part, Found found) const {
    cut(text, is_normalized, [](Bytes each) { return each; }, part, found);
  }

  // The same, with normalize(bytes) applied to the parts between matches of the first set unless the text is already normalized.
  void cut(Bytes text, bool is_normalized, Normalize normalize, Part part, Found found) const {
    const auto in_normal_part = [&](Bytes each) {
      if (sets_[1].empty()) return part(each);
      sets_[1].cut(each, part, found);
    };
    const auto in_part = [&](Bytes each) { in_normal_part(normalize(each)); };
    if (text.empty()) return;
    if (is_normalized) return in_normal_part(text);
    if (sets_[0].empty()) return in_part(text);
    sets_[0].cut(text, in_part, found);
  }

  const AddedTokenSet& as_it_is() const { return sets_[0]; }

 private:
  std::array<AddedTokenSet, 2> sets_{AddedTokenSet({}), AddedTokenSet({})};
};

}  // namespace tokbench
