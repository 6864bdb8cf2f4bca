"""Draw sample lines of each group, and segment them with every tokenizer."""

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
LONGEST = 300
"""Characters of a line that are shown; the rest is left out."""

_TELLING = 20
"""Bytes below which a line (a lone bracket, an `else:`) is drawn only where its group has no longer one."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One line, and how each tokenizer cuts it.

    Attributes:
        group: of the document that it stands in.
        source: where that is.
        text: the line without its end, or its beginning.
        segmentations: one for each tokenizer, in their order.
    """

    group: str
    source: str
    text: str
    segmentations: tuple[Segmentation, ...]


class _Line(NamedTuple):
    """A line that may be drawn; the smallest are. No two lines of a group have the same number."""

    is_short: bool
    priority: int
    number: int
    text: str
    source: str


def samples_of(comparison: Comparison, corpus: Corpus) -> tuple[Sample, ...]:
    """Lines of the text that tokenizers were evaluated on, cut by all of them.

    Args:
        comparison: what was found.
        corpus: the one that it was found on; where tokenizers were trained, samples come from what was held out.

    Returns:
        None of them where the corpus is a stream, which cannot be read again.

    Raises:
        CorpusError: a text that can no longer be read.
    """
    if any(file.stream for file in corpus.files):
        return ()
    trained = comparison.training_setup is not None
    documents = hold_out(corpus, seed=comparison.seed).held_out if trained else corpus.documents()
    tokenizers = [one.candidate.tokenizer for one in comparison.tokenizers]
    return draw_samples(documents, tokenizers, seed=comparison.seed)


def draw_samples(
    documents: Iterable[Document],
    tokenizers: Sequence[Tokenizer],
    *,
    per_group: int = PER_GROUP,
    most: int = MOST,
    longest: int = LONGEST,
    seed: int = 0,
) -> tuple[Sample, ...]:
    """Draw lines from documents and cut them with every tokenizer.

    A line is drawn by its number within its group, so groups that are translations of one another, line
    by line, show the same lines.

    Args:
        documents: read once, as a stream.
        tokenizers: those that cut.
        per_group: lines of each group at most.
        most: lines of all groups together; where there are too many groups, some have fewer lines or none.
        longest: characters of a line at most.
        seed: chooses the lines.

    Returns:
        The samples by group, and within it in the corpus's order.

    Raises:
        TextError: a line that cannot be encoded.
    """
    drawn: dict[str, list[_Line]] = {}
    numbers: dict[str, int] = {}
    for document in documents:
        first = numbers.get(document.group, 0)
        lines = list(_lines_to_draw(document, first, longest=longest, seed=seed))
        numbers[document.group] = first + document.text.count("\n") + 1
        kept = drawn.setdefault(document.group, [])
        kept[:] = heapq.nsmallest(per_group, [*kept, *lines])
    chosen = heapq.nsmallest(
        most,
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


def _lines_to_draw(document: Document, first: int, *, longest: int, seed: int) -> Iterator[_Line]:
    """The lines of a document that hold more than white space; `first` is the number of its first one."""
    lines = document.text.split("\n")
    for position, line in enumerate(lines):
        text = _beginning(line.removesuffix("\r"), longest)
        if not text.isspace() and text:
            number = first + position
            source = document.source if len(lines) == 1 else f"{document.source}, line {position + 1}"
            is_short = len(text.strip().encode()) < _TELLING
            yield _Line(is_short, _priority(str(number), seed=seed), number, text, source)


def _beginning(line: str, longest: int) -> str:
    """A line, or as many whole words of it as there is room for.

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
