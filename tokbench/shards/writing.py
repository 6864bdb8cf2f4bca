"""A corpus becomes shards: one thread reads and unpacks, one encodes (on threads of its own) and writes.

Where documents end in a shard, what is on the disk first, and what a run that was killed goes on with: the
journal tells. The result is the same bytes whether or not a run was interrupted.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import filterfalse, pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tokbench.core.progress import no_progress
from tokbench.core.tokens import SpecialPolicy
from tokbench.corpus import Problems
from tokbench.corpus.opening import corpus_of
from tokbench.errors import ConfigError, CorpusError, ModelFormatError, StoreError
from tokbench.files.atomic_file import write_file
from tokbench.shards.journal import JOURNAL_NAME, Journal, refuse_other_plan
from tokbench.shards.layout import (
    INDEX_NAME,
    OWN_FILE,
    ChatOptions,
    CorpusEntry,
    ShardEntry,
    ShardIndex,
    dump_index,
)
from tokbench.shards.plan import Plan, in_order, make_plan, planned_files
from tokbench.shards.reading import Shards, folder_of, open_shards
from tokbench.shards.shard_file import ShardFile, sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from numpy.typing import NDArray

    from tokbench.core.encoded import Encoded
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress
    from tokbench.corpus import Corpus
    from tokbench.corpus.files import CorpusFile

SHARD_TOKENS = 100_000_000
_BATCH_CHARACTERS = 4 << 20
"""Encoded at once: enough for threads to share; what is larger leaves the caches and is slower."""
_BATCHES_AHEAD = 2


class ConversationEncoder(Protocol):
    """Makes ids of documents that are conversations, and tells which of them are learned."""

    @property
    def options(self) -> ChatOptions:
        """What the index tells of it."""

    def encode(
        self, texts: list[str], *, first: int, threads: int | None
    ) -> tuple[Encoded, NDArray[np.uint8]]:
        """The ids of conversations, of which so many came before in their file, and 1 for each that is learned."""


def write_shards(
    tokenizer: Tokenizer,
    corpus: Corpus | str | Path,
    folder: Path | str,
    *,
    format: str = "npy",
    dtype: str = "auto",
    eos: str | bool | None = None,
    shard_tokens: int = SHARD_TOKENS,
    special: SpecialPolicy = SpecialPolicy.TEXT,
    threads: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    chat: ConversationEncoder | None = None,
    progress: Progress = no_progress,
) -> Shards:
    """Encode a corpus into a folder of shards; see `tokbench.shards.layout` for what is in it.

    Args:
        tokenizer: encodes.
        corpus: read once, as a stream; a document is held whole. Or its path.
        folder: made where it is missing.
        format: "npy" for `numpy.load(mmap_mode="r")`, "bin" for the bare ids.
        dtype: "uint16", "uint32", or "auto": the smaller one where it holds every id.
        eos: the special token to write behind each document, by its text; True takes the tokenizer's own.
        shard_tokens: a shard has no more, unless one document has.
        special: what the text of a special token becomes.
        threads: for encoding; None takes every processor.
        resume: go on with the run that was interrupted there, if there is one: its shards are read and
            checked, and the first that is not what was written is written again, with all behind it.
        overwrite: replace shards that are there.
        chat: encodes documents that are conversations; `tokbench.chat.shards` makes it, and reads them.
        progress: told how far it is.

    Returns:
        The shards, open.

    Raises:
        ConfigError: an option that cannot be used, or no such special token.
        CorpusError: a text that cannot be read, or a file that changed since the run began.
        StoreError: the folder is in use, or cannot be written.
        ModelFormatError: the journal, or shards of a run that came to its end, were changed.
        SpecialTokenError: a text holds one under `SpecialPolicy.RAISE`.

    Usage:

        shards = write_shards(tokenizer, open_corpus("data/*.jsonl.zst"), "shards", eos=True)
        shards[0]  # the ids of the first document, as a view of the file
    """
    folder, corpus = folder_of(folder), corpus_of(corpus)
    if resume and overwrite:
        raise ConfigError("resume and overwrite contradict each other", hint="give --resume or --force")
    plan = make_plan(
        tokenizer,
        corpus,
        format=format,
        dtype=dtype,
        eos=eos,
        shard_tokens=shard_tokens,
        special=special,
        chat=None if chat is None else chat.options,
    )
    with _errors_named(folder):
        _check_folder(folder, resume=resume, overwrite=overwrite)
        if resume and (folder / INDEX_NAME).exists():
            _refuse_streams(corpus)
            return _finished_before(folder, plan, progress=progress)
        if resume and (folder / JOURNAL_NAME).exists():
            _refuse_streams(corpus)
            journal = Journal.resume(folder, plan, progress=progress)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / INDEX_NAME).unlink(missing_ok=True)
            journal = Journal.begin(folder, plan)
        try:
            _clear(folder, keep=journal.finished.shards)
            files = in_order(corpus.files, plan, journal.plan)
            index = _Run(
                tokenizer,
                corpus,
                folder,
                journal,
                files=files,
                threads=threads,
                chat=chat,
                progress=progress,
            ).write()
            write_file(folder / INDEX_NAME, dump_index(index))
            (folder / JOURNAL_NAME).unlink()
        except KeyboardInterrupt:
            is_stream = any(file.stream for file in corpus.files)
            hint = "--force starts again" if is_stream else "--resume continues after the last finished shard"
            raise KeyboardInterrupt(hint) from None
        finally:
            journal.close()
    return open_shards(folder)


class _Run:
    """One run: reads in the thread that calls it, and encodes and writes in another one."""

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
        self._ended: list[CorpusEntry] = []  # files since the last shard
        self._documents = journal.finished.documents  # of the file that is being encoded
        self._long_documents = 0
        self._text_bytes = sum(shard.text_bytes for shard in journal.finished.shards)

    def write(self) -> ShardIndex:
        """Everything that is not there yet. Raises as `write_shards`."""
        try:
            with _InOrder() as jobs:
                self._read(jobs)
                jobs.do(self._end_shard)
        finally:
            if self._shard is not None:
                self._shard.discard()
        files = (*self._journal.finished.files, *self._ended)
        self._corpus.problems = Problems(
            replaced_bytes=sum(file.replaced_bytes for file in files),
            skipped_documents=sum(file.skipped_documents for file in files),
            long_documents=self._long_documents,
        )
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

    def _read(self, jobs: _InOrder) -> None:
        passed = self._journal.finished.documents
        known_files = len(self._journal.finished.files)
        files = list(zip(self._files, self._plan.files, strict=True))[known_files:]
        is_known = not any(file.stream for file, _ in files)
        total, before = sum(file.size for file, _ in files), 0
        for file, planned in files:
            problems, documents = Problems(), 0
            for texts in self._corpus.texts_of(file, problems, batch=_BATCH_CHARACTERS):
                known = min(max(passed - documents, 0), len(texts))
                documents += len(texts)
                if known < len(texts):
                    jobs.do(self._encode, texts[known:] if known else texts)
                done = before + min(self._corpus.position, file.size) if is_known else self._text_bytes
                self._progress("encoding", done, total if is_known else None, "bytes")
            before += file.size
            self._corpus.position = 0
            self._long_documents += problems.long_documents
            entry = CorpusEntry(
                name=planned.name,
                bytes=planned.bytes,
                sample=planned.sample,
                documents=documents,
                replaced_bytes=problems.replaced_bytes,
                skipped_documents=problems.skipped_documents,
            )
            jobs.do(self._end_file, entry)
            passed = 0

    # --- in the thread that encodes -----------------------------------------------------------

    def _encode(self, texts: list[str]) -> None:
        """Some documents into this shard, and into further ones as each is full."""
        if self._chat is not None:
            self._encode_conversations(texts, self._chat)
            return
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

    def _encode_conversations(self, texts: list[str], chat: ConversationEncoder) -> None:
        """The same of conversations; in rows, one that does not fit into the rest of a row begins the next one."""
        encoded, mask = chat.encode(texts, first=self._documents, threads=self._threads)
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
            num_bytes = len(texts[number].encode())
            shard.add(ids[start:stop], np.array([size], np.int64), num_bytes, mask=mask[start:stop])
            self._text_bytes += num_bytes
            self._documents += 1

    def _open_shard(self) -> ShardFile:
        if self._shard is None:
            self._shard = ShardFile(self._folder, self._plan, len(self._journal.finished.shards))
        return self._shard

    def _with_eos(self, encoded: Encoded) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The ids as they are written, and where each document ends."""
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
    """The bytes of texts as UTF-8, without a step of Python for each."""
    wide = list(filterfalse(str.isascii, texts))
    return sum(map(len, texts)) - sum(map(len, wide)) + sum(map(len, map(str.encode, wide)))


class _InOrder:
    """Runs jobs in one other thread, one after another, and only a few ahead of the thread that gives them.

    Once one fails, none is run any more, and the next that is given raises its error.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._pending: deque[Future[None]] = deque()
        self._stopped = False

    def __enter__(self) -> _InOrder:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            while kind is None and self._pending:
                self._pending.popleft().result()
        finally:
            self._stopped = True
            self._pool.shutdown(wait=True, cancel_futures=True)

    def do(self, job: Callable[..., None], *arguments: Any) -> None:
        """Give a job; waits while too many are waiting."""
        while len(self._pending) > _BATCHES_AHEAD:
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


# --- the folder -------------------------------------------------------------------------------


def _check_folder(folder: Path, *, resume: bool, overwrite: bool) -> None:
    """Refuse a place where something would be lost. Raises `StoreError`."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise StoreError(f"{folder} is a file", hint="--out names a folder")
    names = {path.name for path in folder.iterdir()}
    own = {name for name in names if OWN_FILE.fullmatch(name)} | ({INDEX_NAME, JOURNAL_NAME} & names)
    if strangers := sorted(names - own):
        more = f" and {len(strangers) - 1} more" if len(strangers) > 1 else ""
        raise StoreError(
            f"{folder} holds {strangers[0]}{more}, which is not a shard",
            hint="name another folder with --out",
        )
    if overwrite or not own or (resume and {INDEX_NAME, JOURNAL_NAME} & own):
        return
    if JOURNAL_NAME in own and INDEX_NAME not in own:
        raise StoreError(
            f"{folder} holds an interrupted run", hint="--resume continues it, --force starts again"
        )
    raise StoreError(f"{folder} exists", hint="--force replaces it; --out names another folder")


def _clear(folder: Path, *, keep: list[ShardEntry]) -> None:
    """Delete what an earlier run left, but for shards that are whole."""
    kept = {name for shard in keep for name in shard.sums}
    for path in list(folder.iterdir()):
        if OWN_FILE.fullmatch(path.name) and path.name not in kept:
            path.unlink()


def _finished_before(folder: Path, plan: Plan, *, progress: Progress) -> Shards:
    """The shards of a run that came to its end, if it was this one and they are what it wrote."""
    shards = open_shards(folder)
    refuse_other_plan(shards.index.to_json(), plan.to_json())
    done = 0
    for shard in shards.index.shards:
        progress("checking", done, shards.tokens, "tokens")
        for name, recorded in shard.sums.items():
            if sha256_of(folder / name) != recorded:
                raise ModelFormatError(
                    folder / name, f"the sha256 {recorded[:8]}…", "another one", hint="--force encodes again"
                )
        done += shard.tokens
    (folder / JOURNAL_NAME).unlink(missing_ok=True)
    return shards


def _refuse_streams(corpus: Corpus) -> None:
    for file in corpus.files:
        if file.stream:
            raise CorpusError(
                f"{file.name} cannot be read again, so this run cannot be resumed",
                hint="save it to a file and name that, with --force",
            )


@contextmanager
def _errors_named(folder: Path) -> Iterator[None]:
    """What the system says while writing, as an error that tells how to go on. Raises `StoreError`."""
    try:
        yield
    except OSError as error:
        hint = "finished shards are kept: free some space and continue with --resume, or name another folder with --out"
        raise StoreError(f"{folder} was not finished: {error.strerror or error}", hint=hint) from error
