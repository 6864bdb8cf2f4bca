"""Sample lines of each group, segmented by every tokenizer."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from tokbench.evaluation.holdout import hold_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.tokens import Segmentation
    from tokbench.corpus import Corpus, Document
    from tokbench.evaluation.comparison import Comparison

PER_GROUP = 3
MOST = 120
"""Maximum number of lines in total; with too many groups, some get fewer lines or none."""
LONGEST = 300
"""Maximum number of characters of a sample; the rest of the line is cut off."""

_TELLING = 20
"""Lines with fewer bytes (a lone bracket, an `else:`) are drawn only if their group has too few longer ones."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One line with its segmentation by each tokenizer.

    Attributes:
        group: group of its document.
        source: location of the line: the document's source, with a line number if it has several lines.
        text: the line without its line end, or the beginning of a long line.
        segmentations: one segmentation for each tokenizer, in the order of the tokenizers.
    """

    group: str
    source: str
    text: str
    segmentations: tuple[Segmentation, ...]


class _Line(NamedTuple):
    """A candidate line; the smallest tuples are drawn. Numbers are unique within a group."""

    is_short: bool
    priority: int
    number: int
    text: str
    source: str


def samples_of(comparison: Comparison, corpus: Corpus) -> tuple[Sample, ...]:
    """Draw lines of the text that tokenizers were evaluated on, and segment them with each tokenizer.

    Args:
        comparison: the comparison.
        corpus: the corpus of the comparison; if candidates were trained, samples come from its held-out text.

    Returns:
        The samples; empty if the corpus is a stream, which cannot be read again.

    Raises:
        CorpusError: a text can no longer be read.
    """
    if any(file.stream for file in corpus.files):
        return ()
    trained = comparison.training_setup is not None
    documents = hold_out(corpus, seed=comparison.seed).held_out if trained else corpus.documents()
    tokenizers = [evaluated.candidate.tokenizer for evaluated in comparison.tokenizers]
    return draw_samples(documents, tokenizers, seed=comparison.seed)


def draw_samples(
    documents: Iterable[Document],
    tokenizers: Sequence[Tokenizer],
    *,
    seed: int = 0,
) -> tuple[Sample, ...]:
    """Draw lines from documents and segment them with every tokenizer.

    A line is drawn by its number within its group, so groups that are translations of one another, line
    by line, show the same lines.

    Args:
        documents: read once, as a stream.
        tokenizers: the tokenizers.
        seed: seed of the choice.

    Returns:
        The samples, sorted by group and, within a group, in the order of the corpus.

    Raises:
        TextError: a line cannot be encoded.
    """
    drawn: dict[str, list[_Line]] = {}
    numbers: dict[str, int] = {}
    for document in documents:
        first = numbers.get(document.group, 0)
        lines = list(_lines_to_draw(document, first, seed=seed))
        numbers[document.group] = first + document.text.count("\n") + 1
        kept = drawn.setdefault(document.group, [])
        kept[:] = heapq.nsmallest(PER_GROUP, [*kept, *lines])
    chosen = heapq.nsmallest(
        MOST,
        (
            (position, _priority(group, seed=seed), group, line)
            for group, lines in drawn.items()
            for position, line in enumerate(lines)
        ),
    )
    return tuple(
        Sample(group, line.source, line.text, tuple(tokenizer.segment(line.text) for tokenizer in tokenizers))
        for group, line in sorted(
            ((group, line) for _, _, group, line in chosen), key=lambda pair: (pair[0], pair[1].number)
        )
    )


def _lines_to_draw(document: Document, first: int, *, seed: int) -> Iterator[_Line]:
    """Yield the non-blank lines of a document, whose first line has the number `first`."""
    lines = document.text.split("\n")
    for position, line in enumerate(lines):
        text = _beginning(line.removesuffix("\r"), LONGEST)
        if not text.isspace() and text:
            number = first + position
            source = document.source if len(lines) == 1 else f"{document.source}, line {position + 1}"
            is_short = len(text.strip().encode()) < _TELLING
            yield _Line(is_short, _priority(str(number), seed=seed), number, text, source)


def _beginning(line: str, longest: int) -> str:
    """Truncate a line after the last whole word that fits, or within a word that is too long itself.

    >>> _beginning("one two three", 9), _beginning("unbroken", 4)
    ('one two', 'unbr')
    """
    if len(line) <= longest:
        return line
    stop = line.rfind(" ", 1, longest + 1)
    return line[: stop if stop > 0 else longest]


def _priority(key: str, *, seed: int) -> int:
    digest = blake2b(f"{seed}:{key}".encode(errors="surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "big")
