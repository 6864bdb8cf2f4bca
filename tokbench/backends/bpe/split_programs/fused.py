r"""Several splitting steps as one program, whose matches are the parts that the steps leave.

Every step but the last one cuts out runs of characters of a set, as `\p{N}{1,3}` does. So the steps divide the
characters into *regions*: those of the first set, those of the second one, and so on, and all others; and a text into
stretches of characters of one region. The last step sees each stretch as if it were a text. Its pattern matches the
same in the whole text if its sets are reduced to the characters of the region: a lookahead finds nothing after the
stretch then, as at the end of a text. The program has such alternatives for every region; those of two regions never
begin with the same character.

The text between two matches of the last pattern, of any length, is a part, too. It gets an alternative of its own if
its characters match only before some others.

Sets are computed for ranges of characters that all steps treat alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tokbench.backends.bpe.split_programs.character_sets import (
    MOST_SETS,
    CharacterSets,
    UnknownPatternError,
)
from tokbench.backends.bpe.split_programs.gaps import matched_alone
from tokbench.backends.bpe.split_programs.programs import Program, program_of_choices
from tokbench.backends.bpe.split_programs.syntax import NO_LIMIT, Ahead, Characters, Dialect, Group, LineEnd
from tokbench.core.character_agreement import NUM_CODE_POINTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from tokbench.backends.bpe.split_programs.syntax import Choices, Item

    Members = NDArray[np.bool_]


class Runs(NamedTuple):
    """Runs of characters of a set, which a step makes parts.

    Attributes:
        spelling: the spelling of the set.
        most: after how many characters a run is cut.
    """

    spelling: str
    most: int


class Fused(NamedTuple):
    """A program that splits as several steps do, if it matches everywhere, which the kernel finds out.

    Attributes:
        program: the program.
        masks: uint64[0x110000]: for each character the bits of the sets that contain it.
        spellings: each set, followed by the number of the region to which it is reduced.
    """

    program: Program
    masks: NDArray[np.uint64]
    spellings: list[str]


def runs_of(choices: Choices) -> tuple[Runs, ...] | None:
    r"""Return which runs a parsed pattern matches, tried in order; None if it matches anything else.

    >>> from tokbench.backends.bpe.split_programs.syntax import parsed
    >>> runs_of(parsed(r"\p{N}{1,3}|a")), runs_of(parsed("a?b"))
    ((Runs(spelling='\\p{N}', most=3), Runs(spelling='[a]', most=1)), None)
    """
    found = []
    for items in choices:
        match items:
            case (Characters(spelling, 1, most, _, False),):
                found.append(Runs(spelling, most))
            case _:
                return None
    return tuple(found)


def fused(
    steps: Iterable[tuple[Runs, ...]],
    last: Choices,
    sets: CharacterSets,
    masks: NDArray[np.uint64],
    *,
    keeps_gaps: bool,
) -> Fused | None:
    r"""Return the program that splits as some steps do; None if there may be no such program.

    Args:
        steps: the runs that each step but the last one matches; they and the text between them are parts.
        last: the parsed pattern of the last step, whose matches are parts.
        sets: the sets of all steps.
        masks: the bits of each character, `sets.masks()`.
        keeps_gaps: whether the text between two matches of the last step is a part, rather than removed.

    >>> from tokbench.backends.bpe.split_programs.programs import program_of
    >>> sets = CharacterSets()
    >>> digits, words = program_of("[0-9]", sets), program_of(r"[ 1]?\w+|\W", sets)
    >>> fused([runs_of(digits.choices)], words.choices, sets, sets.masks(), keeps_gaps=True).spellings
    ['all 0', '[ 1] 1', '\\w 1', '\\W 1']
    """
    ranges = _Ranges(sets, masks)
    known: dict[str, Members] = {}
    own = CharacterSets()
    try:
        choices: Choices = ()
        for number, (members, most) in enumerate(_regions(steps, ranges)):
            choices += _Region(number, members, ranges, known).parts(last, most=most, keeps_gaps=keeps_gaps)
        dialect = Dialect(known.__getitem__, has_possessive_intervals=False)  # which only parsing looks at
        program = program_of_choices(choices, own, dialect=dialect)
    except UnknownPatternError:
        return None
    return Fused(program, ranges.spread(own.masks()), own.spellings)


def _regions(steps: Iterable[tuple[Runs, ...]], ranges: _Ranges) -> list[tuple[Members, int]]:
    """Return the characters of each region, and after how many of them a stretch is cut."""
    regions = [(ranges.all, NO_LIMIT)]
    for runs in steps:
        others = ranges.all
        for spelling, most in runs:
            cut_out = ranges.members_of(spelling)
            if (cut_out & ~others & ranges.all).any():
                raise UnknownPatternError("one place may begin runs of two sets")
            others = others & ~cut_out
            regions = [part for region in regions for part in _parts_of_region(*region, cut_out, most)]
            if len(regions) > MOST_SETS:
                raise UnknownPatternError("it has too many regions")
    return regions


def _parts_of_region(
    members: Members, limit: int, cut_out: Members, most: int
) -> Iterator[tuple[Members, int]]:
    """Yield the regions into which a step that cuts out runs divides a region. Parts of one character stay whole."""
    inside, outside = members & cut_out, members & ~cut_out
    if limit == 1 or not inside.any() or (limit <= most and not outside.any()):
        yield members, limit
        return
    if limit != NO_LIMIT:
        raise UnknownPatternError("it may split runs that were cut")
    yield inside, most
    if outside.any():
        yield outside, NO_LIMIT


class _Ranges:
    r"""Ranges of characters that are in the same sets.

    Args:
        sets: the sets.
        masks: the bits of each character.

    Attributes:
        all: bool[n], all ranges of characters that occur in texts: no surrogates.
        line_end: the number of the range of "\n" alone.
    """

    def __init__(self, sets: CharacterSets, masks: NDArray[np.uint64]) -> None:
        begins = np.ones(NUM_CODE_POINTS, np.bool_)
        np.not_equal(masks[1:], masks[:-1], out=begins[1:])
        begins[[ord("\n"), ord("\n") + 1, 0xD800, 0xE000]] = True
        self._sets = sets
        self._starts = np.flatnonzero(begins)
        self.all: Members = (self._starts < 0xD800) | (self._starts >= 0xE000)
        self.line_end = int(np.searchsorted(self._starts, ord("\n")))

    def members_of(self, spelling: str) -> Members:
        """Return the ranges in a set. Raises `UnknownPatternError` if no set has this spelling."""
        members: Members = self._sets.members_of(spelling)[self._starts]
        return members

    def spread(self, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the value of each character, given those of ranges."""
        spread: NDArray[np.uint64] = np.repeat(values, np.diff(self._starts, append=NUM_CODE_POINTS))
        return spread


class _Region:
    """The characters of a region, and patterns in stretches of them.

    Args:
        number: the number of the region.
        members: the characters.
        ranges: the characters of all sets.
        known: the name of a set of the program → the characters in it; sets of this region are added.
    """

    def __init__(self, number: int, members: Members, ranges: _Ranges, known: dict[str, Members]) -> None:
        self._number = number
        self._members = members
        self._ranges = ranges
        self._known = known

    def parts(self, last: Choices, *, most: int, keeps_gaps: bool) -> Choices:
        """Return alternatives that match the parts of every stretch.

        Args:
            last: the pattern of the last step.
            most: after how many characters a stretch is cut before that step.
            keeps_gaps: whether the text between its matches is a part.

        Raises:
            UnknownPatternError: there may be no such alternatives.
        """
        choices = self._inside(last)
        alone = matched_alone(choices, self._known.__getitem__, size=self._members.size)
        uncertain = self._members & ~alone
        if not keeps_gaps and uncertain.any():
            raise UnknownPatternError("it may leave out parts of a text")
        if most == 1 or not choices or self._begins_with_all(choices, most):
            return ((Characters(self._named("all", self._members), 1, most),),)
        if most != NO_LIMIT:
            raise UnknownPatternError("it may split runs that were cut")
        return (*choices, *self._gaps(choices, uncertain)) if uncertain.any() else choices

    def _named(self, name: str, members: Members) -> str:
        name = f"{name} {self._number}"
        self._known[name] = members
        return name

    def _begins_with_all(self, choices: Choices, most: int) -> bool:
        """Whether the first alternative matches all of every stretch of at most some characters."""
        match choices:
            case ((Characters(name, least, taken, _, False),), *_) if least <= 1 and taken >= most:
                return not (self._members & ~self._known[name]).any()
        return False

    # --- a pattern inside of the region ---

    def _inside(self, choices: Choices) -> Choices:
        """Return the alternatives that may match in a stretch, whose sets have characters of the region alone."""
        inside = map(self._items_inside, choices)
        return tuple(items for items in inside if items is not None)

    def _items_inside(self, items: Iterable[Item]) -> tuple[Item, ...] | None:
        """Return the items as they match in a stretch; None if they never do."""
        made: tuple[Item, ...] = ()
        for item in items:
            inside = self._item_inside(item)
            if inside is None:
                return None
            made += inside
        return made

    def _item_inside(self, item: Item) -> tuple[Item, ...] | None:
        if isinstance(item, LineEnd):
            others = self._members.copy()
            others[self._ranges.line_end] = False
            return self._not_before("others than a line end", others)
        if isinstance(item, Characters):
            members = self._members & self._ranges.members_of(item.spelling)
            if members.any():
                return (item._replace(spelling=self._named(item.spelling, members)),)
            return None if item.least else ()
        choices = self._inside(item.choices)
        if choices:
            return (item._replace(choices=choices),)
        may_be_left_out = item.is_negative if isinstance(item, Ahead) else item.is_optional
        return () if may_be_left_out else None

    def _not_before(self, name: str, members: Members) -> tuple[Item, ...]:
        """Return the lookahead that no character of a set follows."""
        if not members.any():
            return ()
        return (Ahead(((Characters(self._named(name, members)),),), is_negative=True),)

    # --- the text between matches ---

    def _gaps(self, choices: Choices, uncertain: Members) -> Choices:
        r"""Return the alternative that matches the text between other matches.

        After ` ?\p{L}+` it is `[^\p{L}]*(?:[^\p{L} ]| (?!\p{L}))`. Such text has only characters with which no match
        begins unless one of certain others follows. If one follows, a match does begin, if the whole program matches
        everywhere.

        Args:
            choices: the other alternatives.
            uncertain: the characters that they may not match.
        """
        beginning = uncertain & self._union(self._begun_by(choices, uncertain).firsts)
        begun = self._begun_by(choices, beginning)
        seconds = self._union(begun.seconds)
        if begun.may_end or (seconds & uncertain).any():
            raise UnknownPatternError("the text between its matches is not understood")
        ends: Choices = ()
        if (apart := uncertain & ~beginning).any():
            ends += ((Characters(self._named("apart", apart)),),)
        if beginning.any():
            followed = self._not_before("following", seconds)
            ends += ((Characters(self._named("beginning", beginning)), *followed),)
        return ((Characters(self._named("between", uncertain), 0, NO_LIMIT), Group(ends)),)

    def _union(self, names: Iterable[str]) -> Members:
        return reduce(np.logical_or, (self._known[name] for name in names), np.zeros_like(self._members))

    def _begun_by(self, choices: Choices, first: Members) -> _Beginning:
        begun = _Beginning(can_be_empty=False)
        for items in choices:
            in_order = (self._begun_by_item(item, first) for item in items)
            begun = begun.otherwise(reduce(_Beginning.then, in_order, _Beginning()))
        return begun

    def _begun_by_item(self, item: Item, first: Members) -> _Beginning:
        if isinstance(item, Characters):
            name = frozenset([item.spelling])
            begins = bool((self._known[item.spelling] & first).any())
            seconds = name if begins and item.most > 1 else frozenset()
            return _Beginning(name, item.least == 0, seconds, may_end=begins)
        if isinstance(item, Group):
            begun = self._begun_by(item.choices, first)
            return begun.otherwise(_Beginning()) if item.is_optional else begun
        return _Beginning()


@dataclass(frozen=True, slots=True)
class _Beginning:
    """The first two characters that a match may have, lookahead aside; the second one after those of a certain set.

    Attributes:
        firsts: the names of sets of characters that it may begin with.
        can_be_empty: whether it may have no character.
        seconds: the names of sets of characters that may follow a first one of the certain set.
        may_end: whether it may be such a character alone; also true if it needs another one of the same set.
    """

    firsts: frozenset[str] = frozenset()
    can_be_empty: bool = True
    seconds: frozenset[str] = frozenset()
    may_end: bool = False

    def then(self, following: _Beginning) -> _Beginning:
        """Return the beginning of a match of one thing and then another."""
        firsts, seconds = self.firsts, self.seconds
        if self.may_end:
            seconds |= following.firsts
        if self.can_be_empty:
            firsts, seconds = firsts | following.firsts, seconds | following.seconds
        return _Beginning(
            firsts,
            self.can_be_empty and following.can_be_empty,
            seconds,
            (self.may_end and following.can_be_empty) or (self.can_be_empty and following.may_end),
        )

    def otherwise(self, other: _Beginning) -> _Beginning:
        """Return the beginning of a match of one thing or another."""
        return _Beginning(
            self.firsts | other.firsts,
            self.can_be_empty or other.can_be_empty,
            self.seconds | other.seconds,
            self.may_end or other.may_end,
        )
