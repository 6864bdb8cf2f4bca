r"""Compile split patterns as found in vocabularies into programs for the kernel (native/bpe/split_program.hpp).

Patterns mean what they mean to Oniguruma, as used by `tokenizers`, or in another dialect. Supported are characters,
nested classes, properties, groups, alternatives, greedy, possessive and lazy repetition of single characters, an
optional group, and lookahead; a pattern with anything else is unknown here.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokbench.backends.bpe.split_programs.character_sets import CharacterSets, UnknownPatternError
from tokbench.backends.bpe.split_programs.syntax import (
    ONIGURUMA,
    Ahead,
    Characters,
    Choices,
    Dialect,
    Group,
    Item,
    LineEnd,
    parsed,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_MOST_OPERATIONS = 1024


class Kind(IntEnum):
    """The operations, numbered as in the kernel."""

    MATCH = 0
    CHARACTERS = 1
    POSSESSIVE = 2
    EITHER = 3
    AHEAD = 4
    NOT_AHEAD = 5
    LINE_END = 6
    LAZY = 7


class Program(NamedTuple):
    """A compiled pattern for the kernel.

    Attributes:
        operations: uint32[n, 6], see `SplitOperation` in split_program.hpp.
        first: bit mask of the sets that a match can begin with.
        choices: the parsed pattern.
    """

    operations: NDArray[np.uint32]
    first: int
    choices: Choices


def program_of(pattern: str, sets: CharacterSets, *, dialect: Dialect = ONIGURUMA) -> Program:
    r"""Compile a regular expression into a program.

    Args:
        pattern: the expression.
        sets: the character sets, to which those of the pattern are added.
        dialect: what the expression means.

    Raises:
        UnknownPatternError: the pattern is not fully understood, or matches the empty string.

    >>> program_of(r"\p{N}{1,3}", CharacterSets()).operations.tolist()
    [[2, 0, 1, 3, 1, 0], [0, 0, 0, 0, 0, 0]]
    """
    return program_of_choices(parsed(pattern, dialect=dialect), sets, dialect=dialect)


def program_of_choices(choices: Choices, sets: CharacterSets, *, dialect: Dialect) -> Program:
    """Compile a parsed pattern; arguments and errors as for `program_of`."""
    return _Assembler(sets, dialect).program(choices)


def program_of_text(text: str, sets: CharacterSets) -> Program:
    """Return the program that matches one fixed text. Raises `UnknownPatternError` for an empty one."""
    return program_of("".join(rf"\x{{{ord(character):X}}}" for character in text), sets)


_WITH_TWO_SUCCESSORS = (Kind.EITHER, Kind.AHEAD, Kind.NOT_AHEAD)


class _Assembler:
    """An assembler that lays out operations so that each leads only to later ones."""

    def __init__(self, sets: CharacterSets, dialect: Dialect) -> None:
        self._sets = sets
        self._members_of = dialect.members_of
        self._rows: list[list[int]] = []

    def program(self, choices: Choices) -> Program:
        first, can_be_empty = self._first(choices)
        if can_be_empty:
            raise UnknownPatternError("it matches the empty string")
        # Built from the end, so that the successors of an operation exist already; reversed afterwards.
        end = self._add([Kind.MATCH, 0, 0, 0, 0, 0])
        self._add_choices(choices, end)
        last = len(self._rows) - 1
        if last >= _MOST_OPERATIONS:
            raise UnknownPatternError("it is too long")
        rows = [
            row
            if row[0] == Kind.MATCH
            else [*row[:4], last - row[4], (last - row[5]) * (row[0] in _WITH_TWO_SUCCESSORS)]
            for row in reversed(self._rows)
        ]
        return Program(np.array(rows, np.uint32), first, choices)

    def _add(self, row: list[int]) -> int:
        self._rows.append(row)
        return len(self._rows) - 1

    def _add_choices(self, choices: Choices, after: int) -> int:
        """Add an operation that tries each choice in order and continues at `after`; return its index."""
        entry = self._add_items(choices[-1], after)
        for items in reversed(choices[:-1]):
            tried = self._add_items(items, after)
            entry = self._add([Kind.EITHER, 0, 0, 0, tried, entry])
        return entry

    def _add_items(self, items: Iterable[Item], after: int) -> int:
        for item in reversed(tuple(items)):
            after = self._add_item(item, after)
        return after

    def _add_item(self, item: Item, after: int) -> int:
        if isinstance(item, Characters):
            number = self._number(item.spelling)
            needs_all = item.is_possessive or self._needs_no_fewer(number, after, is_lazy=item.is_lazy)
            kind = Kind.POSSESSIVE if needs_all else Kind.LAZY if item.is_lazy else Kind.CHARACTERS
            return self._add([kind, number, item.least, item.most, after, 0])
        if isinstance(item, Ahead):
            match = self._add([Kind.MATCH, 0, 0, 0, 0, 0])
            ahead = self._add_choices(item.choices, match)
            return self._add([Kind.NOT_AHEAD if item.is_negative else Kind.AHEAD, 0, 0, 0, after, ahead])
        if isinstance(item, LineEnd):
            return self._add([Kind.LINE_END, 0, 0, 0, after, 0])
        entry = self._add_choices(item.choices, after)
        return self._add([Kind.EITHER, 0, 0, 0, entry, after]) if item.is_optional else entry

    def _needs_no_fewer(self, number: int, after: int, *, is_lazy: bool) -> bool:
        """Whether what follows cannot match after fewer characters of the set if it fails after all of them."""
        kind, other, least, *_ = self._rows[after]
        if kind == Kind.MATCH:
            return not is_lazy
        takes = kind in {Kind.CHARACTERS, Kind.POSSESSIVE, Kind.LAZY} and least > 0
        return takes and not self._sets.overlap(number, other)

    def _number(self, spelling: str) -> int:
        return self._sets.number(spelling, self._members_of(spelling))

    def _first(self, choices: Choices) -> tuple[int, bool]:
        """Return the bits of the sets that a match can begin with, and whether a match can be empty."""
        bits, can_be_empty = 0, False
        for items in choices:
            for item in items:
                item_bits, passes = 0, True
                if isinstance(item, Characters):
                    item_bits, passes = 1 << self._number(item.spelling), item.least == 0
                elif isinstance(item, Group):
                    item_bits, passes = self._first(item.choices)
                    passes = passes or item.is_optional
                bits |= item_bits
                if not passes:
                    break
            else:
                can_be_empty = True
        return bits, can_be_empty
