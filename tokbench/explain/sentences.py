"""Formatting of causes as clauses, for the terminal and for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.core.wording import counted, quoted
from tokbench.explain.causes import (
    BesideAddedToken,
    ByDefinition,
    EarlierMerge,
    Fallback,
    LowerScore,
    NewPreToken,
    NoLongerPiece,
    NoMerge,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.explain.causes import Cause, MergeRule, Symbol
    from tokbench.explain.pretokens import Alternative


def listed(symbols: Sequence[Symbol]) -> str:
    """Format tokens with the boundaries between them: `"str" | "aw"`."""
    return " | ".join(quoted(symbol.data) for symbol in symbols)


def rank_of(rule: MergeRule) -> str:
    """Format the rank or the score of a merge."""
    return f"score {-rule.rank:,g}" if rule.by_score else f"rank {rule.rank:,.0f}"


def joined(rule: MergeRule) -> str:
    """Format a merge: `"a" + "b" (rank 3)`."""
    return f"{quoted(rule.left.data)} + {quoted(rule.right.data)} ({rank_of(rule)})"


def percent(probability: float) -> str:
    """Format a probability; only 0 and 1 are shown as 0 % and 100 %.

    >>> percent(0.99999), percent(0.5), percent(1)
    ('> 99.9 %', '50.0 %', '100 %')
    """
    if probability in (0, 1):
        return f"{probability:.0%}".replace("%", " %")
    if not 0.001 <= probability <= 0.999:
        return "< 0.1 %" if probability < 0.5 else "> 99.9 %"
    return f"{100 * probability:.1f} %"


def cause_name(cause: Cause) -> str:
    """Return the name of a cause, as used by `--find-split` and JSON."""
    return _NAMES[type(cause)]


def cause_in_words(cause: Cause) -> str:
    """Format the cause of a boundary as a clause."""
    tell: Callable[[Any], str] = _IN_WORDS[type(cause)]
    return tell(cause)


def _no_merge(cause: NoMerge) -> str:
    return f"no merge joins {quoted(cause.left.data)} and {quoted(cause.right.data)}"


def _no_longer(cause: NoLongerPiece) -> str:
    return (
        f"{quoted(cause.taken.data)} is the longest match: {quoted(cause.missing)} is not in the vocabulary"
    )


def _earlier(cause: EarlierMerge) -> str:
    took = [joined(rule) for rule in cause.by]
    verb = "came first" if len(took) == 1 else "came before it"
    return f"{joined(cause.lost)} would cross it, but {' and '.join(took)} {verb}"


def _lower(cause: LowerScore) -> str:
    if cause.piece is None or cause.margin is None:
        return "no piece reaches across"
    likely = f"a boundary here has a probability of {percent(cause.probability)}"
    if cause.margin == 0:
        return f"{quoted(cause.piece.data)} across it scores the same; {likely}"
    return f"with {quoted(cause.piece.data)} across it the score is {cause.margin:.2f} lower; {likely}"


def _new_pretoken(cause: NewPreToken) -> str:
    if cause.after is None:
        return f"a pre-token begins ({cause.splitter}), and nothing reaches across"
    return f"the pattern begins a pre-token, and merges do not cross it: {alternative_in_words(cause.after)}"


def alternative_in_words(alternative: Alternative) -> str:
    """Format the number of an alternative, and what it matches."""
    return f"alternative {alternative.number}, {alternative.meaning or alternative.regex}"


def tokens_in_words(count: int) -> str:
    """Format a number of tokens."""
    return "one token" if count == 1 else counted(count, "token")


_NAMES: dict[type, str] = {
    NoMerge: "no-merge",
    EarlierMerge: "earlier-merge",
    NoLongerPiece: "no-longer-piece",
    LowerScore: "lower-score",
    NewPreToken: "pre-token",
    BesideAddedToken: "added-token",
    Fallback: "byte-fallback",
    ByDefinition: "by-definition",
}

_IN_WORDS: dict[type, Callable[[Any], str]] = {
    NoMerge: _no_merge,
    EarlierMerge: _earlier,
    NoLongerPiece: _no_longer,
    LowerScore: _lower,
    NewPreToken: _new_pretoken,
    BesideAddedToken: lambda cause: f"{quoted(cause.token)} is found before anything else",
    Fallback: lambda cause: f"{quoted(cause.character)} has no token: its bytes stand for it",
    ByDefinition: lambda cause: str(cause.rule),
}

CAUSE_NAMES = tuple(_NAMES.values())
"""The names of all causes."""
