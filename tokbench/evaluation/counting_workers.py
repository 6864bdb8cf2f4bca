"""Counting of encoded documents by group on several threads: each worker counts alone, then the sums are added up.

Workers share no counters, so none of them waits for a lock. Integer sums do not depend on which worker counted
which documents, so the number of threads never changes a result.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tokbench.core.capabilities import Decoding, TellsDecoding
from tokbench.core.token_arrays import TiledSpans
from tokbench.core.tokens import Encoded, EncodedSpans
from tokbench.evaluation.fidelity import all_kept, fidelity_of
from tokbench.evaluation.lost_characters import CAUSES, error_count
from tokbench.metrics.kernel import current_kernel
from tokbench.metrics.metric import (
    COUNTS,
    FIDELITY,
    LONGEST_NUMBER,
    NUM_COUNTS,
    TOKEN_COUNTS,
    Tally,
    position_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer
    from tokbench.corpus import Document
    from tokbench.evaluation.fidelity import Failure
    from tokbench.metrics.kernel import Measurer
    from tokbench.metrics.vocabulary import Vocabulary

_OTHERS = (*FIDELITY, *TOKEN_COUNTS)
_IDENTIFIERS = [column for column, name in enumerate(COUNTS) if name.startswith("identifier")]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Documents with their tokens.

    Attributes:
        documents: D documents.
        spans: their tokens.
        is_chosen: bool[D], the documents that are encoded a second time; see `fidelity_of`.
    """

    documents: Sequence[Document]
    spans: EncodedSpans
    is_chosen: NDArray[np.bool_]

    def part(self, start: int, stop: int) -> Batch:
        """Return the documents from `start` to `stop`."""
        return Batch(self.documents[start:stop], _part(self.spans, start, stop), self.is_chosen[start:stop])

    def groups(self) -> Iterator[tuple[str, Batch]]:
        """Yield each group with its documents, which must be adjacent."""
        start = 0
        for group, documents in groupby(self.documents, key=lambda document: document.group):
            stop = start + sum(1 for _ in documents)
            yield group, self.part(start, stop)
            start = stop


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """The counts of the documents of a batch.

    Attributes:
        rows: int64[D, len(DOCUMENT_COUNTS)], the counts of each document.
        num_bytes: UTF-8 bytes of all documents.
        failures: position → the failure of that document to decode to itself; the first ones of each group.
    """

    rows: NDArray[np.int64]
    num_bytes: int
    failures: Mapping[int, Failure]


@dataclass(frozen=True, slots=True, eq=False)
class GroupState:
    """The counts of a group, in a form that can be stored and continued elsewhere.

    Attributes:
        counts: int64[len(COUNTS)], without the identifiers in prose.
        others: int64, counts of decoding and of kinds of tokens.
        numbers: int64[17, 2], counts of numbers by length in digits.
        documents: int64[2], the number of documents, and the number of those without tokens.
        words: the distinct words, as returned by `Measurer.words`.
    """

    counts: NDArray[np.int64]
    others: NDArray[np.int64]
    numbers: NDArray[np.int64]
    documents: NDArray[np.int64]
    words: tuple[
        NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]
    ]

    SHAPES: ClassVar = {
        "counts": (len(COUNTS),),
        "others": (len(_OTHERS),),
        "numbers": (LONGEST_NUMBER + 1, 2),
        "documents": (2,),
    }


class GroupCounter:
    """The running sums of one group."""

    def __init__(self, measurer: Measurer) -> None:
        self.measurer = measurer
        self.elsewhere = np.zeros(len(COUNTS), dtype=np.int64)
        self.numbers_elsewhere = np.zeros((LONGEST_NUMBER + 1, 2), dtype=np.int64)
        self.others = np.zeros(len(_OTHERS), dtype=np.int64)
        self.prose = np.zeros(len(_IDENTIFIERS), dtype=np.int64)
        self.documents = self.empty_documents = 0

    def take_prose(self, documents: Sequence[Document], rows: NDArray[np.int64]) -> None:
        """Discard the identifiers counted in documents that are not program code, whose words look like identifiers."""
        is_prose = np.array([[not document.is_code] for document in documents])
        self.prose += (rows[:, _IDENTIFIERS] * is_prose).sum(axis=0)
        rows[:, _IDENTIFIERS] *= ~is_prose

    def join(self, other: GroupCounter) -> None:
        """Add the counts of another counter."""
        self.measurer.join(other.measurer)
        self.elsewhere += other.elsewhere
        self.numbers_elsewhere += other.numbers_elsewhere
        self.others += other.others
        self.prose += other.prose
        self.documents += other.documents
        self.empty_documents += other.empty_documents

    def state(self) -> GroupState:
        """Return the counts in the form that `take` accepts."""
        return GroupState(
            counts=self._counts(),
            others=self.others,
            numbers=self._numbers(),
            documents=np.array([self.documents, self.empty_documents], dtype=np.int64),
            words=self.measurer.words(0),
        )

    def take(self, state: GroupState) -> None:
        """Add counts made elsewhere. Raises `ValueError` for words that no measurer returns."""
        data, offsets, occurrences, fewest, most = state.words
        self.measurer.add_words(
            0, data=data, offsets=offsets, occurrences=occurrences, fewest=fewest, most=most
        )
        self.elsewhere += state.counts
        self.others += state.others
        self.numbers_elsewhere += state.numbers
        documents, empty_documents = state.documents.tolist()
        self.documents += documents
        self.empty_documents += empty_documents

    def _counts(self) -> NDArray[np.int64]:
        counts = np.asarray(self.measurer.totals()[0] + self.elsewhere)
        counts[_IDENTIFIERS] -= self.prose
        return counts

    def _numbers(self) -> NDArray[np.int64]:
        return np.asarray(self.measurer.numbers_by_length()[0] + self.numbers_elsewhere)

    def tally(self, frequencies: NDArray[np.int64] | None) -> Tally:
        """Return the sums as a `Tally`."""
        sums = np.zeros(NUM_COUNTS, dtype=np.int64)
        sums[: len(COUNTS)] = self._counts()
        for name, value in zip(_OTHERS, self.others, strict=True):
            sums[position_of(name)] = value
        sums[position_of("documents")] = self.documents
        sums[position_of("empty_documents")] = self.empty_documents
        distinct, whole = self.measurer.word_types()[0].tolist()
        return Tally(sums, frequencies, (distinct, whole), self._numbers())


class CountingWorker:
    """A counter of documents of any groups; not thread-safe."""

    def __init__(self, tokenizer: Tokenizer, tables: Any, vocabulary: Vocabulary) -> None:
        """Start with zero counts.

        Args:
            tokenizer: decodes the ids.
            tables: the counting kernel's tables, which workers may share.
            vocabulary: the tokens of the tokenizer.
        """
        self._tokenizer = tokenizer
        self._tables = tables
        self._vocabulary = vocabulary
        self._joins_pieces = isinstance(tokenizer, TellsDecoding) and tokenizer.decoding is Decoding.JOINED
        self.groups: dict[str, GroupCounter] = {}

    def add(self, batch: Batch) -> Counted:
        """Count a batch whose documents are sorted by group."""
        counted = [self._add_group(self._counter(group), part) for group, part in batch.groups()]
        firsts = np.cumsum([0, *(len(group.rows) for group in counted)]).tolist()
        return Counted(
            rows=np.concatenate([group.rows for group in counted]),
            num_bytes=sum(group.num_bytes for group in counted),
            failures={
                first + position: failure
                for first, group in zip(firsts, counted, strict=False)
                for position, failure in group.failures.items()
            },
        )

    def take(self, group: str, state: GroupState) -> None:
        """Add the counts of a group made elsewhere. Raises `ValueError`, see `GroupCounter.take`."""
        self._counter(group).take(state)

    def join(self, other: CountingWorker) -> None:
        """Add the counts of another worker, which must not count any more."""
        for group, counter in other.groups.items():
            if group in self.groups:
                self.groups[group].join(counter)
            else:
                self.groups[group] = counter

    def _counter(self, group: str) -> GroupCounter:
        if group not in self.groups:
            self.groups[group] = GroupCounter(current_kernel().new_measurer(self._tables, 1))
        return self.groups[group]

    def _add_group(self, counter: GroupCounter, batch: Batch) -> Counted:
        if self._joins_pieces and isinstance(batch.spans, TiledSpans):
            # The kernel checks that the tokens are the text byte for byte, so they decode to it.
            rows, fidelity = self._count_tiles(counter, batch), all_kept(batch.documents, batch.is_chosen)
            num_bytes = int(rows[:, COUNTS.index("bytes")].sum())
        else:
            texts = [document.text.encode() for document in batch.documents]
            fidelity = fidelity_of(
                self._tokenizer,
                batch.documents,
                batch.spans.encoded,
                text=b"".join(texts),
                is_chosen=batch.is_chosen,
            )
            rows, num_bytes = self._count_spans(counter, batch, texts), sum(map(len, texts))
        counter.take_prose(batch.documents, rows)
        counter.documents += len(batch.documents)
        is_empty = batch.spans.encoded.counts == 0
        counter.empty_documents += int(np.count_nonzero(is_empty))
        _blame_unknown(fidelity.counts, rows[:, COUNTS.index("unknown_tokens")])
        fidelity.counts[is_empty, FIDELITY.index("indentation_lost")] = (
            0  # nor are their indented lines counted
        )
        others = np.hstack([fidelity.counts, self._token_counts(batch.spans.encoded)])
        counter.others += others.sum(axis=0)
        one_each = np.ones((len(batch.documents), 1), dtype=np.int64)
        return Counted(np.hstack([rows, others, one_each]), num_bytes, fidelity.failures)

    def _token_counts(self, encoded: Encoded) -> NDArray[np.int64]:
        """Return the counts of kinds of tokens, int64[D, len(TOKEN_COUNTS)]."""
        columns = []
        for is_of_kind in (self._vocabulary.lone_bytes, self._vocabulary.incomplete):
            positions = np.flatnonzero(is_of_kind[encoded.ids])
            before = np.searchsorted(positions, encoded.offsets)
            columns.append(np.diff(before))
        return np.stack(columns, axis=1).astype(np.int64)

    @staticmethod
    def _count_tiles(counter: GroupCounter, batch: Batch) -> NDArray[np.int64]:
        """Return the counts of texts that their tokens tile, int64[D, len(COUNTS)]."""
        return counter.measurer.add_texts(
            texts=tuple(document.text for document in batch.documents),
            token_offsets=batch.spans.encoded.offsets,
            ids=batch.spans.encoded.ids,
            groups=np.zeros(len(batch.documents), dtype=np.int32),
        )

    @staticmethod
    def _count_spans(counter: GroupCounter, batch: Batch, texts: list[bytes]) -> NDArray[np.int64]:
        """Return int64[D, len(COUNTS)]; a document without tokens has a row of zeros and does not affect any ratio."""
        spans = batch.spans
        is_empty = spans.encoded.counts == 0
        counted = [text for text, empty in zip(texts, is_empty.tolist(), strict=True) if not empty]
        rows = np.zeros((len(texts), len(COUNTS)), dtype=np.int64)
        rows[~is_empty] = counter.measurer.add(
            text=b"".join(counted),
            text_offsets=np.cumsum([0, *map(len, counted)], dtype=np.int64),
            token_offsets=spans.encoded.offsets[[0, *(np.flatnonzero(~is_empty) + 1)]],
            starts=spans.starts,
            stops=spans.stops,
            kinds=spans.kinds,
            groups=np.zeros(len(counted), dtype=np.int32),
        )
        return rows


def _blame_unknown(counts: NDArray[np.int64], unknown_tokens: NDArray[np.int64]) -> None:
    """Attribute losses without another cause to unknown tokens, in documents that have some."""
    causes = [FIDELITY.index(error_count(cause)) for cause in CAUSES[:-1]]
    left = counts[:, FIDELITY.index("error_chars")] - counts[:, causes].sum(axis=1)
    counts[:, FIDELITY.index("unknown_errors")] += np.where(unknown_tokens > 0, left, 0)


def count_on_workers(
    workers: Sequence[CountingWorker], batch: Batch, *, run: Callable[..., Iterator[Counted]]
) -> Iterator[Counted]:
    """Divide a batch among workers in its order, with about the same number of characters for each.

    Args:
        workers: at least one worker.
        batch: documents sorted by group.
        run: calls a function with the next elements of several sequences, like `map`.

    Returns:
        The counts of each worker, in the order of the documents.
    """
    ends = np.cumsum([len(document.text) for document in batch.documents])
    wanted = np.arange(1, len(workers)) * (ends[-1] / len(workers))
    cuts = [0, *np.searchsorted(ends, wanted).tolist(), len(batch.documents)]
    busy = [
        (worker, batch.part(start, stop))
        for worker, start, stop in zip(workers, cuts, cuts[1:], strict=False)
        if start != stop
    ]
    return run(CountingWorker.add, [worker for worker, _ in busy], [part for _, part in busy])


def _part(spans: EncodedSpans, start: int, stop: int) -> EncodedSpans:
    """Return the texts from `start` to `stop`."""
    offsets = spans.encoded.offsets[start : stop + 1]
    tokens = slice(int(offsets[0]), int(offsets[-1]))
    encoded = Encoded(ids=spans.encoded.ids[tokens], offsets=offsets - offsets[0])
    if isinstance(spans, TiledSpans):
        return TiledSpans(encoded, spans.pieces)
    return EncodedSpans(encoded, spans.starts[tokens], spans.stops[tokens], spans.kinds[tokens])
