"""Documents: the texts of a corpus; the options for dividing files and grouping; and the sides of a split corpus.

The bytes of a document alone decide whether it is held out.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Literal, get_args

from tokbench.core.wording import meant, shortened
from tokbench.errors import ConfigError, CorpusError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


DocumentUnit = Literal["file", "lines", "paragraphs"]
"""What a document of a text file is."""

ErrorPolicy = Literal["strict", "replace", "skip"]
"""The handling of bytes that are not UTF-8: raise an error, replace them by U+FFFD, or skip the document.

"skip" also skips records without a text and documents that are too long.
"""

WAYS = ("auto", "path", "script", "extension")
"""The ways of grouping documents, besides a field of their records."""

_FIELD = "field:"

MAX_DOCUMENT_BYTES = 256 << 20
"""The default limit of a document: some commands take several times its size in memory."""

MOST_DOCUMENT_BYTES = 2 << 30
"""The largest limit that may be requested: positions in a batch of texts have 32 bits."""

TOO_LONG = "\udfff"
"""A placeholder for a document to skip: like a document that is not UTF-8, it has no UTF-8 form."""

_MOST_UTF8_BYTES = 4  # of a character

MOST_KEPT_BYTES = 256 << 20
"""The most memory that kept documents may take."""

_DOCUMENT_BYTES = 256
"""The approximate memory of a document besides its text."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text of a corpus.

    Attributes:
        text: never empty.
        group: a language, script, extension or other group, as the corpus is grouped.
        source: its name in messages: "docs/a.txt", or "data.jsonl:17" for a part of a file, by its first line
            or its row.
        unit: what is sampled as a whole: the file that it was cut from, with its other parts; None if the
            document is sampled by itself.
        is_code: whether it is program code, of which only identifiers are counted.
        place: the index of its file in the corpus and the number of its row or first byte there, independent of how
            the corpus is divided into parts; None for a text from elsewhere. For lines and paragraphs only the file
            is known.
    """

    text: str
    group: str
    source: str
    unit: str | None = None
    is_code: bool = False
    place: tuple[int, int] | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """Return a short form, however long the text is."""
        return f"<document {self.source}, {self.group}: {shortened(self.text)}>"


@dataclass(frozen=True, slots=True)
class Bound:
    """The maximum size of a document, and how a longer one is handled.

    Attributes:
        num_bytes: the limit in UTF-8 bytes.
        name: the name of the file in messages.
        errors: under "skip" a document that is too long is skipped, else it is an error.
    """

    num_bytes: int
    name: str
    errors: ErrorPolicy

    def holds(self, text: str) -> bool:
        """Whether a text is short enough."""
        return len(text) * _MOST_UTF8_BYTES <= self.num_bytes or utf8_size(text) <= self.num_bytes

    def checked(self, lines: list[str], number: int) -> list[str]:
        """Return lines, beginning at line `number`, with `TOO_LONG` in place of too long ones. Raises `CorpusError`."""
        if sum(map(len, lines)) * _MOST_UTF8_BYTES <= self.num_bytes:
            return lines
        return [
            line if line == TOO_LONG or self.holds(line) else self.too_long(position)
            for position, line in enumerate(lines, number)
        ]

    def too_long(self, number: int | None) -> str:
        """Return the placeholder for a document that begins at a line, or is the file. Raises `CorpusError`."""
        where = self.name if number is None else f"{self.name}:{number}"
        if self.errors != "skip":
            raise CorpusError(
                f"{where}: a document of more than {self.num_bytes:,} bytes",
                hint="--max-document-bytes (max_document_bytes=) raises the limit; --documents lines "
                "splits the text into smaller ones, --errors skip leaves it out",
            )
        return TOO_LONG


def utf8_size(text: str) -> int:
    r"""Return the UTF-8 size of a text; a lone surrogate, which represents a bad byte, counts as three bytes.

    >>> utf8_size("aé"), utf8_size(b"a\xff".decode(errors="surrogateescape"))
    (3, 4)
    """
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def bounded_blocks(blocks: Iterable[bytes], bound: Bound, *, lines: bool) -> Iterator[bytes]:
    """Yield blocks unchanged while no document (a line, or the text) is too long. Raises `CorpusError`."""
    pending = number = 0  # bytes of the unfinished line, or of the text; number of lines before it
    for block in blocks:
        if not lines:
            pending += len(block)
        else:
            if pending + len(block) > bound.num_bytes:
                _check_lines(block, pending, number, bound)
            number += block.count(b"\n")
            pending = len(block) - 1 - block.rfind(b"\n") if b"\n" in block else pending + len(block)
        if pending > bound.num_bytes + lines:  # a line may still be short enough without its "\r"
            bound.too_long(number + 1 if lines else None)
        yield block
    if pending > bound.num_bytes:
        bound.too_long(number + 1 if lines else None)


def _check_lines(block: bytes, pending: int, number: int, bound: Bound) -> None:
    """Check each line that ends in a block; the first may have begun in an earlier block."""
    *ended, _ = block.split(b"\n")
    for position, line in enumerate(ended, number + 1):
        if pending + len(line.removesuffix(b"\r")) > bound.num_bytes:
            bound.too_long(position)
        pending = 0


@dataclass(frozen=True, slots=True)
class CorpusOptions:
    """How the files of a corpus are read; see `open_corpus`."""

    documents: DocumentUnit = "file"
    text_field: str | tuple[str, ...] = "text"
    group_by: str = "auto"
    errors: ErrorPolicy = "strict"
    max_document_bytes: int = MAX_DOCUMENT_BYTES

    def __post_init__(self) -> None:
        _check_choice("documents", self.documents, get_args(DocumentUnit))
        _check_choice("errors", self.errors, get_args(ErrorPolicy))
        check_group_by(self.group_by)
        if not self.text_fields:
            raise ConfigError("there is no field to read texts from", hint='name one, as text_field="text"')
        if not isinstance(self.max_document_bytes, int):
            raise ConfigError(
                f"max_document_bytes is {self.max_document_bytes!r:.40}, where a number is needed"
            )
        if not 1 <= self.max_document_bytes <= MOST_DOCUMENT_BYTES:
            raise ConfigError(
                f"max_document_bytes must be between 1 byte and {MOST_DOCUMENT_BYTES >> 30} GiB, "
                f"and is {self.max_document_bytes}",
                hint="--max-document-bytes 256MiB is the default",
            )

    @property
    def text_fields(self) -> tuple[str, ...]:
        """The fields of a record that form its text, without duplicates."""
        fields = (self.text_field,) if isinstance(self.text_field, str) else self.text_field
        return tuple(dict.fromkeys(fields))

    @property
    def group_field(self) -> str | None:
        """The field of a record that contains its group; None where groups do not come from a field."""
        return group_field(self.group_by)


def _check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(
            f"unknown {option} {value!r}", hint=meant(value, choices, otherwise=f"choose {{}} (--{option})")
        )


def check_group_by(group_by: str) -> None:
    """Raise `ConfigError` for an unknown way of grouping."""
    if group_by not in WAYS and not group_field(group_by):
        raise ConfigError(
            f"unknown way of grouping {group_by!r}",
            hint=meant(group_by, WAYS, otherwise="choose {} or field:NAME (--group-by)"),
        )


def group_field(group_by: str) -> str | None:
    """Return the field that contains the group, or None if groups do not come from a field.

    >>> group_field("field:lang"), group_field("auto")
    ('lang', None)
    """
    return group_by.removeprefix(_FIELD) if group_by.startswith(_FIELD) else None


def no_group(field: str) -> str:
    """Return the group of documents without the field that determines groups.

    >>> no_group("lang")
    '(no lang)'
    """
    return f"(no {field})"


class DocumentMemory:
    """Keeps the documents of the first complete pass; larger corpora are read again each time."""

    def __init__(self, *, most_bytes: int = MOST_KEPT_BYTES) -> None:
        """Start empty, and never keep more than `most_bytes` of memory."""
        self._most_bytes = most_bytes
        self._kept: list[Document] | None = None
        self._has_room = True

    def documents(self, read: Callable[[], Iterator[Document]]) -> Iterator[Document]:
        """Yield the documents that `read` gives, from memory if they are kept."""
        if self._kept is not None:
            return iter(self._kept)
        return self._keeping(read()) if self._has_room else read()

    def _keeping(self, documents: Iterator[Document]) -> Iterator[Document]:
        kept: list[Document] = []
        num_bytes = 0
        for document in documents:
            num_bytes += sys.getsizeof(document.text) + _DOCUMENT_BYTES
            if num_bytes <= self._most_bytes:
                kept.append(document)
            elif self._has_room:
                self._has_room = False
                kept.clear()
            yield document
        if self._has_room:
            self._kept = kept


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a split: documents whose keyed hash is below the threshold are held out."""

    key: bytes
    threshold: int
    held_out: bool

    def has(self, text: str) -> bool:
        """Whether a document is on this side."""
        digest = blake2b(text.encode(), digest_size=8, key=self.key).digest()
        return (int.from_bytes(digest, "big") < self.threshold) == self.held_out


def sides_of(held_out: float, *, key: str) -> tuple[Side, Side]:
    """Return the training side and the held-out side.

    Args:
        held_out: the approximate share of documents to hold out.
        key: determines the split; another key gives another split.

    Raises:
        ConfigError: `held_out` is not between 0 and 1.

    >>> training, held_out = sides_of(0.5, key="0:0")
    >>> training.has("a text"), held_out.has("a text")
    (True, False)
    """
    if not 0 < held_out < 1:
        raise ConfigError(
            f"held_out={held_out} is not a share", hint="choose one between 0 and 1, such as 0.1"
        )
    digest, threshold = sha256(key.encode()).digest(), int(held_out * (1 << 64))
    return Side(digest, threshold, held_out=False), Side(digest, threshold, held_out=True)
