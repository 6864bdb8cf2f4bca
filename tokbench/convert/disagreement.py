"""A difference between two tokenizers: the text, the result of each, and shrinking of a text that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.errors import TokbenchError, UnknownWordError
from tokbench.libraries.huggingface.engines import asks_for_unknown

if TYPE_CHECKING:
    from collections.abc import Callable


Outcome = tuple[int, ...] | str | bytes | None
"""Ids, a text, a token's bytes, or None for a missing token; an error is represented by its message."""

_LONGEST_TEXT = 80


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The smallest text found on which two tokenizers differ.

    Attributes:
        way: "encode", "encode special", "decode", "token", "config"; or, of model input, "ids", "type ids" or
            "attention mask".
        text: the text; for a token, its text in the first tokenizer.
        expected: the result of the first tokenizer.
        found: the result of the second tokenizer.
        expected_tokens: the bytes of the tokens in `expected`, if that holds ids.
        found_tokens: the bytes of the tokens in `found`, if that holds ids: from the second tokenizer if it can tell,
            else from the first.
        pair: the second text, if there were two.
        call: the call that returned the model input, else None.
    """

    way: str
    text: str
    expected: Outcome
    found: Outcome
    expected_tokens: tuple[bytes, ...] = ()
    found_tokens: tuple[bytes, ...] = ()
    pair: str | None = None
    call: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the difference as a part of `--json`."""
        return {
            "way": self.way,
            "text": self.text,
            "pair": self.pair,
            "call": self.call,
            "expected": _plain(self.expected),
            "found": _plain(self.found),
            "expected_tokens": [token.decode(errors="replace") for token in self.expected_tokens],
            "expected_bytes": [token.hex() for token in self.expected_tokens],
            "found_tokens": [token.decode(errors="replace") for token in self.found_tokens],
            "found_bytes": [token.hex() for token in self.found_tokens],
        }


def in_words(found: Disagreement) -> str:
    """Describe what the second tokenizer does differently, as the end of a sentence.

    >>> in_words(Disagreement("encode", "ab", (1,), (2, 3)))
    "gives different ids for the text 'ab'"
    """
    text = _quoted(found.text)
    if found.pair is not None:
        text = f"{text} with {_quoted(found.pair)}"
    return {
        "encode": f"gives different ids for the text {text}",
        "encode special": f"gives different ids for the text {text} where special tokens are found",
        "decode": f"decodes the ids of the text {text} to a different one",
        "token": f"has a different token at {found.text}",
        "ids": f"gives a model different ids for the text {text} by {found.call}",
        "type ids": f"gives a model different type ids for the text {text} by {found.call}",
        "attention mask": f"gives a model a different attention mask for the text {text} by {found.call}",
    }[found.way]


def failure_of(error: BaseException) -> str:
    """Return the message of a library that failed on a text, even by a Rust panic; raise any other exception again.

    All libraries get the same message for an unknown character if the model has no unknown token.

    >>> failure_of(ValueError("too long"))
    'error: too long'
    """
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    if isinstance(error, UnknownWordError) or asks_for_unknown(str(error)):
        return "error: a model without an unknown token"
    return f"error: {error.message if isinstance(error, TokbenchError) else error}"


def _quoted(text: str) -> str:
    quoted = repr(text)
    if len(quoted) <= _LONGEST_TEXT:
        return quoted
    return f"of {len(text):,} characters that begins with {quoted[:_LONGEST_TEXT]}…"


def _plain(outcome: Outcome) -> Any:
    if isinstance(outcome, tuple):
        return list(outcome)
    return outcome.hex() if isinstance(outcome, bytes) else outcome


_MOST_CHARACTERS = 4_000_000


def shrink(text: str, differs: Callable[[str], bool]) -> str:
    """Return a smallest text for which `differs` still holds, by removing characters.

    Both ends are cut by bisection, then ever smaller parts are removed everywhere (delta debugging, Zeller and
    Hildebrandt 2002). No single character of the result can be removed, unless the search stopped early after trying
    four million characters.

    Args:
        text: a text for which it holds.
        differs: the condition; called with shorter texts, never with the empty one.

    Returns:
        A text for which it holds; `text` itself if nothing can be removed.

    >>> shrink("some text, with a cause; and more", lambda text: "x" in text and "u" in text)
    'xu'
    """
    holds = _CountedCondition(differs)
    text = text[: _smallest_size(len(text), lambda size: holds(text[:size]))]
    whole = text
    text = whole[-_smallest_size(len(whole), lambda size: holds(whole[-size:])) :]
    size = -(-len(text) // 2)
    while text and not holds.too_much:
        shorter = _without_parts(text, size, holds)
        if size == 1 and shorter == text:
            break
        size = max(1, min(size // 2, len(shorter)))
        text = shorter
    return text


class _CountedCondition:
    """The condition, with a count of the characters that it was called with."""

    def __init__(self, differs: Callable[[str], bool]) -> None:
        self._differs = differs
        self._characters = 0

    def __call__(self, text: str) -> bool:
        self._characters += len(text)
        return bool(text) and self._differs(text)

    @property
    def too_much(self) -> bool:
        return self._characters > _MOST_CHARACTERS


def _smallest_size(largest: int, holds: Callable[[int], bool]) -> int:
    """Return a size for which a condition holds, the least if it is monotonic; it must hold for `largest`."""
    below = 0
    while largest - below > 1:
        middle = (below + largest) // 2
        below, largest = (below, middle) if holds(middle) else (middle, largest)
    return largest


def _without_parts(text: str, size: int, holds: _CountedCondition) -> str:
    """Return the text without every part of a size that can be removed, trying the last ones first."""
    start = (len(text) - 1) // size * size
    while start >= 0 and not holds.too_much:
        shorter = text[:start] + text[start + size :]
        if holds(shorter):
            text = shorter
        start -= size
    return text
