"""One streamed pass of one tokenizer over a corpus: encode a batch on all threads, count it on all threads, drop it.

A batch is a few megabytes: its texts and tokens are still in the processor's cache when they are counted, and memory
does not grow with the corpus. Encoding and counting are compiled code that releases Python's lock; while workers
count, this thread adds up the frequencies of the same tokens, so that no thread waits.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.core.progress import no_progress, reading_of
from tokbench.core.token_arrays import PieceTable, TiledSpans, encode_spans
from tokbench.errors import TextError
from tokbench.evaluation.counting_workers import Batch, CountingWorker, count_on_workers
from tokbench.evaluation.drawn_units import unit_kind
from tokbench.evaluation.fidelity import FAILURES_KEPT, Stability
from tokbench.metrics.character_classes import character_classes
from tokbench.metrics.kernel import current_kernel
from tokbench.metrics.tally import DOCUMENT_COUNTS, Tally, pooled
from tokbench.metrics.vocabulary import vocabulary_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.core.encoded import Encoded, EncodedSpans
    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.core.progress import Progress
    from tokbench.corpus import Document
    from tokbench.evaluation.drawn_units import UnitKind
    from tokbench.evaluation.fidelity import Failure
    from tokbench.metrics.vocabulary import Vocabulary

_BATCH_CHARACTERS = 1 << 21
_BATCH_DOCUMENTS = 1 << 15
_MOST_FREQUENCIES = 1 << 26
"""Counts that are kept by group and id: half a gigabyte."""
_SETS, _MOST_IN_SETS = 64, 1 << 24
"""Sets of units, and counts that are kept by set and id: at most 128 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """What was counted of one tokenizer.

    Attributes:
        info: the tokenizer.
        vocabulary: its tokens.
        groups: group → its sums, in the order of the groups' names.
        frequencies: int64[V], occurrences of each id on all text.
        set_frequencies: int64[S, V], the same of up to 64 sets into which units are dealt in turns; fewer where
            the vocabulary is very large.
        num_bytes: UTF-8 bytes of all documents.
        document_groups: int32[D], the position of each document's group in `groups`. Documents stand in an order
            that is the same for every tokenizer: that of the corpus, but for a few megabytes at a time by group.
        document_units: int64[D], the number of what each document was drawn with: the same for all parts of a file.
        file_units: the numbers of those that are files with several documents.
        line_units: of those that are aligned lines, with all their languages.
        document_counts: int64[D, len(DOCUMENT_COUNTS)], of each document; one that gave no tokens has no
            part but in what is counted of decoding.
        worst_words: group → (word, most tokens, occurrences), those that fall into most tokens first.
        failures: the first documents that did not decode to themselves.
    """

    info: TokenizerInfo
    vocabulary: Vocabulary
    groups: Mapping[str, Tally]
    frequencies: NDArray[np.int64]
    set_frequencies: NDArray[np.int64]
    num_bytes: int
    document_groups: NDArray[np.int32]
    document_units: NDArray[np.int64]
    file_units: NDArray[np.int64]
    line_units: NDArray[np.int64]
    document_counts: NDArray[np.int64]
    worst_words: Mapping[str, tuple[tuple[bytes, int, int], ...]]
    failures: tuple[Failure, ...]

    @property
    def total(self) -> Tally:
        """The sums over all groups."""
        return replace(pooled(self.groups.values()), frequencies=self.frequencies)

    @property
    def num_units(self) -> int:
        """What documents were drawn in: files, aligned lines, and documents by themselves."""
        return len(np.unique(self.document_units))

    @property
    def units(self) -> dict[str, int]:
        """How many of each kind there are: "aligned lines", "files", "documents" (records, too)."""
        found = {"aligned lines": len(self.line_units), "files": len(self.file_units)}
        found["documents"] = self.num_units - sum(found.values())
        return {kind: number for kind, number in found.items() if number}

    def column(self, name: str) -> NDArray[np.int64]:
        """int64[D], one of `DOCUMENT_COUNTS` of each document. Raises `ValueError` for another name."""
        return self.document_counts[:, DOCUMENT_COUNTS.index(name)]


def evaluate(
    tokenizer: Tokenizer,
    documents: Iterable[Document],
    *,
    threads: int | None = None,
    worst_words: int = 10,
    phase: str = "evaluating",
    progress: Progress = no_progress,
) -> Evaluation:
    """Encode every document once, and count what metrics are computed from.

    Args:
        tokenizer: any.
        documents: streamed, a few megabytes at a time.
        threads: None takes every processor. Never changes the result.
        worst_words: how many of the words with most tokens to keep for each group.
        phase: what progress calls it.
        progress: told how many bytes are done.

    Returns:
        The counts; memory grows by 300 bytes a document, and with the distinct words.

    Raises:
        TextError: a document that cannot be encoded.
        CorpusError: a document that cannot be read.
    """
    read = reading_of(documents)
    threads = threads or os.cpu_count() or 1
    with ThreadPoolExecutor(threads, "worker") as executor:
        run = _Pass(tokenizer, threads=threads, executor=executor)
        for batch in _batches(documents):
            run.add(batch)
            progress(phase, *read(run.num_bytes), "bytes")
        return run.finish(worst_words=worst_words)


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    characters = 0
    for document in documents:
        batch.append(document)
        characters += len(document.text)
        if characters >= _BATCH_CHARACTERS or len(batch) >= _BATCH_DOCUMENTS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


class _Frequencies:
    """How often each id occurs, by group as long as there is room for that."""

    def __init__(self, vocab_size: int) -> None:
        self._vocab_size = vocab_size
        self._all = np.zeros(vocab_size, dtype=np.int64)
        self._groups: dict[str, NDArray[np.int64]] | None = {}

    def add(self, group: str, ids: NDArray[np.uint32]) -> None:
        """Count the ids of some text of a group."""
        current_kernel().count_ids(ids, self._counts_of(group))

    def _counts_of(self, group: str) -> NDArray[np.int64]:
        if self._groups is None:
            return self._all
        if group not in self._groups:
            if (len(self._groups) + 1) * self._vocab_size > _MOST_FREQUENCIES:
                self._all, self._groups = self.total, None
                return self._all
            self._groups[group] = np.zeros(self._vocab_size, dtype=np.int64)
        return self._groups[group]

    def of(self, group: str) -> NDArray[np.int64] | None:
        """Those of a group, where they were kept."""
        return None if self._groups is None else self._groups[group]

    @property
    def total(self) -> NDArray[np.int64]:
        """Those on all text."""
        return self._all if self._groups is None else np.sum([self._all, *self._groups.values()], axis=0)


class _Sets:
    """How often each id occurs in each set of units."""

    def __init__(self, vocab_size: int) -> None:
        self._num_sets = min(_SETS, _MOST_IN_SETS // max(vocab_size, 1))
        self._counts = np.zeros((self._num_sets, vocab_size), dtype=np.int64)

    def add(self, units: NDArray[np.int64], encoded: Encoded) -> None:
        """Count the ids of documents of some units."""
        if not self._num_sets:
            return
        firsts = (units % self._num_sets * self._counts.shape[1]).astype(np.uint32)
        ids = np.repeat(firsts, np.diff(encoded.offsets)) + encoded.ids
        current_kernel().count_ids(ids, self._counts.reshape(-1))

    def counts(self, num_units: int) -> NDArray[np.int64]:
        """int64[S, V]; a set for each unit where there are fewer of these."""
        return self._counts[:num_units]


class _Units:
    """Numbers what documents were drawn with, in the order in which it comes up."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._next = 0

    @property
    def number(self) -> int:
        """How many there are."""
        return self._next

    def numbers(self, documents: Sequence[Document]) -> NDArray[np.int64]:
        """int64[D]: a document without a unit is one by itself."""
        return np.fromiter((self._number(document.unit) for document in documents), np.int64, len(documents))

    def _number(self, unit: str | None) -> int:
        number = self._next if unit is None else self._numbers.setdefault(unit, self._next)
        self._next += number == self._next
        return number

    def of_kind(self, kind: UnitKind) -> NDArray[np.int64]:
        """The numbers of units of a kind."""
        found = [number for unit, number in self._numbers.items() if unit_kind(unit) == kind]
        return np.array(found, dtype=np.int64)


class _Pass:
    """The state of an evaluation: batches go in, an `Evaluation` comes out."""

    def __init__(self, tokenizer: Tokenizer, *, threads: int, executor: ThreadPoolExecutor) -> None:
        self._tokenizer = tokenizer
        self._threads = threads
        self._executor = executor
        self._stability = Stability()
        tables = _tables_of(tokenizer)
        self._vocabulary = vocabulary_of(tokenizer)
        self._workers = [CountingWorker(tokenizer, tables, self._vocabulary) for _ in range(threads)]
        self._frequencies = _Frequencies(tokenizer.info.vocab_size)
        self._sets = _Sets(tokenizer.info.vocab_size)
        self._positions: dict[str, int] = {}
        self._units = _Units()
        self._document_groups: list[NDArray[np.int32]] = []
        self._document_units: list[NDArray[np.int64]] = []
        self._document_counts: list[NDArray[np.int64]] = []
        self._failures: list[Failure] = []
        self.num_bytes = 0

    def add(self, documents: list[Document]) -> None:
        """Encode and count some documents, after sorting them by group."""
        documents = sorted(documents, key=lambda document: document.group)
        spans = self._encoded(documents)
        batch = Batch(documents, spans, self._stability.chosen(documents))
        # Workers begin to count now; this thread goes on with frequencies, and then waits for their rows.
        counting = count_on_workers(
            self._workers, batch, run=map if self._threads == 1 else self._executor.map
        )
        for group, part in batch.groups():
            self._frequencies.add(group, part.spans.encoded.ids)
        units = self._units.numbers(documents)
        self._sets.add(units, spans.encoded)
        for counted in counting:
            self._document_counts.append(counted.rows)
            self._failures += counted.failures
            self.num_bytes += counted.num_bytes
        del self._failures[FAILURES_KEPT:]
        positions = [
            self._positions.setdefault(document.group, len(self._positions)) for document in documents
        ]
        self._document_groups.append(np.array(positions, dtype=np.int32))
        self._document_units.append(units)

    def _encoded(self, documents: list[Document]) -> EncodedSpans:
        try:
            return encode_spans(
                self._tokenizer, [document.text for document in documents], threads=self._threads
            )
        except TextError as error:
            for document in documents:
                _check_encodable(self._tokenizer, document)
            raise error  # no document fails by itself

    def finish(self, *, worst_words: int) -> Evaluation:
        """What was counted, the groups by name."""
        all_together, *others = self._workers
        for worker in others:
            all_together.join(worker)
        groups = {name: all_together.groups[name] for name in sorted(all_together.groups)}
        positions = np.zeros(len(groups), dtype=np.int32)
        for position, name in enumerate(groups):
            positions[self._positions[name]] = position
        return Evaluation(
            info=self._tokenizer.info,
            vocabulary=self._vocabulary,
            groups={name: group.tally(self._frequencies.of(name)) for name, group in groups.items()},
            frequencies=self._frequencies.total,
            set_frequencies=self._sets.counts(self._units.number),
            num_bytes=self.num_bytes,
            document_groups=positions[np.concatenate(self._document_groups)],
            document_units=np.concatenate(self._document_units),
            file_units=self._units.of_kind("file"),
            line_units=self._units.of_kind("aligned line"),
            document_counts=np.concatenate(self._document_counts),
            worst_words={
                name: tuple(group.measurer.worst_words(0, worst_words)) for name, group in groups.items()
            },
            failures=tuple(self._failures),
        )


def _tables_of(tokenizer: Tokenizer) -> Any:
    """The tables of the counting kernel; with the bytes of tokens where these are the text itself."""
    spans = encode_spans(tokenizer, [""])
    pieces = spans.pieces if isinstance(spans, TiledSpans) else PieceTable.of([])
    return current_kernel().new_tables(character_classes(), pieces.data, pieces.offsets)


def _check_encodable(tokenizer: Tokenizer, document: Document) -> None:
    """Raise `TextError` with the document's name where it cannot be encoded."""
    try:
        encode_spans(tokenizer, [document.text])
    except TextError as error:
        raise TextError(f"{document.source}: {error.message}", hint=error.hint) from None
