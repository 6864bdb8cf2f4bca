"""Split texts in steps, each within the parts that the previous one left (split_steps.hpp, split_program.hpp)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from tokbench.backends.bpe.split_patterns import resolve_pattern, split
from tokbench.backends.bpe.split_programs.programs import Kind
from tokbench.opening.split_steps import MarkStep, PatternStep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tokbench.backends.bpe.split_programs.programs import Program
    from tokbench.opening.split_steps import ProgramStep, SplitSteps

    Cut = Callable[[str], Iterable["Part"]]


class Part(NamedTuple):
    """A part of a text, as a step cuts it.

    Attributes:
        start: its start.
        stop: its stop.
        is_match: whether it counts as matched.
    """

    start: int
    stop: int
    is_match: bool = False


class Splitter:
    """A splitter of texts into words.

    Args:
        splitting: the steps, none of which adds to a text.
    """

    def __init__(self, splitting: SplitSteps) -> None:
        sets = [members.tobytes() for members in splitting.sets.members]
        self._cuts: list[Cut] = [_cut(step, sets) for step in splitting.steps]

    def words(self, text: str) -> list[tuple[int, str]]:
        """Return the words of a text, each with its start in characters."""
        words = [(0, text)] if text else []
        for cut in self._cuts:
            words = [
                (first + part.start, word[part.start : part.stop])
                for first, word in words
                for part in cut(word)
            ]
        return words


def _cut(step: ProgramStep | PatternStep | MarkStep, sets: Sequence[bytes]) -> Cut:
    assert not isinstance(step, MarkStep)  # `KernelDocument.runs_in_python` checked it
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


# --- behaviors --------------------------------------------------------------------------------


def _removed(parts: Sequence[Part]) -> Iterator[Part]:
    return (part for part in parts if not part.is_match)


def _joined(joins: Callable[[Part, Part], bool]) -> Callable[[Sequence[Part]], Iterator[Part]]:
    """Return a behavior that joins each part to the previous one if joins(previous, part)."""

    def joined(parts: Sequence[Part]) -> Iterator[Part]:
        start = parts[0].start if parts else 0
        for previous, part in pairwise(parts):
            if not joins(previous, part):
                yield Part(start, previous.stop)
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
    """A program, matched with backtracking.

    Args:
        program: the program to match.
        sets: for each set, one byte per code point: 1 for members.
    """

    def __init__(self, program: Program, sets: Sequence[bytes]) -> None:
        self._operations: list[list[int]] = program.operations.tolist()
        self._sets = sets
        self._first = [members for number, members in enumerate(sets) if program.first >> number & 1]

    def parts(self, text: str) -> list[Part]:
        """Return the matches in a text and the parts between them."""
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
        """Return the end of the match that begins at `place` with the operation `number`, or None."""
        while True:
            kind, set_number, least, most, following, other = self._operations[number]
            match kind:
                case Kind.MATCH:
                    return place
                case Kind.CHARACTERS | Kind.LAZY if least < most:
                    end_of_run = self._end_of_run(set_number, text, place, most)
                    ends = range(place + least, end_of_run + 1)
                    tried = ends if kind == Kind.LAZY else reversed(ends)
                    stops = (self._match(following, text, end) for end in tried)
                    return next((stop for stop in stops if stop is not None), None)
                case Kind.CHARACTERS | Kind.LAZY | Kind.POSSESSIVE:
                    end_of_run = self._end_of_run(set_number, text, place, most)
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

    def _end_of_run(self, number: int, text: str, place: int, most: int) -> int:
        """Return the end of the run of at most `most` characters of a set that begins at `place`."""
        members = self._sets[number]
        end_of_run, end = place, min(len(text), place + most)
        while end_of_run < end and members[ord(text[end_of_run])]:
            end_of_run += 1
        return end_of_run
