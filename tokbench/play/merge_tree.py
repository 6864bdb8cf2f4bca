"""The merges of a token, drawn as brackets below its bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tokbench.render.glyphs import EMPTY_MARK, glyphs_of, spelled, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.explain.derivation import MergeStep, MergeTrace


@dataclass(frozen=True, slots=True)
class _Bracket:
    """A merge: from the first column of its left part to the last column of its right part, on a row."""

    left: int
    right: int
    row: int
    label: str


def merge_tree(trace: MergeTrace, *, width: int) -> list[str] | None:
    r"""Draw the merges of a pre-token or a token as rows of brackets, each with its rank.

    Args:
        trace: the merges.
        width: available columns.

    Returns:
        The rows, beginning with the initial symbols; None if they do not fit the width.

    >>> from tokbench.explain.causes import MergeRule, Symbol
    >>> from tokbench.explain.derivation import MergeStep, MergeTrace
    >>> a, b, ab, aab = Symbol(0, b"a"), Symbol(1, b"b"), Symbol(2, b"ab"), Symbol(3, b"aab")
    >>> steps = (MergeStep(MergeRule(7, a, b, ab), 1, 2, 3), MergeStep(MergeRule(12, a, ab, aab), 0, 1, 3))
    >>> print(*merge_tree(MergeTrace((a, a, b), steps, (aab,), (0, 3), ()), width=40), sep="\n")
    a  a  b
    │  └7─┘
    └──12─┘
    """
    shown = [_shown(symbol.data) for symbol in trace.symbols]
    pitches = _pitches(trace, shown)
    lefts = [sum(pitches[:place]) for place in range(len(shown))]
    rights = [left + cell_len(text) - 1 for left, text in zip(lefts, shown, strict=True)]
    if not shown or rights[-1] + 1 > width:
        return None
    brackets = list(_brackets(trace, lefts, rights))
    first = ""
    for left, text in zip(lefts, shown, strict=True):
        first += " " * (left - cell_len(first)) + text
    height = max((bracket.row for bracket in brackets), default=0)
    ends = _stems(trace, brackets, lefts)
    return [first, *(_row(number, brackets, ends, rights[-1] + 1) for number in range(1, height + 1))]


def _shown(data: bytes) -> str:
    return text_of(glyphs_of(data)) or text_of(spelled(data)) or EMPTY_MARK


def _label(step: MergeStep) -> str:
    return f"{abs(step.rule.rank):g}" if step.rule.by_score else f"{step.rule.rank:.0f}"


def _pitches(trace: MergeTrace, shown: Sequence[str]) -> list[int]:
    """Return the columns from each symbol to the next, wide enough for the ranks of the merges across."""
    pitches = [cell_len(text) + 2 for text in shown]
    for step in trace.steps:
        reached = sum(pitches[step.start : step.stop - 1]) + cell_len(shown[step.stop - 1])
        missing = len(_label(step)) + 2 - reached
        if missing > 0:
            pitches[step.middle - 1] += missing
    return pitches


def _brackets(trace: MergeTrace, lefts: Sequence[int], rights: Sequence[int]) -> Iterator[_Bracket]:
    """Yield the bracket of each merge, on the first row below those of its parts."""
    depth = [0] * len(lefts)
    for step in trace.steps:
        row = max(depth[step.start : step.stop]) + 1
        depth[step.start : step.stop] = [row] * (step.stop - step.start)
        yield _Bracket(lefts[step.start], rights[step.stop - 1], row, _label(step))


def _stems(trace: MergeTrace, brackets: Sequence[_Bracket], lefts: Sequence[int]) -> dict[int, int]:
    """Map each symbol's column to the last row of the line below it; 0 for a symbol that is not merged."""
    stems = dict.fromkeys(lefts, 0)
    for step, bracket in zip(trace.steps, brackets, strict=True):
        middle = lefts[step.middle]
        stems[bracket.left] = max(stems[bracket.left], bracket.row)
        stems[middle] = max(stems[middle], bracket.row - 1)
    return stems


def _row(number: int, brackets: Sequence[_Bracket], stems: dict[int, int], width: int) -> str:
    cells = [" "] * width
    for column, last in stems.items():
        if number <= last:
            cells[column] = "│"
    for bracket in brackets:
        if bracket.row == number:
            inside = bracket.label.center(bracket.right - bracket.left - 1, "─")
            cells[bracket.left : bracket.right + 1] = f"└{inside}┘"
    return "".join(cells).rstrip()
