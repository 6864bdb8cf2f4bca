"""Splitting in steps, each in the parts that the one before left (native/bpe/split_steps.hpp, split_program.hpp)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tokbench.backends.bpe.split_patterns import resolve_pattern, split
from tokbench.opening.splitting.programs import Kind
from tokbench.opening.splitting.steps import MarkStep, PatternStep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tokbench.opening.splitting.programs import Program
    from tokbench.opening.splitting.steps import ProgramStep, SplitSteps

    Cut = Callable[[str], Iterable["Part"]]


class Part(NamedTuple):
    """A part of a text that a step cuts.

    Attributes:
        start: where it begins.
        stop: where it ends.
        is_match: whether it counts as matched.
    """

    start: int
    stop: int
    is_match: bool = False


class Splitter:
    """Cuts texts into words.

    Args:
        splitting: the steps, none of which adds to a text.
    """

    def __init__(self, splitting: SplitSteps) -> None:
        sets = [members.tobytes() for members in splitting.sets.members]
        self._cuts: list[Cut] = [_cut(step, sets) for step in splitting.steps]

    def words(self, text: str) -> list[tuple[int, str]]:
        """The words of a text, each with where it begins, in characters."""
        words = [(0, text)] if text else []
        for cut in self._cuts:
            words = [
                (first + part.start, word[part.start : part.stop])
                for first, word in words
                for part in cut(word)
            ]
        return words


def _cut(step: ProgramStep | PatternStep | MarkStep, sets: Sequence[bytes]) -> Cut:
    assert not isinstance(step, MarkStep)  # as `KernelDocument.runs_in_python` says
    if isinstance(step, PatternStep):
        pattern = resolve_pattern(step.name)

        def by_pattern(text: str) -> Iterator[Part]:
            start = 0
            for pretoken in split(pattern, text):
                yield Part(start, start + len(pretoken))
                start += len(pretoken)

        return by_pattern
    found = _Program(step.program, sets)
    inverted, behave = step.is_inverted, _BEHAVIORS[step.behavior]
    return lambda text: behave(
        [part._replace(is_match=part.is_match != inverted) for part in found.parts(text)]
    )


# --- what becomes of matches ------------------------------------------------------------------


def _removed(parts: Sequence[Part]) -> Iterator[Part]:
    return (part for part in parts if not part.is_match)


def _joined(joins: Callable[[Part, Part], bool]) -> Callable[[Sequence[Part]], Iterator[Part]]:
    """Joins a part to the one before it where joins(before, part) says so."""

    def joined(parts: Sequence[Part]) -> Iterator[Part]:
        start = parts[0].start if parts else 0
        for before, part in pairwise(parts):
            if not joins(before, part):
                yield Part(start, before.stop)
                start = part.start
        if parts:
            yield Part(start, parts[-1].stop)

    return joined


_BEHAVIORS: dict[str, Callable[[Sequence[Part]], Iterable[Part]]] = {
    "Isolated": iter,
    "Removed": _removed,
    "MergedWithPrevious": _joined(lambda before, part: part.is_match and not before.is_match),
    "MergedWithNext": _joined(lambda before, part: before.is_match and not part.is_match),
    "Contiguous": _joined(lambda before, part: part.is_match == before.is_match),
}


# --- programs ---------------------------------------------------------------------------------


class _Program:
    """A pattern as operations, matched with backtracking.

    Args:
        program: what is matched.
        sets: of each set a byte for each code point, 1 for its members.
    """

    def __init__(self, program: Program, sets: Sequence[bytes]) -> None:
        self._operations: list[list[int]] = program.operations.tolist()
        self._sets = sets
        self._first = [members for number, members in enumerate(sets) if program.first >> number & 1]

    def parts(self, text: str) -> list[Part]:
        """The matches in a text and what stands between them."""
        parts: list[Part] = []
        unmatched = place = 0
        while place < len(text):
            code = ord(text[place])
            may_begin = any(members[code] for members in self._first)
            stop = self._match(0, text, place) if may_begin else None
            if stop is None or stop == place:
                place += 1
                continue
            if unmatched < place:
                parts.append(Part(unmatched, place))
            parts.append(Part(place, stop, is_match=True))
            unmatched = place = stop
        if unmatched < len(text):
            parts.append(Part(unmatched, len(text)))
        return parts

    def _match(self, number: int, text: str, place: int) -> int | None:
        """Where the match of the operations from a number on ends that begins at a place; None if there is none."""
        while True:
            kind, one_set, least, most, following, other = self._operations[number]
            match kind:
                case Kind.MATCH:
                    return place
                case Kind.CHARACTERS | Kind.LAZY if least < most:
                    end_of_run = self._after(one_set, text, place, most)
                    ends = range(place + least, end_of_run + 1)
                    tried = ends if kind == Kind.LAZY else reversed(ends)
                    stops = (self._match(following, text, end) for end in tried)
                    return next((stop for stop in stops if stop is not None), None)
                case Kind.CHARACTERS | Kind.LAZY | Kind.POSSESSIVE:
                    end_of_run = self._after(one_set, text, place, most)
                    if end_of_run - place < least:
                        return None
                    place = end_of_run
                case Kind.EITHER:
                    if (stop := self._match(following, text, place)) is not None:
                        return stop
                    following = other
                case Kind.AHEAD | Kind.NOT_AHEAD:
                    if (self._match(other, text, place) is not None) != (kind == Kind.AHEAD):
                        return None
                case Kind.LINE_END if place != len(text) and text[place] != "\n":
                    return None
            number = following

    def _after(self, one_set: int, text: str, place: int, most: int) -> int:
        """Where as many characters of a set end as stand there from a place on, at most `most`."""
        members = self._sets[one_set]
        end_of_run, end = place, min(len(text), place + most)
        while end_of_run < end and members[ord(text[end_of_run])]:
            end_of_run += 1
        return end_of_run
