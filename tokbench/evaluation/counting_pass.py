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
from tokbench.evaluation.fidelity import FAILURES_KEPT, Stability
from tokbench.evaluation.token_frequencies import GroupFrequencies, SetFrequencies
from tokbench.evaluation.units import UnitKeys
from tokbench.metrics.character_classes import character_classes
from tokbench.metrics.kernel import current_kernel
from tokbench.metrics.metric import DOCUMENT_COUNTS, Tally, pooled
from tokbench.metrics.unit_counts import MOST_UNITS, NUM_MEAN_COLUMNS, UnitSums, mean_columns
from tokbench.metrics.vocabulary import vocabulary_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tokbench.core.encoded import EncodedSpans
    from tokbench.core.interfaces import Tokenizer, TokenizerInfo
    from tokbench.core.progress import Progress
    from tokbench.corpus import Document
    from tokbench.evaluation.counting_workers import Counted, GroupCounter, GroupState
    from tokbench.evaluation.fidelity import Failure
    from tokbench.evaluation.units import UnitKind
    from tokbench.metrics.unit_counts import UnitCounts
    from tokbench.metrics.vocabulary import Vocabulary

_BATCH_CHARACTERS = 1 << 21
_BATCH_DOCUMENTS = 1 << 15
WORST_WORDS = 10
"""Of each group, those with most tokens that are kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """What was counted of one tokenizer.

    Attributes:
        info: the tokenizer.
        vocabulary: its tokens.
        groups: group → its sums, in the order of the groups' names.
        frequencies: int64[V], occurrences of each id on all text.
        set_frequencies: int64[S, V], the same of each unit, or of up to 64 sets into which more units are dealt by
            their keys; fewer where the vocabulary is very large.
        num_bytes: UTF-8 bytes of all documents.
        group_units: group → the counts of the units that its documents were drawn in, whose columns are
            `DOCUMENT_COUNTS`, and after them those of `mean_columns` where these were asked for. A document that
            gave no tokens has no part but in what is counted of decoding.
        units: how many units of each kind there are: "aligned lines", "files", "documents" (records, too).
        line_groups: groups whose units are aligned lines, each drawn with all its languages.
        worst_words: group → (word, most tokens, occurrences), those that fall into most tokens first.
        failures: the first documents that did not decode to themselves.
    """

    info: TokenizerInfo
    vocabulary: Vocabulary
    groups: Mapping[str, Tally]
    frequencies: NDArray[np.int64]
    set_frequencies: NDArray[np.int64]
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


def evaluate(
    tokenizer: Tokenizer,
    documents: Iterable[Document],
    *,
    threads: int | None = None,
    worst_words: int = WORST_WORDS,
    means: bool = False,
    whole_groups: Collection[str] = (),
    num_checked: int | None = None,
    phase: str = "evaluating",
    progress: Progress = no_progress,
) -> Evaluation:
    """Encode every document once, and count what metrics are computed from.

    Args:
        tokenizer: any.
        documents: streamed, a few megabytes at a time.
        threads: None takes every processor. Never changes the result.
        worst_words: how many of the words with most tokens to keep for each group.
        means: whether means over documents will be asked for.
        whole_groups: groups of which every unit is kept apart, however many there are.
        num_checked: how many of the first documents are encoded a second time; by default those that begin in the
            first megabytes.
        phase: what progress calls it.
        progress: called with the number of bytes done.

    Returns:
        The counts; memory grows with the distinct words, and not with the documents.

    Raises:
        TextError: a document that cannot be encoded.
        CorpusError: a document that cannot be read.
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
            num_checked=num_checked,
        )
        for batch in batches(documents):
            run.add(batch)
            progress(phase, *read(run.num_bytes), "bytes")
        return run.finish(worst_words=worst_words)


def batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Documents in lists of a few megabytes."""
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
        frequencies: int64[V], of ids on text whose group is not known.
        frequencies_by_group: group → the others; None where they are not kept by group.
        sets: as `SetFrequencies.parts` gives them.
        units: group → the counts of its units.
        single_documents: as `UnitKeys` has them, like what follows.
        named: kind → the numbers of its units.
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
    """The state of an evaluation: batches go in, an `Evaluation` comes out."""

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
        """Nothing is counted yet.

        Args:
            tokenizer: any.
            threads: that encode, and that count.
            run: calls a function with the next elements of several sequences, as `map` does.
            means: as of `evaluate`, like the others.
            whole_groups: groups.
            num_checked: documents.
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
        # Workers begin to count now; this thread goes on with frequencies, and then waits for their rows.
        counting = count_on_workers(self._workers, batch, run=self._run)
        for group, part in batch.groups():
            self._frequencies.add(group, part.spans.encoded.ids)
        self._sets.add(keys, spans.encoded)
        counted = list(counting)
        self._take_rows(batch, keys, np.concatenate([each.rows for each in counted]))
        self._take_failures(counted, order)
        self.num_bytes += sum(each.num_bytes for each in counted)

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
        """Keep the first ones, in the order in which the documents came."""
        found: dict[int, Failure] = {}
        start = 0
        for each in counted:
            found |= {order[start + position]: failure for position, failure in each.failures.items()}
            start += len(each.rows)
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
            raise error  # no document fails by itself

    def state(self) -> CountingState:
        """The state for `take`; afterwards nothing more is counted."""
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
        """Count the documents after those that were counted, by what was counted of them elsewhere.

        Raises:
            ValueError: words or ids that are not what was counted of this tokenizer.
        """
        for name, group in state.groups.items():
            self._workers[0].take(name, group)
            self._units_of(name).join(state.units[name])
        self._frequencies.join(state.frequencies, state.frequencies_by_group)
        keys, counts, are_dealt = state.sets
        self._sets.join(keys, counts, are_dealt=are_dealt)
        self._keys.join(state.single_documents, state.named, set(state.line_groups))
        self._failures += state.failures
        del self._failures[FAILURES_KEPT:]
        self.num_bytes += state.num_bytes

    def _groups(self) -> dict[str, GroupCounter]:
        """What was counted by all workers, the groups by name."""
        all_together, *others = self._workers
        self._workers = [all_together]
        for worker in others:
            all_together.join(worker)
        return {name: all_together.groups[name] for name in sorted(all_together.groups)}

    def finish(self, *, worst_words: int = WORST_WORDS) -> Evaluation:
        """What was counted, the groups by name; nothing is counted any more."""
        groups = self._groups()
        return Evaluation(
            info=self._tokenizer.info,
            vocabulary=self._vocabulary,
            groups={name: group.tally(self._frequencies.of(name)) for name, group in groups.items()},
            frequencies=self._frequencies.total,
            set_frequencies=self._sets.parts()[1],
            num_bytes=self.num_bytes,
            group_units={name: self._units[name].counts() for name in groups},
            units=self._keys.units,
            line_groups=frozenset(self._keys.line_groups),
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
