"""What becomes of texts that are encoded and decoded again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, cast

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.metrics.tally import FIDELITY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.corpus import Document
    from tokbench.interfaces import Encoded, Tokenizer

FAILURES_KEPT = 5

_CHECKED_FOR_STABILITY = 1 << 22
"""Characters of text that are encoded twice: not more, so that the second time stays out of the time of a pass."""
_EXCERPT = 40
_WORD = re.compile(r"\S+")
_INDENTATION = re.compile(r"^[ \t]+(?=[^ \t\n])")


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that does not decode to itself.

    Attributes:
        source: where the document is.
        offset: the first byte that differs.
        expected: the text from some characters before it.
        found: what it decodes to, from the same place.
    """

    source: str
    offset: int
    expected: str
    found: str


class FidelityCheck:
    """Decodes what was encoded, document by document where it has to, and keeps the first failures."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._checked_characters = 0
        self.failures: list[Failure] = []

    def add(self, documents: Sequence[Document], encoded: Encoded, *, text: bytes) -> NDArray[np.int64]:
        """Count what becomes of some documents.

        Args:
            documents: D of them.
            encoded: their ids.
            text: their UTF-8, one behind the other.

        Returns:
            int64[len(FIDELITY)].
        """
        counts = dict.fromkeys(FIDELITY, 0)
        checked = self._next_checked(documents)
        counts["checked_for_stability"] = checked
        if self._tokenizer.info.lossless and self._tokenizer.decode_bytes(_as_sequence(encoded.ids)) == text:
            counts["roundtrips"] = counts["whitespace_kept"] = len(documents)
            counts["stable"] = checked
            return _in_order(counts)
        for number, document in enumerate(documents):
            is_checked = number < checked
            ids = encoded[number]
            decoded = self._decoded(ids)
            if decoded == document.text:
                counts["roundtrips"] += 1
                counts["stable"] += is_checked
                counts["whitespace_kept"] += 1
                continue
            self._keep(document, decoded)
            counts["stable"] += is_checked and self._is_stable(decoded, ids)
            counts["whitespace_kept"] += _white_space(decoded) == _white_space(document.text)
            counts["indentation_lost"] += indentation_lost(document.text, decoded)
        return _in_order(counts)

    def _next_checked(self, documents: Sequence[Document]) -> int:
        """How many of the next documents are encoded again: the first ones, as long as they are few enough."""
        sizes = np.fromiter((len(document.text) for document in documents), np.int64, len(documents))
        before = self._checked_characters + np.cumsum(sizes) - sizes
        self._checked_characters += int(sizes.sum())
        return int(np.count_nonzero(before < _CHECKED_FOR_STABILITY))

    def _decoded(self, ids: NDArray[np.uint32]) -> str:
        return self._tokenizer.decode(ids.tolist())

    def _is_stable(self, decoded: str, ids: NDArray[np.uint32]) -> bool:
        try:
            again: list[int] = self._tokenizer.encode(decoded)
        except TokbenchError:
            return False
        return again == list(map(int, ids))

    def _keep(self, document: Document, decoded: str) -> None:
        if len(self.failures) < FAILURES_KEPT:
            self.failures.append(failure_of(document.source, document.text, decoded))


def _in_order(counts: Mapping[str, int]) -> NDArray[np.int64]:
    return np.array([counts[name] for name in FIDELITY], dtype=np.int64)


def failure_of(source: str, text: str, decoded: str) -> Failure:
    """Where a text and what it decodes to part.

    >>> failure_of("a.txt", "two  spaces", "two spaces")
    Failure(source='a.txt', offset=4, expected='two  spaces', found='two spaces')
    """
    place = next(
        (place for place, (one, other) in enumerate(zip(text, decoded, strict=False)) if one != other),
        min(len(text), len(decoded)),
    )
    shown = slice(max(place - _EXCERPT // 2, 0), place + _EXCERPT)
    return Failure(source, len(text[:place].encode()), text[shown], decoded[shown])


def indentation_lost(text: str, decoded: str) -> int:
    r"""Indented lines of a text that are decoded with other white space before them, or not at all.

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


def _as_sequence(ids: NDArray[np.uint32]) -> Sequence[int]:
    """An array is one; a list of so many ids would take longer to make than decoding takes."""
    return cast("Sequence[int]", ids)


def _leading(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _white_space(text: str) -> str:
    """A text with its words made alike."""
    return _WORD.sub("x", text)
