"""A streamed pass of one tokenizer over a corpus: encode a batch on all threads, count it on all threads, drop it.

A batch is a few megabytes: its texts and tokens are still in the processor's cache when they are counted, and memory
does not grow with the corpus. Encoding and counting are compiled code that releases the GIL; while workers count,
the calling thread adds up the frequencies of the same tokens, so that no thread waits.
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
from tokbench.evaluation.fidelity import FAILURES_KEPT, Stability
from tokbench.evaluation.units import UnitKeys
from tokbench.metrics.kernel import current_kernel
from tokbench.metrics.metric import DOCUMENT_COUNTS, Tally, pooled
from tokbench.metrics.text_runs import character_classes
from tokbench.metrics.unit_counts import (
    MOST_UNITS,
    NUM_MEAN_COLUMNS,
    GroupFrequencies,
    SetFrequencies,
    UnitSums,
    in_fewer_sets,
    mean_columns,
    most_sets,
)
from tokbench.metrics.vocabulary import vocabulary_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.core.progress import Progress
    from tokbench.core.tokens import EncodedSpans
    from tokbench.corpus import Document
    from tokbench.evaluation.counting_workers import Counted, GroupCounter, GroupState
    from tokbench.evaluation.fidelity import Failure
    from tokbench.evaluation.units import UnitKind
    from tokbench.metrics.unit_counts import UnitCounts
    from tokbench.metrics.vocabulary import Vocabulary

_BATCH_CHARACTERS = 1 << 21
_BATCH_DOCUMENTS = 1 << 15
WORST_WORDS = 10
"""Number of words with the most tokens that are kept for each group."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The counts of one tokenizer over a corpus.

    Attributes:
        info: the tokenizer's info.
        vocabulary: the tokenizer's tokens.
        groups: group → its sums, ordered by group name.
        frequencies: int64[V], occurrences of each id on all text.
        set_frequencies: int64[S, V], occurrences of each id in each unit; more than 64 units (fewer for a very large
            vocabulary) are distributed over that many sets by their keys.
        set_keys: uint64[S], the keys of these units or sets, ascending.
        num_bytes: UTF-8 bytes of all documents.
        group_units: group → the counts of its resampling units; the columns are `DOCUMENT_COUNTS`, followed by
            `mean_columns` if requested. A document without tokens contributes only to the counts of decoding.
        units: kind of unit → number of units: "aligned lines", "files", "documents" (records included).
        line_groups: groups whose units are aligned lines, each drawn with all its languages.
        worst_words: group → (word, most tokens, occurrences), the words with the most tokens first.
        failures: the first documents that did not decode to themselves.
    """

    info: TokenizerInfo
    vocabulary: Vocabulary
    groups: Mapping[str, Tally]
    frequencies: NDArray[np.int64]
    set_frequencies: NDArray[np.int64]
    set_keys: NDArray[np.uint64]
    num_bytes: int
    group_units: Mapping[str, UnitCounts]
    units: Mapping[str, int]
    line_groups: frozenset[str]
    worst_words: Mapping[str, tuple[tuple[bytes, int, int], ...]]
    failures: tuple[Failure, ...]

    @property
    def total(self) -> Tally:
        """The sums over all groups."""
        return replace(pooled(self.groups.values()), frequencies=self.frequencies)


def with_equal_sets(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """Return evaluations of the same documents with frequencies in the same sets of units, which pairs their figures.

    A very large vocabulary is counted in fewer sets than the others; these then get as few. One that is too large for
    any set stays without.
    """
    limits = [most_sets(evaluation.info.vocab_size) for evaluation in evaluations]
    keys = {
        evaluation.set_keys.tobytes() for evaluation, limit in zip(evaluations, limits, strict=True) if limit
    }
    return [
        _in_fewer_sets(evaluation, min(filter(None, limits))) if limit and len(keys) > 1 else evaluation
        for evaluation, limit in zip(evaluations, limits, strict=True)
    ]


def _in_fewer_sets(evaluation: Evaluation, num_sets: int) -> Evaluation:
    keys, frequencies = in_fewer_sets(evaluation.set_keys, evaluation.set_frequencies, num_sets)
    return replace(evaluation, set_keys=keys, set_frequencies=frequencies)


def evaluate(
    tokenizer: Tokenizer,
    documents: Iterable[Document],
    *,
    threads: int | None = None,
    means: bool = False,
    whole_groups: Collection[str] = (),
    phase: str = "evaluating",
    progress: Progress = no_progress,
) -> Evaluation:
    """Encode every document once, and count what metrics are computed from.

    Args:
        tokenizer: any tokenizer.
        documents: an iterable, consumed a few megabytes at a time.
        threads: number of threads; None uses every processor. The result does not depend on it.
        means: whether to count what means over documents need.
        whole_groups: groups whose units are all kept apart, regardless of their number.
        phase: name of this work for `progress`.
        progress: called with the number of bytes done.

    Returns:
        The counts; memory grows with the number of distinct words, not with the number of documents.

    Raises:
        TextError: a document cannot be encoded.
        CorpusError: a document cannot be read.
    """
    read = reading_of(documents)
    threads = threads or os.cpu_count() or 1
    with ThreadPoolExecutor(threads, "worker") as executor:
        run = Counting(
            tokenizer,
            threads=threads,
            run=map if threads == 1 else executor.map,
            means=means,
            whole_groups=whole_groups,
        )
        for batch in batches(documents):
            run.add(batch)
            progress(phase, *read(run.num_bytes), "bytes")
        return run.finish()


def batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Yield the documents in lists of a few megabytes."""
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


@dataclass(frozen=True, slots=True, eq=False)
class CountingState:
    """The counts of some documents, in a form that can be stored and continued elsewhere.

    Attributes:
        groups: group → its counts.
        frequencies: int64[V], frequencies of ids that are not kept by group.
        frequencies_by_group: group → int64[V]; None if frequencies are not kept by group.
        sets: the result of `SetFrequencies.parts`.
        units: group → the counts of its units.
        single_documents: see `UnitKeys`, like the next two.
        named: kind → the keys of its units.
        line_groups: groups with aligned lines.
        failures: the first documents that did not decode to themselves.
        num_bytes: UTF-8 bytes of all documents.
    """

    groups: Mapping[str, GroupState]
    frequencies: NDArray[np.int64]
    frequencies_by_group: dict[str, NDArray[np.int64]] | None
    sets: tuple[NDArray[np.uint64], NDArray[np.int64], bool]
    units: Mapping[str, UnitCounts]
    single_documents: int
    named: Mapping[UnitKind, set[int]]
    line_groups: frozenset[str]
    failures: tuple[Failure, ...]
    num_bytes: int


class Counting:
    """An evaluation in progress: accepts batches of documents and returns an `Evaluation`."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        threads: int = 1,
        run: Callable[..., Iterator[Counted]] = map,
        means: bool = False,
        whole_groups: Collection[str] = (),
        num_checked: int | None = None,
    ) -> None:
        """Start with zero counts.

        Args:
            tokenizer: any tokenizer.
            threads: number of threads for encoding and for counting.
            run: calls a function with the next elements of several sequences, like `map`.
            means: see `evaluate`.
            whole_groups: see `evaluate`.
            num_checked: number of documents, from the first, that are encoded a second time; by default the documents
                that begin in the first megabytes.
        """
        self._tokenizer = tokenizer
        self._threads, self._run = threads, run
        self._means, self._whole_groups = means, frozenset(whole_groups)
        self._stability = Stability(num_documents=num_checked)
        tables = _tables_of(tokenizer)
        self._vocabulary = vocabulary_of(tokenizer)
        self._workers = [CountingWorker(tokenizer, tables, self._vocabulary) for _ in range(threads)]
        self._frequencies = GroupFrequencies(tokenizer.info.vocab_size)
        self._sets = SetFrequencies(tokenizer.info.vocab_size)
        self._keys = UnitKeys()
        self._units: dict[str, UnitSums] = {}
        self._failures: list[Failure] = []
        self.num_bytes = 0

    def add(self, documents: Sequence[Document]) -> None:
        """Encode and count some documents, after sorting them by group."""
        order = sorted(range(len(documents)), key=lambda position: documents[position].group)
        is_chosen, keys = self._stability.chosen(documents)[order], self._keys.of(documents)[order]
        documents = [documents[position] for position in order]
        spans = self._encoded(documents)
        batch = Batch(documents, spans, is_chosen)
        # Workers start counting now; this thread counts frequencies meanwhile, then waits for their rows.
        counting = count_on_workers(self._workers, batch, run=self._run)
        for group, part in batch.groups():
            self._frequencies.add(group, part.spans.encoded.ids)
        self._sets.add(keys, spans.encoded)
        counted = list(counting)
        self._take_rows(batch, keys, np.concatenate([part.rows for part in counted]))
        self._take_failures(counted, order)
        self.num_bytes += sum(part.num_bytes for part in counted)

    def _take_rows(self, batch: Batch, keys: NDArray[np.uint64], rows: NDArray[np.int64]) -> None:
        if self._means:
            rows = np.hstack([rows, mean_columns(rows)])
        start = 0
        for group, part in batch.groups():
            stop = start + len(part.documents)
            self._units_of(group).add(keys[start:stop], rows[start:stop])
            start = stop

    def _units_of(self, group: str) -> UnitSums:
        if group not in self._units:
            num_columns = len(DOCUMENT_COUNTS) + self._means * NUM_MEAN_COLUMNS
            most = None if group in self._whole_groups else MOST_UNITS
            self._units[group] = UnitSums(num_columns, most_units=most)
        return self._units[group]

    def _take_failures(self, counted: Sequence[Counted], order: Sequence[int]) -> None:
        """Keep the first failures, in the original order of the documents."""
        found: dict[int, Failure] = {}
        start = 0
        for part in counted:
            found |= {order[start + position]: failure for position, failure in part.failures.items()}
            start += len(part.rows)
        self._failures += [found[position] for position in sorted(found)]
        del self._failures[FAILURES_KEPT:]

    def _encoded(self, documents: list[Document]) -> EncodedSpans:
        try:
            return encode_spans(
                self._tokenizer, [document.text for document in documents], threads=self._threads
            )
        except TextError as error:
            for document in documents:
                _check_encodable(self._tokenizer, document)
            raise error  # no single document fails

    def state(self) -> CountingState:
        """Return the state for `take`; nothing can be counted afterwards."""
        all_text, by_group = self._frequencies.parts()
        groups = self._groups()
        return CountingState(
            groups={name: group.state() for name, group in groups.items()},
            frequencies=all_text,
            frequencies_by_group=by_group,
            sets=self._sets.parts(),
            units={name: self._units[name].counts() for name in groups},
            single_documents=self._keys.single_documents,
            named=self._keys.named,
            line_groups=frozenset(self._keys.line_groups),
            failures=tuple(self._failures),
            num_bytes=self.num_bytes,
        )

    def take(self, state: CountingState) -> None:
        """Add the counts that were made elsewhere of the documents that follow those counted so far.

        Raises:
            ValueError: the words or ids cannot come from this tokenizer.
        """
        for name, group in state.groups.items():
            self._workers[0].take(name, group)
            self._units_of(name).join(state.units[name])
        self._frequencies.join(state.frequencies, state.frequencies_by_group)
        keys, counts, are_buckets = state.sets
        self._sets.join(keys, counts, are_buckets=are_buckets)
        self._keys.join(state.single_documents, state.named, set(state.line_groups))
        self._failures += state.failures
        del self._failures[FAILURES_KEPT:]
        self.num_bytes += state.num_bytes

    def _groups(self) -> dict[str, GroupCounter]:
        """Join the counts of all workers, and return them by group name."""
        all_together, *others = self._workers
        self._workers = [all_together]
        for worker in others:
            all_together.join(worker)
        return {name: all_together.groups[name] for name in sorted(all_together.groups)}

    def finish(self) -> Evaluation:
        """Return the counts, groups sorted by name; nothing can be counted afterwards."""
        groups = self._groups()
        set_keys, set_frequencies, _ = self._sets.parts()
        return Evaluation(
            info=self._tokenizer.info,
            vocabulary=self._vocabulary,
            groups={name: group.tally(self._frequencies.of(name)) for name, group in groups.items()},
            frequencies=self._frequencies.total,
            set_frequencies=set_frequencies,
            set_keys=set_keys,
            num_bytes=self.num_bytes,
            group_units={name: self._units[name].counts() for name in groups},
            units=self._keys.units,
            line_groups=frozenset(self._keys.line_groups),
            worst_words={
                name: tuple(group.measurer.worst_words(0, WORST_WORDS)) for name, group in groups.items()
            },
            failures=tuple(self._failures),
        )


def _tables_of(tokenizer: Tokenizer) -> Any:
    """Return the counting kernel's tables, which include the token bytes if the tokens tile the text."""
    spans = encode_spans(tokenizer, [""])
    pieces = spans.pieces if isinstance(spans, TiledSpans) else PieceTable.of([])
    return current_kernel().new_tables(character_classes(), pieces.data, pieces.offsets)


def _check_encodable(tokenizer: Tokenizer, document: Document) -> None:
    """Raise `TextError` with the document's name if it cannot be encoded."""
    try:
        encode_spans(tokenizer, [document.text])
    except TextError as error:
        raise TextError(f"{document.source}: {error.message}", hint=error.hint) from None
