"""A difference between two tokenizers: the text, and the result of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tokbench.errors import TokbenchError, UnknownWordError
from tokbench.libraries.huggingface.engines import asks_for_unknown

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
    "gives other ids for the text 'ab'"
    """
    text = _quoted(found.text)
    if found.pair is not None:
        text = f"{text} with {_quoted(found.pair)}"
    return {
        "encode": f"gives other ids for the text {text}",
        "encode special": f"gives other ids for the text {text} where special tokens are found",
        "decode": f"decodes the ids of the text {text} to another one",
        "token": f"has another token at {found.text}",
        "ids": f"gives a model other ids for the text {text} by {found.call}",
        "type ids": f"gives a model other type ids for the text {text} by {found.call}",
        "attention mask": f"gives a model another attention mask for the text {text} by {found.call}",
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
