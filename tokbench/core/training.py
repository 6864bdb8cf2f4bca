"""What backends share for training: feeding documents to counters, their identity, and the reason for an early end."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from tokbench.core.base import utf8
from tokbench.core.documents import ByteDocuments, refuse_shorter
from tokbench.core.progress import files_read, reading_of, total_for
from tokbench.errors import CorpusError, TrainingError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from tokbench.core.documents import ByteSource, TextIdentity
    from tokbench.core.progress import Progress

CountProgress = Callable[[int], None]
"""Called occasionally with the number of bytes, merges or pieces done."""
_BATCH_CHARACTERS = 1 << 20

DEFAULT_WORDS = 32_768
"""The vocabulary size for whole-word vocabularies, which any text could fill."""

_SMALLEST = 512
_WORDS_PER_TOKEN = 8


def threads_of(config: Any) -> int:
    """Return the number of threads that a backend's configuration asks for, by default one per processor."""
    return config.threads or os.cpu_count() or 1


def refuse_one_text(documents: object) -> None:
    """Raise `TrainingError` for a single text where documents are needed: its characters would count as documents."""
    if isinstance(documents, str | bytes):
        raise TrainingError(
            "documents is one text, where an iterable of texts is needed",
            hint="pass [text], or open_corpus(path)",
        )


def identity_of(documents: object) -> Callable[[], TextIdentity] | None:
    """Return a function that identifies documents after they were read; None for documents without an identity.

    >>> identity_of(["a", "b"]) is None
    True
    """
    return documents.identity if isinstance(documents, ByteDocuments) else None


def no_text(special_tokens: Collection[str] = (), *, only: str = "") -> TrainingError:
    """Return the error for a training without words; special tokens are cut out of the text.

    Args:
        special_tokens: the special tokens that the user asked for.
        only: what else a text without words may consist of, if one was read.

    >>> no_text().hint, no_text(["<a>"]).hint
    ('name files with text', 'name files with text, or leave out --special-token')
    >>> str(no_text(["<a>"], only="white space"))
    'there is no text to train on, only white space or special tokens'
    """
    hint = "name files with text" + (", or leave out --special-token" if special_tokens else "")
    rest = f", only {only}{' or special tokens' if special_tokens else ''}" if only else ""
    return TrainingError(f"there is no text to train on{rest}", hint=hint)


def early_end(reason: str, *, learned: int, wanted: int, unit: str = "tokens") -> str | None:
    """Return the message for a training that learned less than requested; None if it learned everything.

    Args:
        reason: what the text ran out of.
        learned: the number that was learned.
        wanted: the number that was requested.
        unit: what was learned.

    >>> early_end("the text has no more words", learned=1_000, wanted=2_000)
    'the text has no more words: 1,000 of 2,000 tokens were learned'
    """
    return None if learned >= wanted else f"{reason}: {learned:,} of {wanted:,} {unit} were learned"


class SourceCounter(Protocol):
    """A counter that takes UTF-8 as it is in files."""

    def add_file(self, fd: int, documents: str, progress: CountProgress | None) -> int:
        """Add a source that is read from a file descriptor; return its number of bytes."""

    def begin_source(self, documents: str) -> None:
        """Begin a source whose documents are "file" (one) or "lines"."""

    def feed(self, block: bytes) -> None:
        """Add the next bytes of the source."""

    def end_source(self) -> None:
        """End the source."""

    def finish(self) -> None:
        """End the counting; nothing may be added afterwards."""

    @property
    def invalid(self) -> tuple[int, int] | None:
        """(index of the source, byte offset) of the first position that is not UTF-8."""


class DocumentCounter(SourceCounter, Protocol):
    """A `SourceCounter` that takes strings, too."""

    def add_texts(self, texts: list[str]) -> None:
        """Add whole documents. Raises UnicodeEncodeError for lone surrogates."""

    @property
    def documents(self) -> int:
        """The number of documents that are not empty."""

    @property
    def num_bytes(self) -> int:
        """The number of bytes of the documents."""


def count_sources(
    counter: SourceCounter, documents: ByteDocuments, *, progress: Progress, phase: str = "counting"
) -> None:
    """Pass documents to a counter as bytes, and wait until all are counted.

    Args:
        counter: receives the documents.
        documents: read once.
        progress: called with the position in the documents.
        phase: the name of the phase to report.

    Raises:
        CorpusError: a file cannot be read, or is not UTF-8.
        TrainingError: the text is too large for the counter.
    """
    done = 0

    def report(size: int, *, in_place: bool) -> None:
        position, total = files_read(documents) or (done, documents.num_bytes)
        # `files_read` does not count files that the kernel reads itself, nor text from other sources.
        if in_place or files_read(documents) is None:
            position += size
        progress(phase, position, total_for(position, total), "bytes")

    for source in documents.byte_sources():  # each source is opened after the one before has been read
        with limits_reported():
            done += _count_source(counter, source, progress=partial(report, in_place=source.path is not None))
        _check_utf8(counter, documents)
    with limits_reported():
        counter.finish()
    _check_utf8(counter, documents)
    if files_read(documents) is not None:
        report(0, in_place=False)


def count_texts(
    counter: DocumentCounter, texts: list[str], *, normalized: Callable[[str], str] | None = None
) -> None:
    """Pass whole documents to a counter, each after `normalized`. Raises `TextError` for lone surrogates."""
    try:
        counter.add_texts(texts if normalized is None else list(map(normalized, texts)))
    except UnicodeEncodeError:
        for text in texts:
            utf8(text)  # raises with the position in the original text
        raise


def batches(documents: Iterable[str], *, progress: Progress, phase: str = "counting") -> Iterator[list[str]]:
    """Yield documents in lists of about a million characters; report each list after it has been used.

    Raises:
        TrainingError: a document is not a string.
        TextError: a document has no UTF-8 form.
    """
    batch: list[str] = []
    size = done = 0
    read = reading_of(documents)
    for number, text in enumerate(documents):
        if not isinstance(text, str):
            raise TrainingError(f"document {number} is {type(text).__name__}, where a string is needed")
        batch.append(text)
        size += len(text)
        if size >= _BATCH_CHARACTERS:
            yield batch
            done += sum(len(utf8(text)) for text in batch)
            progress(phase, *read(done), "bytes")
            batch, size = [], 0
    if batch:
        yield batch


@contextmanager
def limits_reported() -> Iterator[None]:
    """Raise `TrainingError` for a text with too many, or too long, words for the kernel's word numbers."""
    try:
        yield
    except ValueError as error:
        raise TrainingError(
            f"the text is too large for the kernel: {error}",
            hint="a word of 2 GiB is unlikely to be text: leave its file out; if there are too many words, "
            "`tokbench count-words --min-count 2` leaves out the rarest",
        ) from None


def _count_source(counter: SourceCounter, source: ByteSource, *, progress: CountProgress) -> int:
    """Pass a source to the counter (the kernel reads a plain file itself); return its number of bytes."""
    if source.path is not None:
        try:
            with source.path.open("rb", buffering=0) as file:
                size = counter.add_file(file.fileno(), source.documents, progress)
                refuse_shorter(source.name, file.fileno(), size=source.size)
                return size
        except OSError as error:
            raise CorpusError(f"{source.name} cannot be read: {error.strerror or error}") from None
    size = 0
    counter.begin_source(source.documents)
    for block in source.blocks or ():  # the next block is read, or decompressed, while workers count this one
        counter.feed(block)
        size += len(block)
        progress(size)
    counter.end_source()
    return size


def _check_utf8(counter: SourceCounter, documents: ByteDocuments) -> None:
    """Raise for a source that is not UTF-8; reading the documents as strings names the line and the file."""
    if counter.invalid is not None:
        deque(documents, maxlen=0)
        raise CorpusError(
            f"a text is not UTF-8 at byte {counter.invalid[1]}",
            hint="was its file changed while it was read?",
        )


def fitted_size(distinct_words: int, *, reserved: int = 0, largest: int = 65_536) -> int:
    """Return a vocabulary size that fits a text: about one token for eight distinct words, as a power of two.

    A useful token serves several words: on the bundled text and on 100 MB of web text, larger vocabularies spend most
    of their last tokens on single words.

    Args:
        distinct_words: the number of distinct words, or pre-tokens, of the text.
        reserved: tokens that are always included, such as the characters of the text; the size exceeds them by 10%.
        largest: the largest size, a power of two; 512 is the smallest.

    >>> fitted_size(300_000), fitted_size(30_000, reserved=3_000)
    (32768, 8192)
    """
    sizes = [1 << power for power in range(_SMALLEST.bit_length() - 1, largest.bit_length())]
    wanted = reserved + distinct_words / _WORDS_PER_TOKEN
    nearest = min(sizes, key=lambda size: abs(size - wanted))
    return nearest if nearest >= reserved * 1.1 else nearest * 2
