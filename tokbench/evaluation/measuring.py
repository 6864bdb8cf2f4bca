"""One streamed pass of one tokenizer over a corpus: everything is counted on the way, nothing is kept."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from tokbench.errors import TextError
from tokbench.evaluation.fidelity import Failure, FidelityCheck
from tokbench.interfaces import Encoded, EncodedSpans, no_progress
from tokbench.metrics.classes import character_classes
from tokbench.metrics.counts import COUNTS, DOCUMENT_COUNTS
from tokbench.metrics.kernel import current_kernel
from tokbench.metrics.tally import FIDELITY, NUM_COUNTS, Tally, place_of, pooled
from tokbench.metrics.vocabulary import vocabulary_of
from tokbench.spans import encode_spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from tokbench.corpus import Document
    from tokbench.interfaces import Progress, Tokenizer, TokenizerInfo
    from tokbench.metrics.vocabulary import Vocabulary

_BATCH_CHARACTERS = 1 << 22
_BATCH_DOCUMENTS = 1 << 15
_MOST_FREQUENCIES = 1 << 26
"""Counts that are kept by group and id: half a gigabyte."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """What was counted of one tokenizer.

    Attributes:
        info: the tokenizer.
        vocabulary: its entries.
        groups: group → its sums, in the order of the groups' names.
        frequencies: int64[V], occurrences of each id on all text.
        num_bytes: UTF-8 bytes of all documents.
        document_groups: int32[D], the place of each document's group in `groups`. Documents stand in an order
            that is the same for every tokenizer: that of the corpus, but for a few megabytes at a time by group.
        document_counts: int64[D, len(DOCUMENT_COUNTS)], of each document; 0 for one that gave no tokens.
        worst_words: group → (word, most tokens, occurrences), those that fall into most tokens first.
        failures: the first documents that did not decode to themselves.
        encoding_seconds: wall time spent in the tokenizer itself.
        seconds: wall time of the whole pass.
    """

    info: TokenizerInfo
    vocabulary: Vocabulary
    groups: Mapping[str, Tally]
    frequencies: NDArray[np.int64]
    num_bytes: int
    document_groups: NDArray[np.int32]
    document_counts: NDArray[np.int64]
    worst_words: Mapping[str, tuple[tuple[bytes, int, int], ...]]
    failures: tuple[Failure, ...]
    encoding_seconds: float
    seconds: float

    @property
    def total(self) -> Tally:
        """The sums over all groups."""
        return replace(pooled(self.groups.values()), frequencies=self.frequencies)

    def column(self, name: str) -> NDArray[np.int64]:
        """int64[D], one of `DOCUMENT_COUNTS` of each document. Raises `ValueError` for another name."""
        return self.document_counts[:, DOCUMENT_COUNTS.index(name)]


def evaluate(
    tokenizer: Tokenizer,
    documents: Iterable[Document],
    *,
    threads: int | None = None,
    worst_words: int = 10,
    phase: str = "measuring",
    progress: Progress = no_progress,
) -> Evaluation:
    """Encode every document once, and count.

    Args:
        tokenizer: any.
        documents: streamed, a few megabytes at a time.
        threads: for encoding; None takes every processor. Never changes the result.
        worst_words: words to keep for each group.
        phase: what progress calls it.
        progress: told how many bytes are done.

    Returns:
        The counts; memory grows by 80 bytes a document, and with the distinct words.

    Raises:
        TextError: a document that cannot be encoded.
        CorpusError: a document that cannot be read.
    """
    started = time.perf_counter()
    run = _Pass(tokenizer, threads=threads)
    for batch in _batches(documents):
        run.add(batch)
        progress(phase, run.num_bytes, None, "bytes")
    return run.finish(seconds=time.perf_counter() - started, worst_words=worst_words)


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


class _Group:
    """What is summed for one group while the corpus goes by."""

    def __init__(self, place: int, *, vocab_size: int, keeps_frequencies: bool) -> None:
        self.place = place
        self.measurer = current_kernel().new_measurer(character_classes(), 1)
        self.fidelity = np.zeros(len(FIDELITY), dtype=np.int64)
        self.documents = self.empty_documents = 0
        self.frequencies = np.zeros(vocab_size, dtype=np.int64) if keeps_frequencies else None

    def tally(self) -> Tally:
        """The sums in the form in which they are added and read."""
        sums = np.zeros(NUM_COUNTS, dtype=np.int64)
        sums[: len(COUNTS)] = self.measurer.totals()[0]
        for name, value in zip(FIDELITY, self.fidelity, strict=True):
            sums[place_of(name)] = value
        sums[place_of("documents")] = self.documents
        sums[place_of("empty_documents")] = self.empty_documents
        distinct, whole = self.measurer.word_types()[0].tolist()
        return Tally(sums, self.frequencies, (distinct, whole), self.measurer.numbers_by_length()[0])


class _Pass:
    """The state of an evaluation: batches go in, an `Evaluation` comes out."""

    def __init__(self, tokenizer: Tokenizer, *, threads: int | None) -> None:
        self._tokenizer = tokenizer
        self._threads = threads
        self._fidelity = FidelityCheck(tokenizer)
        self._groups: dict[str, _Group] = {}
        self._frequencies = np.zeros(tokenizer.info.vocab_size, dtype=np.int64)
        self._document_groups: list[NDArray[np.int32]] = []
        self._document_counts: list[NDArray[np.int64]] = []
        self._encoding_seconds = 0.0
        self.num_bytes = 0

    def add(self, batch: list[Document]) -> None:
        """Encode and count some documents; those of a group stand together from here on."""
        batch = sorted(batch, key=lambda document: document.group)
        started = time.perf_counter()
        spans = self._encoded(batch)
        self._encoding_seconds += time.perf_counter() - started
        self._count_ids(self._frequencies, spans.encoded.ids)
        start = 0
        for group, documents in groupby(batch, key=lambda document: document.group):
            stop = start + sum(1 for _ in documents)
            self._add_group(self._group(group), batch[start:stop], _part(spans, start, stop))
            start = stop

    def _encoded(self, batch: list[Document]) -> EncodedSpans:
        try:
            return encode_spans(self._tokenizer, [document.text for document in batch], threads=self._threads)
        except TextError as error:
            for document in batch:
                _check_encodable(self._tokenizer, document)
            raise error  # not that of any document by itself

    def _group(self, name: str) -> _Group:
        if name not in self._groups:
            vocab_size = len(self._frequencies)
            keeps = (len(self._groups) + 1) * vocab_size <= _MOST_FREQUENCIES
            if not keeps:
                for group in self._groups.values():
                    group.frequencies = None
            self._groups[name] = _Group(len(self._groups), vocab_size=vocab_size, keeps_frequencies=keeps)
        return self._groups[name]

    def _add_group(self, group: _Group, documents: list[Document], spans: EncodedSpans) -> None:
        texts = [document.text.encode() for document in documents]
        text = b"".join(texts)
        is_empty = np.diff(spans.encoded.offsets) == 0
        # A document that gave no tokens has its place, and no part in any ratio.
        counts = np.zeros((len(documents), len(DOCUMENT_COUNTS)), dtype=np.int64)
        counts[~is_empty] = self._measured(group, texts, spans, is_empty=is_empty)
        group.documents += len(documents)
        group.empty_documents += int(np.count_nonzero(is_empty))
        if group.frequencies is not None:
            self._count_ids(group.frequencies, spans.encoded.ids)
        group.fidelity += self._fidelity.add(documents, spans.encoded, text=text)
        self._document_groups.append(np.full(len(documents), group.place, dtype=np.int32))
        self._document_counts.append(counts)
        self.num_bytes += len(text)

    @staticmethod
    def _measured(
        group: _Group, texts: list[bytes], spans: EncodedSpans, *, is_empty: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """The counts of the texts that gave tokens: int64[theirs, len(DOCUMENT_COUNTS)]."""
        measured = [text for text, empty in zip(texts, is_empty.tolist(), strict=True) if not empty]
        return group.measurer.add(
            text=b"".join(measured),
            text_offsets=np.cumsum([0, *map(len, measured)], dtype=np.int64),
            token_offsets=spans.encoded.offsets[[0, *(np.flatnonzero(~is_empty) + 1)]],
            starts=spans.starts,
            stops=spans.stops,
            kinds=spans.kinds,
            groups=np.zeros(len(measured), dtype=np.int32),
        )

    @staticmethod
    def _count_ids(frequencies: NDArray[np.int64], ids: NDArray[np.uint32]) -> None:
        if len(ids) * 8 > len(frequencies):
            frequencies += np.bincount(ids, minlength=len(frequencies))
        else:
            distinct, counts = np.unique(ids, return_counts=True)
            frequencies[distinct] += counts

    def finish(self, *, seconds: float, worst_words: int) -> Evaluation:
        """What was counted, the groups by name."""
        groups = {name: self._groups[name] for name in sorted(self._groups)}
        places = np.zeros(len(groups), dtype=np.int32)
        for place, group in enumerate(groups.values()):
            places[group.place] = place
        return Evaluation(
            info=self._tokenizer.info,
            vocabulary=vocabulary_of(self._tokenizer),
            groups={name: group.tally() for name, group in groups.items()},
            frequencies=self._frequencies,
            num_bytes=self.num_bytes,
            document_groups=places[np.concatenate(self._document_groups)],
            document_counts=np.concatenate(self._document_counts),
            worst_words={
                name: tuple(group.measurer.worst_words(0, worst_words)) for name, group in groups.items()
            },
            failures=tuple(self._fidelity.failures),
            encoding_seconds=self._encoding_seconds,
            seconds=seconds,
        )


def _check_encodable(tokenizer: Tokenizer, document: Document) -> None:
    """Raise `TextError` with the document's name where it cannot be encoded."""
    try:
        encode_spans(tokenizer, [document.text])
    except TextError as error:
        raise TextError(f"{document.source}: {error.message}", hint=error.hint) from None


def _part(spans: EncodedSpans, start: int, stop: int) -> EncodedSpans:
    """The texts from `start` to `stop`."""
    offsets = spans.encoded.offsets[start : stop + 1]
    tokens = slice(int(offsets[0]), int(offsets[-1]))
    return EncodedSpans(
        encoded=Encoded(ids=spans.encoded.ids[tokens], offsets=offsets - offsets[0]),
        starts=spans.starts[tokens],
        stops=spans.stops[tokens],
        kinds=spans.kinds[tokens],
    )
