// Matches split patterns that have no scanner of their own: regular expressions, compiled to operations and matched with
// backtracking.
//
// Python compiles the operations (backends/bpe/split_programs/programs.py). An operation only leads to later ones, so that
// matching terminates. Characters are represented by the sets that contain them, one bit per set.
#pragma once

#include <span>
#include <stdexcept>
#include <vector>

#include "character_sets.hpp"

namespace tokbench {

struct SplitOperation {
  enum class Kind : std::uint32_t {
    Match,       // succeed
    Characters,  // greedy: from `least` to `most` characters of `set`, then `next`
    Possessive,  // the same without backtracking
    Either,      // `next`, or else `other`
    Ahead,       // continue at `next` if `other` matches here (lookahead)
    NotAhead,    // continue at `next` if `other` does not match here
    LineEnd,     // continue at `next` at the end of the text or of a line
    Lazy         // like Characters, as few as possible
  };
  Kind kind;
  std::uint32_t set;
  std::uint32_t least, most;
  std::uint32_t next, other;
};

// What a program matches: characters of the text, or bytes as the characters of GPT-2's alphabet.
enum class SplitUnit : std::uint8_t { Character, OneByte };

// The class of what is at p < end, and its length.
template <SplitUnit Unit>
TOKBENCH_ALWAYS_INLINE inline CharacterSets::Class class_at(const CharacterSets& sets, const Byte* p, const Byte* end, std::size_t& length) {
  if constexpr (Unit == SplitUnit::OneByte) {
    length = 1;
    return sets.class_of_byte(*p);
  } else {
    return sets.class_of_character(p, end, length);
  }
}

// The sets that contain it, and its length.
template <SplitUnit Unit>
inline SetMask sets_at(const CharacterSets& sets, const Byte* p, const Byte* end, std::size_t& length) {
  return sets.classes()[class_at<Unit>(sets, p, end, length)];
}

class SplitProgram {
 public:
  // A program starts at operation 0. `first` are the sets of characters that a match can start with.
  SplitProgram(std::vector<SplitOperation> operations, SetMask first, SplitUnit unit) : operations_(std::move(operations)), first_(first), unit_(unit) {
    if (operations_.empty() || operations_.size() > kMostOperations) throw std::invalid_argument("a program has too many operations, or none");
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      const SplitOperation& each = operations_[i];
      if (each.kind > SplitOperation::Kind::Lazy) throw std::invalid_argument("no such operation");
      if (each.kind == SplitOperation::Kind::Match) continue;
      const bool has_other = each.kind >= SplitOperation::Kind::Either && each.kind <= SplitOperation::Kind::NotAhead;
      if (!leads_on(i, each.next) || (has_other && !leads_on(i, each.other))) throw std::invalid_argument("an operation leads back");
      if (each.set >= kMostSets) throw std::invalid_argument("there are not so many sets");
      if (each.most < each.least) throw std::invalid_argument("an operation takes fewer characters than it needs");
    }
    starts_.resize(operations_.size());
    for (std::size_t i = operations_.size(); i-- > 0;) starts_[i] = start_of(operations_[i]);
  }

  std::span<const SplitOperation> operations() const { return operations_; }
  SetMask first() const { return first_; }
  SplitUnit unit() const { return unit_; }

  // The end of the match at `p`, or nullptr.
  template <SplitUnit Unit>
  const Byte* match(const CharacterSets& sets, const Byte* p, const Byte* end) const {
    return match<Unit>(sets, 0, p, end);
  }

 private:
  static constexpr std::size_t kMostOperations = 1024;

  static constexpr SetMask kAny = ~SetMask{0};

  bool leads_on(std::size_t from, std::size_t to) const { return to > from && to < operations_.size(); }

  // The sets of characters that a match from an operation on can start with; kAny if it may be empty. Those of later operations
  // must be known.
  SetMask start_of(const SplitOperation& operation) const {
    switch (operation.kind) {
      case SplitOperation::Kind::Match:
      case SplitOperation::Kind::LineEnd:
        return kAny;
      case SplitOperation::Kind::Either:
        return starts_[operation.next] | starts_[operation.other];
      case SplitOperation::Kind::Ahead:
      case SplitOperation::Kind::NotAhead:
        return starts_[operation.next];
      default:
        return SetMask{1} << operation.set | (operation.least == 0 ? starts_[operation.next] : SetMask{0});
    }
  }

  // Whether a match from an operation on may start with a character of these sets.
  bool may_start(std::uint32_t number, SetMask sets) const { return starts_[number] == kAny || (starts_[number] & sets) != 0; }

  // The end of the match at `p` by the operations from `number` on, or nullptr. The depth of recursion is at most the number of
  // operations.
  template <SplitUnit Unit>
  const Byte* match(const CharacterSets& sets, std::uint32_t number, const Byte* p, const Byte* end) const {
    for (;;) {
      const SplitOperation& operation = operations_[number];
      switch (operation.kind) {
        case SplitOperation::Kind::Match:
          return p;
        case SplitOperation::Kind::Characters:
        case SplitOperation::Kind::Possessive: {
          const Byte* q = p;
          const SetMask wanted = SetMask{1} << operation.set;
          std::uint32_t count = 0;
          for (std::size_t length; count < operation.most && q < end && (sets_at<Unit>(sets, q, end, length) & wanted); ++count) q += length;
          if (count < operation.least) return nullptr;
          if (operation.kind == SplitOperation::Kind::Characters && operations_[operation.next].kind != SplitOperation::Kind::Match) {
            for (; count > operation.least; --count) {
              if (const Byte* const stop = match<Unit>(sets, operation.next, q, end)) return stop;
              --q;
              if constexpr (Unit == SplitUnit::Character) {
                while (is_continuation(*q)) --q;
              }
            }
          }
          p = q;
          number = operation.next;
          break;
        }
        case SplitOperation::Kind::Lazy: {
          const SetMask wanted = SetMask{1} << operation.set;
          for (std::uint32_t count = 0;; ++count) {
            if (count >= operation.least) {
              if (const Byte* const stop = match<Unit>(sets, operation.next, p, end)) return stop;
            }
            std::size_t length;
            if (count == operation.most || p >= end || !(sets_at<Unit>(sets, p, end, length) & wanted)) return nullptr;
            p += length;
          }
        }
        case SplitOperation::Kind::Either: {
          // Most alternatives are ruled out by the first character, which is looked up once for all of them.
          std::size_t length;
          const SetMask start = p < end ? sets_at<Unit>(sets, p, end, length) : SetMask{0};
          do {
            const SplitOperation& either = operations_[number];
            if (may_start(either.next, start)) {
              if (const Byte* const stop = match<Unit>(sets, either.next, p, end)) return stop;
            }
            number = either.other;
          } while (operations_[number].kind == SplitOperation::Kind::Either);
          if (!may_start(number, start)) return nullptr;
          break;
        }
        case SplitOperation::Kind::Ahead:
        case SplitOperation::Kind::NotAhead: {
          const bool is_ahead = match<Unit>(sets, operation.other, p, end) != nullptr;
          if (is_ahead != (operation.kind == SplitOperation::Kind::Ahead)) return nullptr;
          number = operation.next;
          break;
        }
        case SplitOperation::Kind::LineEnd: {
          // GPT-2's alphabet of bytes contains no line end.
          if (p != end && (Unit == SplitUnit::OneByte || *p != '\n')) return nullptr;
          number = operation.next;
          break;
        }
      }
    }
  }

  std::vector<SplitOperation> operations_;
  std::vector<SetMask> starts_;  // see start_of()
  SetMask first_;
  SplitUnit unit_;
};

}  // namespace tokbench
