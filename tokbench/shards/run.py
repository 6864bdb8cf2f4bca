"""A run that writes shards: one thread reads and decompresses, one encodes (with its own threads) and writes."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import filterfalse, pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tokbench.core.tokens import SpecialPolicy
from tokbench.corpus import Problems
from tokbench.errors import CorpusError
from tokbench.shards.layout import ChatOptions, CorpusEntry, ShardIndex
from tokbench.shards.plan import planned_files
from tokbench.shards.shard_file import ShardFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.core.tokens import Encoded
    from tokbench.corpus import Corpus
    from tokbench.corpus.files import CorpusFile
    from tokbench.shards.journal import Journal

_BATCH_CHARACTERS = 4 << 20
"""The characters to encode at once: enough for threads to share; larger batches exceed the caches and are slower."""

_MOST_AHEAD = 2


class SizedConversation(Protocol):
    """A conversation of a file."""

    @property
    def num_bytes(self) -> int:
        """Its size in its file."""


class ConversationEncoder(Protocol):
    """Reads conversations, and encodes them to ids with a loss mask."""

    @property
    def options(self) -> ChatOptions:
        """The options that the index records."""

    def read(self, corpus: Corpus, file: CorpusFile, problems: Problems) -> Iterator[SizedConversation]:
        """Yield the conversations of a file of a corpus. Raises `CorpusError`."""

    def encode(
        self, conversations: Sequence[Any], *, threads: int | None
    ) -> tuple[Encoded, NDArray[np.uint8]]:
        """Return the ids of conversations, and a mask with 1 for each id that is trained on. Raises `CorpusError`."""


def document_batches(
    corpus: Corpus, file: CorpusFile, problems: Problems, *, chat: ConversationEncoder | None
) -> Iterator[list[Any]]:
    """Yield the documents of a file in lists of a few megabytes: texts, or conversations if there is a `chat`."""
    if chat is None:
        yield from corpus.texts_of(file, problems, batch=_BATCH_CHARACTERS)
        return
    batch: list[SizedConversation] = []
    size = 0
    for conversation in chat.read(corpus, file, problems):
        batch.append(conversation)
        size += conversation.num_bytes
        if size >= _BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class Run:
    """One run: reads in the calling thread, and encodes and writes in another one."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        corpus: Corpus,
        folder: Path,
        journal: Journal,
        *,
        files: tuple[CorpusFile, ...],
        threads: int | None,
        chat: ConversationEncoder | None,
        progress: Progress,
    ) -> None:
        self._tokenizer = tokenizer
        self._chat = chat
        self._corpus = corpus
        self._folder = folder
        self._journal = journal
        self._plan = journal.plan
        self._files = files
        self._threads = threads
        self._progress = progress
        self._special = SpecialPolicy(self._plan.options.special_policy)
        self._shard: ShardFile | None = None
        self._ended: list[CorpusEntry] = []  # files that ended since the last shard
        self._documents = journal.finished.documents  # of the file that is being encoded
        self._text_bytes = sum(shard.text_bytes for shard in journal.finished.shards)

    def write(self) -> ShardIndex:
        """Write all shards that do not exist yet. Raises as `write_shards`."""
        try:
            with OrderedJobs() as jobs:
                self._read(jobs)
                jobs.do(self._end_shard)
        finally:
            if self._shard is not None:
                self._shard.discard()
        files = (*self._journal.finished.files, *self._ended)
        self._corpus.problems = Problems.total(map(asdict, files))
        if not self._journal.finished.shards:
            raise self._corpus.no_document()
        if [file.identity for file in planned_files(self._files)] != [
            file.identity for file in self._plan.files
        ]:
            raise CorpusError("the corpus changed while it was read", hint="encode it again, with --force")
        plan = self._plan
        return ShardIndex(
            format=plan.format,
            dtype=plan.dtype,
            tokenizer=plan.tokenizer,
            eos=plan.eos,
            options=plan.options,
            files=files,
            shards=tuple(self._journal.finished.shards),
        )

    def _read(self, jobs: OrderedJobs) -> None:
        passed = self._journal.finished.documents
        known_files = len(self._journal.finished.files)
        files = list(zip(self._files, self._plan.files, strict=True))[known_files:]
        is_known = not any(file.stream for file, _ in files)
        total, before = sum(file.size for file, _ in files), 0
        for file, planned in files:
            problems, documents = Problems(), 0
            for batch in document_batches(self._corpus, file, problems, chat=self._chat):
                known = min(max(passed - documents, 0), len(batch))
                documents += len(batch)
                if known < len(batch):
                    jobs.do(self._encode, batch[known:] if known else batch)
                done = before + min(self._corpus.position, file.size) if is_known else self._text_bytes
                self._progress("encoding", done, total if is_known else None, "bytes")
            before += file.size
            self._corpus.position = 0
            entry = CorpusEntry(
                name=planned.name,
                bytes=planned.bytes,
                sample=planned.sample,
                documents=documents,
                replaced_bytes=problems.replaced_bytes,
                skipped_documents=problems.skipped_documents,
                long_documents=problems.long_documents,
                textless_documents=problems.textless_documents,
            )
            jobs.do(self._end_file, entry)
            passed = 0

    # --- in the thread that encodes -----------------------------------------------------------

    def _encode(self, documents: list[Any]) -> None:
        """Encode documents into the current shard, and into new ones as each gets full."""
        if self._chat is None:
            self._encode_texts(documents)
        else:
            self._encode_conversations(documents, self._chat)

    def _encode_texts(self, texts: list[str]) -> None:
        encoded = self._tokenizer.encode_batch(texts, special=self._special, threads=self._threads)
        ids, ends = self._with_eos(encoded)
        start = 0
        while start < len(texts):
            shard = self._open_shard()
            begin = int(ends[start - 1]) if start else 0
            room = self._plan.options.shard_tokens - shard.tokens
            stop = int(np.searchsorted(ends, begin + room, side="right"))
            if stop <= start and not shard.tokens:  # a document that is longer than a shard
                stop = start + 1
            if stop > start:
                some = texts if stop - start == len(texts) else texts[start:stop]
                num_bytes = _utf8_bytes(some)
                shard.add(ids[begin : int(ends[stop - 1])], ends[start:stop] - begin, num_bytes)
                self._text_bytes += num_bytes
                self._documents += stop - start
                start = stop
            if start < len(texts):
                self._end_shard()

    def _encode_conversations(
        self, conversations: list[SizedConversation], chat: ConversationEncoder
    ) -> None:
        """Encode conversations; with rows, a conversation that does not fit into the rest of a row begins a new one."""
        encoded, mask = chat.encode(conversations, threads=self._threads)
        ids, length = encoded.ids.astype(self._plan.dtype), chat.options.pack
        most = self._plan.options.shard_tokens
        for number, (start, stop) in enumerate(pairwise(encoded.offsets.tolist())):
            size = stop - start
            shard = self._open_shard()
            if length is not None and shard.tokens % length + size > length and shard.tokens:
                shard.fill_row(length, pad=chat.options.pad or 0)
            wanted = shard.tokens + size
            if shard.tokens and wanted + (-wanted % length if length else 0) > most:
                self._end_shard()
                shard = self._open_shard()
            num_bytes = conversations[number].num_bytes
            shard.add(ids[start:stop], np.array([size], np.int64), num_bytes, mask=mask[start:stop])
            self._text_bytes += num_bytes
            self._documents += 1

    def _open_shard(self) -> ShardFile:
        if self._shard is None:
            self._shard = ShardFile(self._folder, self._plan, len(self._journal.finished.shards))
        return self._shard

    def _with_eos(self, encoded: Encoded) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the ids to write, and the end of each document."""
        ids, ends = encoded.ids.astype(self._plan.dtype), encoded.offsets[1:]
        if self._plan.eos is None:
            return ids, ends
        ended = ends + np.arange(1, len(ends) + 1)
        ids = np.insert(ids, ends, self._plan.eos.id)
        return ids, ended

    def _end_file(self, entry: CorpusEntry) -> None:
        self._ended.append(entry)
        self._documents = 0

    def _end_shard(self) -> None:
        if self._shard is not None:
            if self._chat is not None and self._chat.options.pack is not None:
                self._shard.fill_row(self._chat.options.pack, pad=self._chat.options.pad or 0)
            entry = self._shard.finish()
            self._shard = None
            self._journal.add(entry, self._ended, documents=self._documents)
            self._ended = []


def _utf8_bytes(texts: list[str]) -> int:
    """Return the UTF-8 size of texts, without Python work per text."""
    wide = list(filterfalse(str.isascii, texts))
    return sum(map(len, texts)) - sum(map(len, wide)) + sum(map(len, map(str.encode, wide)))


class OrderedJobs:
    """Runs jobs in another thread, in order, and at most a few ahead of the thread that submits them.

    After a job fails, no further job runs, and submitting the next one raises its error.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._pending: deque[Future[None]] = deque()
        self._stopped = False

    def __enter__(self) -> OrderedJobs:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            while kind is None and self._pending:
                self._pending.popleft().result()
        finally:
            self._stopped = True
            self._pool.shutdown(wait=True, cancel_futures=True)

    def do(self, job: Callable[..., None], *arguments: Any) -> None:
        """Submit a job; blocks while too many are waiting."""
        while len(self._pending) > _MOST_AHEAD:
            self._pending.popleft().result()
        self._pending.append(self._pool.submit(self._run, job, *arguments))

    def _run(self, job: Callable[..., None], *arguments: Any) -> None:
        if self._stopped:
            return
        try:
            job(*arguments)
        except BaseException:
            self._stopped = True
            raise
