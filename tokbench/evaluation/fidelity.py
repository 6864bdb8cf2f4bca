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


@dataclass(frozen=True, slots=True, eq=False)
class Fidelity:
    """What became of some documents.

    Attributes:
        counts: int64[len(FIDELITY)].
        failures: the first ones.
    """

    counts: NDArray[np.int64]
    failures: tuple[Failure, ...] = ()


class Stability:
    """Which documents are encoded a second time: the first ones of a corpus, as long as they are few enough."""

    def __init__(self) -> None:
        self._characters = 0

    def chosen(self, documents: Sequence[Document]) -> NDArray[np.bool_]:
        """Of the next documents of the corpus which ones are: bool[D]."""
        sizes = np.fromiter((len(document.text) for document in documents), np.int64, len(documents))
        before = self._characters + np.cumsum(sizes) - sizes
        self._characters += int(sizes.sum())
        return before < _CHECKED_FOR_STABILITY


def all_kept(documents: Sequence[Document], is_chosen: NDArray[np.bool_]) -> Fidelity:
    """What is to say of documents that their tokens are, byte for byte; arguments as of `fidelity_of`."""
    checked = int(np.count_nonzero(is_chosen))
    kept = dict.fromkeys(FIDELITY, 0)
    kept["roundtrips"] = kept["whitespace_kept"] = len(documents)
    kept["stable"] = kept["checked_for_stability"] = checked
    return Fidelity(_in_order(kept))


def fidelity_of(
    tokenizer: Tokenizer,
    documents: Sequence[Document],
    encoded: Encoded,
    *,
    text: bytes,
    is_chosen: NDArray[np.bool_],
) -> Fidelity:
    """Decode what was encoded, document by document where it has to be.

    Args:
        tokenizer: encodes a second time.
        documents: D of them.
        encoded: their ids.
        text: their UTF-8, one behind the other.
        is_chosen: bool[D], which ones are encoded again if they do not decode to themselves.
    """
    if tokenizer.info.lossless and tokenizer.decode_bytes(_as_sequence(encoded.ids)) == text:
        return all_kept(documents, is_chosen)
    counts = dict.fromkeys(FIDELITY, 0)
    failures: list[Failure] = []
    counts["checked_for_stability"] = int(np.count_nonzero(is_chosen))
    for number, (document, is_checked) in enumerate(zip(documents, is_chosen.tolist(), strict=True)):
        ids = encoded[number]
        decoded = tokenizer.decode(ids.tolist())
        if decoded == document.text:
            counts["roundtrips"] += 1
            counts["stable"] += is_checked
            counts["whitespace_kept"] += 1
            continue
        if len(failures) < FAILURES_KEPT:
            failures.append(failure_of(document.source, document.text, decoded))
        counts["stable"] += is_checked and _is_stable(tokenizer, decoded, ids)
        counts["whitespace_kept"] += _white_space(decoded) == _white_space(document.text)
        counts["indentation_lost"] += indentation_lost(document.text, decoded)
    return Fidelity(_in_order(counts), tuple(failures))


def _is_stable(tokenizer: Tokenizer, decoded: str, ids: NDArray[np.uint32]) -> bool:
    try:
        again: list[int] = tokenizer.encode(decoded)
    except TokbenchError:
        return False
    return again == list(map(int, ids))


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
