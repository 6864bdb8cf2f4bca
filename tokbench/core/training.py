"""What training shares among backends: its documents, their identity, and why it ends early."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

from tokbench.core.base import utf8
from tokbench.core.documents import ByteDocuments
from tokbench.core.progress import files_read, reading_of, total_for
from tokbench.errors import CorpusError, TrainingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokbench.core.documents import ByteSource, TextIdentity
    from tokbench.core.progress import Progress

CountProgress = Callable[[int], None]
"""Told now and then how many bytes, merges or pieces are done."""
_BATCH_CHARACTERS = 1 << 20

DEFAULT_WORDS = 32_768
"""Tokens of a vocabulary of whole words, which any text could fill."""

_SMALLEST = 512
_WORDS_FOR_AN_ENTRY = 8


def refuse_one_text(documents: object) -> None:
    """Raise `TrainingError` for a text where documents are needed: its characters would be taken for them."""
    if isinstance(documents, str | bytes):
        raise TrainingError(
            "documents is one text, where an iterable of texts is needed",
            hint="pass [text], or open_corpus(path)",
        )


def identity_of(documents: object) -> Callable[[], TextIdentity] | None:
    """What identifies documents once they were read; None for those that cannot tell which they are.

    >>> identity_of(["a", "b"]) is None
    True
    """
    return documents.identity if isinstance(documents, ByteDocuments) else None


def early_end(reason: str, *, learned: int, wanted: int, unit: str = "tokens") -> str | None:
    """Why a training ended before it had learned what was wanted; None where it did not.

    Args:
        reason: what the text has no more of.
        learned: how many it learned.
        wanted: how many were asked for.
        unit: of what.

    >>> early_end("the text has no more words", learned=1_000, wanted=2_000)
    'the text has no more words: 1,000 of 2,000 tokens were learned'
    """
    return None if learned >= wanted else f"{reason}: {learned:,} of {wanted:,} {unit} were learned"


class SourceCounter(Protocol):
    """A counter that takes UTF-8 as it stands in files."""

    def add_file(self, fd: int, documents: str, progress: CountProgress | None) -> int:
        """A source read from a file descriptor; its bytes."""

    def begin_source(self, documents: str) -> None:
        """A source begins, whose documents are "file" (one) or "lines"."""

    def feed(self, block: bytes) -> None:
        """The next bytes of the source."""

    def end_source(self) -> None:
        """The source is complete."""

    def finish(self) -> None:
        """End the counting; nothing is added afterwards."""

    @property
    def invalid(self) -> tuple[int, int] | None:
        """(number of the source, byte offset) of the first place that is not UTF-8."""


class DocumentCounter(SourceCounter, Protocol):
    """One that takes strings, too."""

    def add_texts(self, texts: list[str]) -> None:
        """Whole documents. Raises UnicodeEncodeError for lone surrogates."""

    @property
    def documents(self) -> int:
        """The number of documents that are not empty."""

    @property
    def num_bytes(self) -> int:
        """The number of their bytes."""


def count_sources(
    counter: SourceCounter, documents: ByteDocuments, *, progress: Progress, phase: str = "counting"
) -> None:
    """Pass documents to a counter as bytes, and wait until all are counted.

    Args:
        counter: takes them.
        documents: read once.
        progress: called with how far they are read.
        phase: the name of the phase to report.

    Raises:
        CorpusError: a file that cannot be read, or is not UTF-8.
        TrainingError: the text is too much for the counter.
    """
    done = 0

    def report(size: int, *, in_place: bool) -> None:
        position, total = files_read(documents) or (done, documents.num_bytes)
        # `files_read` does not know of files that the kernel reads itself, nor of what comes from elsewhere.
        if in_place or files_read(documents) is None:
            position += size
        progress(phase, position, total_for(position, total), "bytes")

    for source in documents.byte_sources():  # each is opened when the one before has been read
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
            utf8(text)  # raises with the position in the text itself
        raise


def batches(documents: Iterable[str], *, progress: Progress, phase: str = "counting") -> Iterator[list[str]]:
    """Documents in lists of about a million characters; each list is reported once it has been used.

    Raises:
        TrainingError: a document is not a string.
        TextError: one has no UTF-8 form.
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
    """Raise `TrainingError` for a text with more, or longer, words than the kernel can number."""
    try:
        yield
    except ValueError as error:
        raise TrainingError(
            f"the text is too large for the kernel: {error}",
            hint="a word of 2 GiB is hardly text: leave its file out; if there are too many words, "
            "`tokbench count-words --min-count 2` leaves out the rarest",
        ) from None


def _count_source(counter: SourceCounter, source: ByteSource, *, progress: CountProgress) -> int:
    """Hand a source to the counter, a plain file to be read by the kernel; its bytes."""
    if source.path is not None:
        try:
            with source.path.open("rb", buffering=0) as file:
                return counter.add_file(file.fileno(), source.documents, progress)
        except OSError as error:
            raise CorpusError(f"{source.name} cannot be read: {error.strerror or error}") from None
    size = 0
    counter.begin_source(source.documents)
    for block in source.blocks or ():  # the next one is read, or decompressed, while workers count this one
        counter.feed(block)
        size += len(block)
        progress(size)
    counter.end_source()
    return size


def _check_utf8(counter: SourceCounter, documents: ByteDocuments) -> None:
    """Raise for a source that is not UTF-8: reading the documents as strings again names the line and the file."""
    if counter.invalid is not None:
        deque(documents, maxlen=0)
        raise CorpusError(f"a text is not UTF-8 at byte {counter.invalid[1]}", hint="was it being written?")


def fitted_size(distinct_words: int, *, reserved: int = 0, largest: int = 65_536) -> int:
    """A vocabulary size that fits a text: about one token for eight distinct words, as a power of two.

    A token worth having serves several words: on the bundled text and on 100 MB of web text, larger vocabularies
    spend most of their last tokens on single words.

    Args:
        distinct_words: distinct words, or pre-tokens, of the text.
        reserved: tokens that are there in any case, as the characters of the text; a tenth of them more must fit.
        largest: the largest size, a power of two; 512 is the smallest.

    >>> fitted_size(300_000), fitted_size(30_000, reserved=3_000)
    (32768, 8192)
    """
    sizes = [1 << power for power in range(_SMALLEST.bit_length() - 1, largest.bit_length())]
    wanted = reserved + distinct_words / _WORDS_FOR_AN_ENTRY
    nearest = min(sizes, key=lambda size: abs(size - wanted))
    return nearest if nearest >= reserved * 1.1 else nearest * 2
