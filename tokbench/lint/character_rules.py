"""Rules about characters that are not seen: they make two tokens look alike, or one look like nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.lint.findings import Found, Severity
from tokbench.lint.hidden_characters import BIDI, ZERO_WIDTH, code_point, is_control
from tokbench.lint.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokbench.lint.target import LintTarget

_GROUP = "characters"
_SHOWN = 3
_STEERING = frozenset("\x1b\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Those that change how what follows them is shown."""


def _tokens_with(target: LintTarget, is_hidden: Callable[[str], bool], what: str) -> Iterator[Found]:
    """Each token of more than one character that has a hidden one inside.

    A character alone is only its own token, which every byte-level vocabulary must have.
    """
    for id, piece in target.ordinary.items():
        if piece.isascii() and piece.isalnum():
            continue
        try:
            text = piece.decode()
        except UnicodeDecodeError:
            continue
        hidden = sorted({character for character in text if is_hidden(character)})
        if hidden and len(text) > 1:
            yield Found(
                subject=target.named(id),
                evidence=f"holds {what}{'s' if len(hidden) > 1 else ''} {', '.join(map(code_point, hidden[:_SHOWN]))}",
                token_ids=(id,),
                severity=Severity.WARNING if _STEERING.intersection(hidden) else None,
                details={"code_points": [ord(character) for character in hidden]},
            )


def _bidi_tokens(target: LintTarget) -> Iterator[Found]:
    return _tokens_with(target, BIDI.__contains__, "the direction mark")


def _zero_width_tokens(target: LintTarget) -> Iterator[Found]:
    return _tokens_with(target, ZERO_WIDTH.__contains__, "the invisible character")


def _control_tokens(target: LintTarget) -> Iterator[Found]:
    return _tokens_with(target, is_control, "the control character")


RULES = (
    Rule(
        name="bidi-in-token",
        group=_GROUP,
        severity=Severity.NOTE,
        breaks="A token with a direction mark shows in another order than it is read, and can hide what it says.",
        found="Each token of several characters is searched for the marks of the bidirectional algorithm.",
        remedy="Take the marks out of the training text and train again.",
        check=_bidi_tokens,
    ),
    Rule(
        name="invisible-in-token",
        group=_GROUP,
        severity=Severity.NOTE,
        breaks="A token with a character of no width looks like another token and is not it.",
        found="Each token of several characters is searched for joiners, soft hyphens, fillers and byte order marks.",
        remedy="Clean the training text; in scripts that need joiners, and in emoji, this is as it should be.",
        check=_zero_width_tokens,
    ),
    Rule(
        name="control-in-token",
        group=_GROUP,
        severity=Severity.NOTE,
        breaks="A token with a control character can steer a terminal, and comes from text that was binary.",
        found="Each token of several characters is searched for controls other than white space.",
        remedy="Leave binary files out of the training text.",
        check=_control_tokens,
    ),
)
