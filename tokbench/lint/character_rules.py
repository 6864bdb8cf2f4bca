"""Rules about invisible characters in tokens, which make different tokens look alike."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tokbench.core.wording import first_of
from tokbench.inspection.vocabulary_tokens import text_of_bytes
from tokbench.lint.findings import Severity, findings_on_tokens
from tokbench.lint.hidden_characters import BIDI, ZERO_WIDTH, code_point, is_control
from tokbench.lint.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from tokbench.lint.findings import Found
    from tokbench.lint.target import LintTarget

_SHOWN = 3


def _tokens_with(target: LintTarget, is_hidden: Callable[[str], bool]) -> Iterator[Found]:
    """Yield findings on tokens of several characters with a hidden one among them.

    A token of a single hidden character is not reported, since every byte-level vocabulary may need it.
    """
    reasons: dict[int, str] = {}
    seen: set[str] = set()
    for id, piece in target.ordinary.items():
        if piece.isascii() and piece.isalnum():
            continue
        text = text_of_bytes(piece) or ""
        hidden = {character for character in text if is_hidden(character)}
        if hidden and len(text) > 1:
            seen |= hidden
            reasons[id] = f"it contains {_listed(hidden)}"
    yield from findings_on_tokens(target, reasons, of_many=f"they contain {_listed(seen)}")


def _listed(characters: Collection[str]) -> str:
    return first_of([*map(code_point, sorted(characters))], _SHOWN)


_rule = partial(Rule, group="characters")

RULES = (
    _rule(
        name="bidi-in-token",
        severity=Severity.NOTE,
        breaks="A token with a direction mark is displayed in a different order than it is read, and can hide its "
        "content.",
        found="Tokens of several characters are searched for the marks of the bidirectional algorithm.",
        remedy="Remove the marks from the training text and train again.",
        check=partial(_tokens_with, is_hidden=BIDI.__contains__),
    ),
    _rule(
        name="invisible-in-token",
        severity=Severity.NOTE,
        breaks="A token with a zero-width character looks the same as another token.",
        found="Tokens of several characters are searched for joiners, soft hyphens, fillers and byte order marks.",
        remedy="Clean the training text; in scripts that need joiners, and in emoji, such tokens are correct.",
        check=partial(_tokens_with, is_hidden=ZERO_WIDTH.__contains__),
    ),
    _rule(
        name="control-in-token",
        severity=Severity.NOTE,
        breaks="A token with a control character can control a terminal, and comes from binary data in the text.",
        found="Tokens of several characters are searched for control characters other than white space.",
        remedy="Leave binary files out of the training text.",
        check=partial(_tokens_with, is_hidden=is_control),
    ),
)
