"""A corpus: documents that are read from files each time they are iterated over."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from tokbench.core.documents import ByteSource, TextIdentity
from tokbench.core.wording import counted, first_of
from tokbench.corpus.bytes import bounds_in, head_of, line_ends_counted, packed, read_blocks
from tokbench.corpus.document import (
    MOST_KEPT_BYTES,
    Bound,
    Document,
    DocumentMemory,
    bounded_blocks,
    no_group,
    sides_of,
)
from tokbench.corpus.fingerprint import Fingerprint, Lines
from tokbench.corpus.groups import file_group, is_code_file, is_code_name, is_translation
from tokbench.corpus.jsonl import jsonl_records
from tokbench.corpus.no_document import no_document
from tokbench.corpus.parquet import parquet_records
from tokbench.corpus.records import Record, RecordFields
from tokbench.corpus.scripts import script_of
from tokbench.corpus.text import (
    OtherEncodingError,
    Problems,
    Utf8Stream,
    decoded,
    line_batches,
    mark_length,
    text_documents,
    utf8_stream,
)
from tokbench.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokbench.corpus.document import CorpusOptions, Side
    from tokbench.corpus.files import CorpusFile, LeftOut

_T = TypeVar("_T")


@dataclass(slots=True, eq=False)
class Corpus:
    """Documents that are read from files each time they are iterated over, never all in memory.

    Every way of reading ends with a `CorpusError` if there was no document. Standard input and pipes can be read only
    once.

    Attributes:
        files: the files it reads, sorted by name.
        options: how it reads them.
        left_out: the files in the named folders that it does not read.
        problems: the problems that the latest reading skipped or replaced.
        position: the position in the file that is being read, in bytes on disk; for progress.
        on_block: called for each block that is read from a file; for progress within a long document.
        line_ends: the number of line ends of each file part, by name, in the latest reading; None if not requested.
    """

    files: tuple[CorpusFile, ...]
    options: CorpusOptions = field(kw_only=True)
    left_out: LeftOut = field(kw_only=True)
    problems: Problems = field(default_factory=Problems, init=False)
    position: int = field(default=0, init=False)
    on_block: Callable[[], None] | None = field(default=None, init=False, repr=False)
    line_ends: dict[str, int] | None = field(default=None, init=False, repr=False)
    _memory: DocumentMemory | None = field(default=None, init=False, repr=False)
    _bytes_before: int = field(default=0, init=False, repr=False)
    _sides: tuple[Side, ...] = field(default=(), kw_only=True, repr=False)
    _streams_read: set[str] = field(default_factory=set, kw_only=True, repr=False)

    def __repr__(self) -> str:
        """Return a short form: its files, their size, and whether it is one side of a split."""
        names = first_of([file.name for file in self.files])
        part = (
            ""
            if not self._sides
            else "held-out part of a "
            if self._sides[-1].held_out
            else "training part of a "
        )
        return f"<{part}corpus of {counted(len(self.files), 'file')}, {counted(self.num_bytes, 'byte')}: {names}>"

    @property
    def num_bytes(self) -> int:
        """The size of its files on disk, including both sides of a split."""
        return sum(file.size for file in self.files)

    @property
    def text_bytes(self) -> int | None:
        """The approximate size of its text, if known before reading: for plain text files that are not split."""
        is_plain = all(
            file.kind == "text" and file.compression is None and not file.stream for file in self.files
        )
        return self.num_bytes if is_plain and not self._sides else None

    @property
    def files_read(self) -> tuple[int, int] | None:
        """The bytes on disk that the latest reading has read, and those of all files; None if a file is a stream."""
        if any(file.stream for file in self.files):
            return None
        return min(self._bytes_before + self.position, self.num_bytes), self.num_bytes

    def __iter__(self) -> Iterator[str]:
        """Yield the texts. Raises `CorpusError` for a text that cannot be read."""
        problems = self._begin()
        texts = (some for file in self._files_in_order() for some in self._text_batches(file, problems))
        return self._at_least_one(chain.from_iterable(texts))

    def documents(self) -> Iterator[Document]:
        """Yield the texts with their groups and sources. Raises `CorpusError` for a text that cannot be read."""
        return (
            self._read_documents() if self._memory is None else self._memory.documents(self._read_documents)
        )

    @contextmanager
    def in_memory(self, *, most_bytes: int = MOST_KEPT_BYTES) -> Iterator[None]:
        """Within the block, keep the documents after the first pass, so that `documents` does not read them again.

        Args:
            most_bytes: the memory limit; a larger corpus is not kept. Nor are documents of streams, since whether they
                can be read again must not depend on their size.
        """
        if self._memory is not None or any(file.stream for file in self.files):
            yield
            return
        self._memory = DocumentMemory(most_bytes=most_bytes)
        try:
            yield
        finally:
            self._memory = None

    def _read_documents(self) -> Iterator[Document]:
        problems = self._begin()
        return self._at_least_one(
            document
            for position, file in enumerate(self._files_in_order())
            for document in self._documents_of(
                file, position if file.number is None else file.number, problems
            )
        )

    def texts_of(self, file: CorpusFile, problems: Problems, *, batch: int) -> Iterator[list[str]]:
        """Yield the texts of one of its files in order, in lists of about `batch` characters.

        For readers that must know their position: over all files, the texts are those that iteration yields. A batch
        of lines takes no Python work per line.
        """
        texts: list[str] = []
        characters = 0
        for some in self._text_batches(file, problems):
            texts += some
            characters += sum(map(len, some))
            if characters >= batch:
                yield texts
                texts, characters = [], 0
        if texts:
            yield texts

    def numbered_texts(self, file: CorpusFile, problems: Problems) -> Iterator[tuple[int, str]]:
        """Yield the texts of one of its files in order, each with the number of its first line or its row."""
        return ((record.number, record.text) for record in self._read(file, problems))

    def byte_sources(self) -> Iterator[ByteSource]:
        """Yield the same documents in the same order as UTF-8, for backends that read bytes.

        A plain text file that needs no conversion is passed by its path, unchecked and possibly without a document;
        all other text as blocks of valid UTF-8 without a byte order mark, which must be used before the next source is
        requested.
        """
        problems = self._begin()
        return self._at_least_one(
            source for file in self._files_in_order() for source in self._byte_sources_of(file, problems)
        )

    def text_blocks(self) -> Iterator[tuple[str, Iterator[str], bool]]:
        """Yield each file's name and its text in blocks, however long it is; for records, one text per block.

        Yields:
            The name; the blocks, which must be used before the next file is requested; and whether they are parts of
            one text. Bytes that are not UTF-8 are treated as the options say.
        """
        problems = self._begin()
        for file in self._files_in_order():
            if self._reads_as_blocks(file):
                with self._opened(file) as stream:
                    yield file.name, decoded(stream, errors=self.options.errors, problems=problems), True
            else:
                yield file.name, (record.text for record in self._read(file, problems)), False

    def parallel_groups(self) -> frozenset[str]:
        """Return the groups whose files are in a folder of translations: `parallel`, or one named `parallel_…`."""
        return frozenset(
            group
            for file in self.files
            if is_translation(file) and (group := file_group(file, self.options.group_by)) is not None
        )

    def fingerprint(self) -> str:
        """Return the fingerprint of the documents in any order; see `Fingerprint`. Reads the whole corpus."""
        fingerprint = Fingerprint()
        self._count(fingerprint, None)
        return fingerprint.hexdigest()

    def identity(self) -> TextIdentity:
        """Return the identity of the documents and lines; see `Fingerprint` and `Lines`. Reads the whole corpus."""
        fingerprint, lines = Fingerprint(), Lines()
        self._count(fingerprint, lines)
        return replace(fingerprint.identity(), lines=lines.identity())

    def _count(self, fingerprint: Fingerprint, lines: Lines | None) -> None:
        problems = self._begin()
        for file in self.files:
            if self.options.documents == "file" and self._reads_as_blocks(file):
                blocks = self._utf8_blocks(file, problems)
                fingerprint.update_blocks(blocks if lines is None else lines.watch_blocks(blocks))
                continue
            for record in self._read(file, problems):
                fingerprint.update(record.text)
                if lines is not None:
                    lines.update(record.text)
        if not fingerprint.documents:
            raise self.no_document()

    def split(self, held_out: float = 0.1, *, seed: int = 0) -> tuple[Corpus, Corpus]:
        """Split into two corpora without a common text: one to train on, and a held-out one of about that share.

        A document's bytes and the seed alone decide its side, so neither the order of documents nor their files matter,
        and equal documents stay together.
        """
        # A second split must differ from the first, even with the same seed.
        training, rest = sides_of(held_out, key=f"{len(self._sides)}:{seed}")
        return self._part(training), self._part(rest)

    def _part(self, side: Side) -> Corpus:
        return Corpus(
            self.files,
            options=self.options,
            left_out=self.left_out,
            _sides=(*self._sides, side),
            _streams_read=self._streams_read,
        )

    def _begin(self) -> Problems:
        self.problems = Problems()
        return self.problems

    def _files_in_order(self) -> Iterator[CorpusFile]:
        """Yield its files; each is read before the next is requested."""
        self._bytes_before = 0
        for file in self.files:
            self.position = 0
            yield file
            self._bytes_before += file.size
        self.position = 0

    def _at_least_one(self, items: Iterator[_T]) -> Iterator[_T]:
        for first in items:
            yield first
            yield from items
            return
        raise self.no_document()

    def no_document(self) -> CorpusError:
        """Return the error for a corpus without a document, which ends every way of reading."""
        return no_document(self.files, self.problems, self._sides[-1] if self._sides else None)

    def _text_batches(self, file: CorpusFile, problems: Problems) -> Iterator[Sequence[str]]:
        errors = self.options.errors
        if file.kind == "text" and self.options.documents == "lines" and errors != "skip" and not self._sides:
            with self._opened(file) as stream:
                bound = self._bound(file)
                yield from line_batches(decoded(stream, errors=errors, problems=problems), bound=bound)
        else:
            for record in self._read(file, problems):
                yield (record.text,)

    def _documents_of(self, file: CorpusFile, file_number: int, problems: Problems) -> Iterator[Document]:
        group_of_file = file_group(file, self.options.group_by)
        is_one = file.kind == "text" and self.options.documents == "file"
        unit = file.name if file.kind == "text" and not is_one else None
        is_code = is_code_file(file)
        field = self.options.group_field
        for number, text, group_of_record, place in self._read(file, problems):
            group = group_of_file if group_of_record is None else group_of_record
            if field is not None and group_of_record is None:
                group = problems.group = no_group(field)
                problems.ungrouped_documents += 1
            source = file.name if is_one else f"{file.name}:{number}"
            is_named_code = is_code or (group_of_record is not None and is_code_name(group_of_record))
            group = script_of(text) if group is None else group
            yield Document(text, group, source, unit, is_named_code, (file_number, place))

    def _read(self, file: CorpusFile, problems: Problems) -> Iterator[Record]:
        """Yield a file's documents that are on this side of all splits."""
        sides = self._sides
        try:
            for record in self._read_all(file, problems):
                text = record.text
                if text and (not sides or all(side.has(text) for side in sides)):
                    yield record
        except OtherEncodingError:
            if self.options.errors != "skip":
                raise
            problems.skipped_documents += file.span is None or file.span.start == 0  # once for all its parts

    def _read_all(self, file: CorpusFile, problems: Problems) -> Iterator[Record]:
        errors, most = self.options.errors, self.options.max_document_bytes
        fields = RecordFields(self.options.text_fields, self.options.group_field)
        match file.kind:
            case "parquet":
                yield from parquet_records(
                    file, fields, errors=errors, problems=problems, max_bytes=most, tell=self._report_position
                )
            case "jsonl":
                with self._opened(file) as stream:
                    yield from jsonl_records(stream, fields, errors=errors, problems=problems, max_bytes=most)
            case "text":
                unit = self.options.documents
                with self._opened(file) as stream:
                    for number, text in text_documents(
                        stream, unit, errors=errors, problems=problems, max_bytes=most
                    ):
                        yield Record(number, text, None)

    @contextmanager
    def _opened(self, file: CorpusFile) -> Iterator[Utf8Stream]:
        if file.stream:
            if file.name in self._streams_read:
                raise CorpusError(
                    f"{file.name} can be read only once", hint="save it to a file and name that"
                )
            self._streams_read.add(file.name)
        with closing(read_blocks(file, tell=self._report_position)) as blocks:
            if file.span is None:
                yield utf8_stream(file.name, blocks)
                return
            part = blocks if (ends := self.line_ends) is None else line_ends_counted(blocks, ends, file.name)
            if file.span.start > 0:
                if self.options.errors == "skip":  # otherwise the first part raises
                    mark_length(file.name, head_of(file))
                yield Utf8Stream(file.name, bounds_in(file)[0], b"", part)
            else:
                yield utf8_stream(file.name, part)

    def _report_position(self, position: int) -> None:
        self.position = position
        if self.on_block is not None:
            self.on_block()

    def _reads_as_blocks(self, file: CorpusFile) -> bool:
        """Whether the corpus contains all of a file, so that its documents need not be looked at."""
        if self.options.documents == "paragraphs":  # their lines are joined again
            return False
        return file.kind == "text" and self.options.errors != "skip" and not self._sides

    def _utf8_blocks(self, file: CorpusFile, problems: Problems) -> Iterator[bytes]:
        with self._opened(file) as stream:
            texts = decoded(stream, errors=self.options.errors, problems=problems)
            blocks: Iterator[bytes] = (text.encode() for text in texts)
            if (
                file.compression is not None or file.stream
            ):  # else the text has at most as many bytes as the file
                is_lines = self.options.documents == "lines"
                blocks = bounded_blocks(blocks, self._bound(file), lines=is_lines)
            yield from blocks

    def _bound(self, file: CorpusFile) -> Bound:
        return Bound(self.options.max_document_bytes, file.name, self.options.errors)

    def _byte_sources_of(self, file: CorpusFile, problems: Problems) -> Iterator[ByteSource]:
        unit = self.options.documents
        if not self._reads_as_blocks(file):
            yield from packed(file.name, (record.text for record in self._read(file, problems)))
        elif file.span is not None and self.options.errors == "strict":
            with self._opened(file) as stream:  # the counter detects bytes that are not UTF-8
                yield ByteSource(file.name, None, stream.blocks, unit)
        elif not self._is_plain(file):
            yield ByteSource(file.name, None, self._utf8_blocks(file, problems), unit)
        elif file.size:
            yield ByteSource(file.name, file.path, None, unit, size=file.size)

    def _is_plain(self, file: CorpusFile) -> bool:
        """Whether a file's bytes are its text unchanged, as far as that is known without reading it."""
        if (
            self.options.errors != "strict"
            or file.compression is not None
            or file.stream
            or file.url
            or file.span
        ):
            return False
        return mark_length(file.name, head_of(file)) == 0
