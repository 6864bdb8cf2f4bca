// Determines whether a program splits the two sides of a *cut*, a space between two ASCII letters, independently of each other.
//
// Matches are found from left to right. The right side does not depend on the left one if no match contains both the letter and
// the space. The left side does not depend on the right one if no operation, right after the letter, tests the space or the end
// of the text that takes its place. So it suffices to know what may be tested right after a letter.
#pragma once

#include "split_program.hpp"

namespace tokbench {

class ProgramCuts {
 public:
  ProgramCuts(const SplitProgram& program, const CharacterSets& sets) : program_(program), sets_(sets), space_(sets_of(' ')) {
    for (const Byte letter : kLetters) letters_ |= sets_of(letter);
  }

  // Whether splitting the whole gives the same as splitting each side, apart from a boundary at the cut.
  bool is_local() const {
    const auto operations = program_.operations();
    std::vector<Asked> asked(operations.size());
    for (std::size_t i = operations.size(); i-- > 0;) {
      const SplitOperation& each = operations[i];
      switch (each.kind) {
        case SplitOperation::Kind::Match:
          break;
        case SplitOperation::Kind::Characters:
        case SplitOperation::Kind::Possessive: {
          const SetMask set = SetMask{1} << each.set;
          if (set & letters_) {
            if (each.most > 1 && (set & space_)) return false;
            if ((asked[each.next].sets & space_) || asked[each.next].line_end) return false;
          }
          asked[i].sets = set;
          if (each.least == 0) asked[i].add(asked[each.next]);
          break;
        }
        case SplitOperation::Kind::Lazy:  // the number of characters depends on everything that follows
          return false;
        case SplitOperation::Kind::LineEnd:
          asked[i].line_end = true;
          asked[i].add(asked[each.next]);
          break;
        default:
          asked[i] = asked[each.next];
          asked[i].add(asked[each.other]);
      }
    }
    return true;
  }

  // Whether no match contains the space of a cut. Requires is_local().
  bool leaves_out_space() const { return (program_.first() & space_) == 0; }

  // Whether no match starts with the space or a letter.
  bool begins_elsewhere() const { return (program_.first() & (letters_ | space_)) == 0; }

  // Whether a match starts at every cut that the search reaches. If a space and a letter match without lookahead, there is a
  // match, perhaps a longer one, whatever follows.
  bool begins_there() const {
    if (!(program_.first() & space_)) return false;
    return std::all_of(kLetters.begin(), kLetters.end(), [&](Byte letter) {
      const Byte text[] = {' ', letter};
      return matches(0, text, text + 2);
    });
  }

 private:
  // What may be tested before the next character is consumed.
  struct Asked {
    SetMask sets = 0;
    bool line_end = false;
    void add(const Asked& other) {
      sets |= other.sets;
      line_end |= other.line_end;
    }
  };

  static constexpr auto kLetters = [] {
    std::array<Byte, 52> letters{};
    for (std::size_t i = 0; i < 26; ++i) {
      letters[i] = static_cast<Byte>('A' + i);
      letters[i + 26] = static_cast<Byte>('a' + i);
    }
    return letters;
  }();

  SetMask sets_of(Byte byte) const {
    std::size_t length;
    return program_.unit() == SplitUnit::OneByte ? sets_.of_byte(byte) : sets_.of_character(&byte, &byte + 1, length);
  }

  // Whether the operations from `number` on match without any lookahead.
  bool matches(std::uint32_t number, const Byte* p, const Byte* end) const {
    const SplitOperation& operation = program_.operations()[number];
    switch (operation.kind) {
      case SplitOperation::Kind::Match:
        return true;
      case SplitOperation::Kind::Characters:
      case SplitOperation::Kind::Possessive: {
        std::uint32_t count = 0;
        while (count < operation.most && p + count < end && (sets_of(p[count]) & SetMask{1} << operation.set)) ++count;
        if (count < operation.least) return false;
        if (operation.kind == SplitOperation::Kind::Possessive) return matches(operation.next, p + count, end);
        for (;; --count) {
          if (matches(operation.next, p + count, end)) return true;
          if (count == operation.least) return false;
        }
      }
      case SplitOperation::Kind::Either:
        return matches(operation.next, p, end) || matches(operation.other, p, end);
      default:
        return false;
    }
  }

  const SplitProgram& program_;
  const CharacterSets& sets_;
  SetMask space_;
  SetMask letters_ = 0;
};

}  // namespace tokbench
