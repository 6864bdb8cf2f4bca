"""Round-trip fidelity: whether texts decode to themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, cast

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.evaluation.lost_characters import CAUSES, error_count, losses_of
from tokbench.metrics.metric import FIDELITY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.tokens import Encoded
    from tokbench.corpus import Document

FAILURES_KEPT = 5

_CHECKED_FOR_STABILITY = 1 << 22
"""Number of characters that are encoded twice and whose losses are counted; limited, so that a pass stays fast."""
_EXCERPT = 40
_PLACES = {name: position for position, name in enumerate(FIDELITY)}
_ERRORS = tuple(name for name in FIDELITY if name.endswith("_errors") or name == "error_chars")
_WORD = re.compile(r"\S+")
_WHITE_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""The white space of Unicode, which `\\s` of Python exceeds by four separators."""
_INDENTATION = re.compile(rf"[ \t]++(?=[{_WHITE_SPACE}]*+[^{_WHITE_SPACE}])")


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that does not decode to itself.

    Attributes:
        source: location of the document.
        offset: UTF-8 offset of the first difference.
        expected: an excerpt of the text around the difference.
        found: the same excerpt of the decoded text.
    """

    source: str
    offset: int
    expected: str
    found: str


@dataclass(frozen=True, slots=True, eq=False)
class Fidelity:
    """The round-trip counts of some documents.

    Attributes:
        counts: int64[D, len(FIDELITY)], the counts of each document.
        failures: position → failure, for the first failures.
    """

    counts: NDArray[np.int64]
    failures: Mapping[int, Failure] = field(default_factory=dict)


class Stability:
    """Selects the documents that are encoded a second time: the first ones of a corpus, up to a limit."""

    def __init__(self, *, num_documents: int | None = None) -> None:
        """Select the documents that begin in the first megabytes, or the first `num_documents`."""
        self._left = num_documents
        self._characters = 0

    @property
    def is_over(self) -> bool:
        """Whether the limit on characters is reached, so that no further document will be chosen."""
        return self._characters >= _CHECKED_FOR_STABILITY

    def chosen(self, documents: Sequence[Document]) -> NDArray[np.bool_]:
        """Return which of the next documents are encoded a second time, bool[D]."""
        if self._left is not None:
            is_chosen = np.arange(len(documents)) < self._left
            self._left = max(self._left - len(documents), 0)
            return is_chosen
        sizes = np.fromiter((len(document.text) for document in documents), np.int64, len(documents))
        before = self._characters + np.cumsum(sizes) - sizes
        self._characters += int(sizes.sum())
        return before < _CHECKED_FOR_STABILITY


def all_kept(documents: Sequence[Document], is_chosen: NDArray[np.bool_]) -> Fidelity:
    """Return the counts for documents that decode to themselves; for the arguments, see `fidelity_of`."""
    counts = np.zeros((len(documents), len(FIDELITY)), dtype=np.int64)
    counts[:, [_PLACES["roundtrips"], _PLACES["whitespace_kept"]]] = 1
    counts[:, _PLACES["stable"]] = counts[:, _PLACES["checked_for_stability"]] = is_chosen
    sizes = np.fromiter((len(document.text) for document in documents), np.int64, len(documents))
    counts[:, _PLACES["decoded_chars"]] = sizes * is_chosen
    return Fidelity(counts)


def fidelity_of(
    tokenizer: Tokenizer,
    documents: Sequence[Document],
    encoded: Encoded,
    *,
    text: bytes,
    is_chosen: NDArray[np.bool_],
) -> Fidelity:
    """Decode encoded documents and compare: all at once for a lossless tokenizer, otherwise one by one.

    Args:
        tokenizer: the tokenizer that encoded them.
        documents: D documents.
        encoded: their ids.
        text: their concatenated UTF-8.
        is_chosen: bool[D], the documents that are encoded again, and whose losses are counted, if they do not
            decode to themselves.
    """
    ids = cast("Sequence[int]", encoded.ids)  # a list of so many ids would take longer to make than to decode
    if tokenizer.info.lossless and tokenizer.decode_bytes(ids) == text:
        return all_kept(documents, is_chosen)
    rows = []
    failures: dict[int, Failure] = {}
    for number, (document, is_checked) in enumerate(zip(documents, is_chosen.tolist(), strict=True)):
        own_ids = encoded[number].tolist()
        decoded = tokenizer.decode(own_ids)
        is_kept = decoded == document.text
        if not is_kept and len(failures) < FAILURES_KEPT:
            failures[number] = failure_of(document.source, document.text, decoded)
        found = {
            "roundtrips": is_kept,
            "checked_for_stability": is_checked,
            "stable": is_checked and (is_kept or _is_stable(tokenizer, decoded, own_ids)),
            "whitespace_kept": is_kept or _white_space(decoded) == _white_space(document.text),
            "indentation_lost": 0 if is_kept else indentation_lost(document.text, decoded),
            "decoded_chars": len(document.text) if is_checked else 0,
            **dict.fromkeys(_ERRORS, 0),
        }
        if is_checked and not is_kept:
            found |= _errors(document.text, decoded)
        rows.append([int(found[name]) for name in FIDELITY])
    return Fidelity(np.array(rows, dtype=np.int64).reshape(-1, len(FIDELITY)), failures)


def _errors(text: str, decoded: str) -> dict[str, int]:
    losses = losses_of(text, decoded).at_most(len(text))
    by_cause = dict(zip(CAUSES, losses.by_cause, strict=True))
    return {"error_chars": losses.total, **{error_count(cause): by_cause[cause] for cause in CAUSES[:-1]}}


def _is_stable(tokenizer: Tokenizer, decoded: str, ids: list[int]) -> bool:
    try:
        return tokenizer.encode(decoded) == ids
    except TokbenchError:
        return False


def failure_of(source: str, text: str, decoded: str) -> Failure:
    """Return the first difference between a text and its decoding.

    >>> failure_of("a.txt", "two  spaces", "two spaces")
    Failure(source='a.txt', offset=4, expected='two  spaces', found='two spaces')
    """
    position = next(
        (position for position, (one, other) in enumerate(zip(text, decoded, strict=False)) if one != other),
        min(len(text), len(decoded)),
    )
    shown = slice(max(position - _EXCERPT // 2, 0), position + _EXCERPT)
    return Failure(source, len(text[:position].encode()), text[shown], decoded[shown])


def indentation_lost(text: str, decoded: str) -> int:
    r"""Count the indented lines of a text whose decoding has different indentation or is missing.

    >>> indentation_lost("if x:\n    y\n  z", "if x:\n    y\nz")
    1
    """
    pairs = zip_longest(text.split("\n"), decoded.split("\n"))
    return sum(
        1
        for line, other in pairs
        if line is not None
        and (found := _INDENTATION.match(line)) is not None
        and (other is None or _leading(other) != found.group())
    )


def _leading(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _white_space(text: str) -> str:
    """Replace each word of a text by "x"."""
    return _WORD.sub("x", text)
