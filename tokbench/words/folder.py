r"""A folder of counted words: its layout, and its index, written and parsed strictly.

    words.json             the index; written last, so that a folder with it is complete
    words-00000.parquet    pretoken (bytes) and count, sorted by bytes, each word once
    words-00001.parquet    …

Words are divided among the files by their hashes (`tokbench.core.counted_words`), and the number of files depends only
on the size of the text: however it was counted, the files are the same. The index contains no time or machine.

    schema       "tokbench.words/1"
    counting     all settings that the counts depend on: backend, pattern, normalization, special_tokens,
                 unicode: the version of the tables that split the text, …; null if unknown
    text         how documents were read: documents, text_field, errors; null if unknown
    corpus       the files that were counted: their number, bytes on disk, and identity, which does not depend on their
                 names and order, but for remote files on their versions, so on the store
                 (`tokbench.words.counted_files`); null if unknown
    total        documents (null if unknown), bytes, words: occurrences, too_long: occurrences left out for their
                 length, distinct: the number of distinct words, before any were dropped
    dropped      min_count, and the distinct and words that were dropped for it; null for none
    fingerprint  sha256 of all words and counts
    files        file; number of its words; sha256
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.counted_words import WordTotals
from tokbench.core.json_fields import Fields
from tokbench.errors import ModelFormatError
from tokbench.files.untrusted_json import load_json
from tokbench.words.counted_files import CountedFiles
from tokbench.words.parquet import open_words_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.counted_words import WordArrays
    from tokbench.files.storage.place import Place

INDEX_NAME = "words.json"
SCHEMA = "tokbench.words/1"
OWN_FILE = re.compile(r"words-[0-9]{5}\.parquet")

_MAX_INDEX_BYTES = 1 << 24
_BLOCK_BYTES = 1 << 20
_RESTORE = "the folder was edited or cut: restore it, or count again"


@dataclass(frozen=True, slots=True)
class Dropped:
    """Rare words that were dropped after all counts were added up.

    Attributes:
        min_count: the smallest count that was kept.
        distinct: the number of distinct words that were dropped.
        words: the number of their occurrences.
    """

    min_count: int
    distinct: int
    words: int


@dataclass(frozen=True, slots=True)
class WordsFileEntry:
    """An entry of the index for a file of words."""

    file: str
    words: int
    sha256: str


@dataclass(frozen=True, slots=True)
class WordsIndex:
    """The contents of `words.json`; see the module.

    Attributes:
        counting: all settings that the counts depend on.
        text: how documents were read.
        corpus: the files that were counted.
        totals: the totals of the text.
        distinct: the number of distinct words, before any were dropped.
        dropped: the rare words that were dropped.
        fingerprint: the fingerprint of all words and counts.
        files: the files of words.
    """

    counting: Mapping[str, Any] | None
    text: Mapping[str, Any] | None
    corpus: CountedFiles | None
    totals: WordTotals
    distinct: int
    dropped: Dropped | None
    fingerprint: str
    files: tuple[WordsFileEntry, ...]

    @property
    def kept(self) -> int:
        """The number of distinct words in the files."""
        return self.distinct - (self.dropped.distinct if self.dropped else 0)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of the file."""
        return {
            "schema": SCHEMA,
            "counting": None if self.counting is None else dict(self.counting),
            "text": None if self.text is None else dict(self.text),
            "corpus": None if self.corpus is None else self.corpus.to_json(),
            "total": {
                "documents": self.totals.documents,
                "bytes": self.totals.num_bytes,
                "words": self.totals.words,
                "too_long": self.totals.too_long,
                "distinct": self.distinct,
            },
            "dropped": None if self.dropped is None else asdict(self.dropped),
            "fingerprint": self.fingerprint,
            "files": [asdict(entry) for entry in self.files],
        }

    def dump(self) -> bytes:
        """Return the bytes of the file."""
        return (json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n").encode()


@dataclass(frozen=True, slots=True)
class WordsFolder:
    """A finished folder of words; see `tokbench.core.counted_words.CountedWords`."""

    place: Place
    index: WordsIndex

    @property
    def totals(self) -> WordTotals:
        """The totals of the text from which the words were counted."""
        return self.index.totals

    @property
    def record(self) -> Mapping[str, Any]:
        """The description of the words, and of those that were dropped, for the training record."""
        dropped = self.index.dropped
        return {
            "fingerprint": self.index.fingerprint,
            "distinct": self.index.distinct,
            "dropped": None if dropped is None else asdict(dropped),
        }

    def arrays(self) -> Iterator[WordArrays]:
        """Yield all words in batches. Raises `ModelFormatError` for a file that does not match the index."""
        for entry in self.index.files:
            yield from self.arrays_of(entry)

    def arrays_of(self, entry: WordsFileEntry) -> Iterator[WordArrays]:
        """Yield the words of one file in batches."""
        place = self.place / entry.file
        if sha256_of(place) != entry.sha256:
            raise ModelFormatError(
                str(place), f"the sha256 {entry.sha256[:8]}…", "a different one", hint=_RESTORE
            )
        with open_words_file(place) as file:
            yield from file.arrays()


def open_folder(place: Place) -> WordsFolder:
    """Open a finished folder of words.

    Raises:
        ModelFormatError: its index is damaged.
        OSError: there is no index.
    """
    index = place / INDEX_NAME
    with index.open() as file:
        data = file.read(_MAX_INDEX_BYTES)
    return WordsFolder(place, _index_of(load_json(data, path=str(index), hint=_RESTORE), path=str(index)))


def sha256_of(place: Place) -> str:
    """Return the sha256 of a file, in hexadecimal. Raises `ModelFormatError` if it cannot be read."""
    digest = hashlib.sha256()
    try:
        with place.open() as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
    except OSError as error:
        raise ModelFormatError(
            str(place), "a file of words", error.strerror or str(error), hint=_RESTORE
        ) from None
    return digest.hexdigest()


def fingerprint_of(parts: Sequence[str]) -> str:
    """Return the fingerprint of words from those of their files, in order."""
    return hashlib.sha256("".join(parts).encode()).hexdigest()


class Fingerprints:
    """The fingerprint of the words of one file in their order, independent of the division into batches."""

    def __init__(self) -> None:
        """Start without words."""
        self._digests = [hashlib.sha256() for _ in range(3)]

    def update(self, words: WordArrays) -> None:
        """Add the next words."""
        import numpy as np

        columns = (
            words.data[words.offsets[0] : words.offsets[-1]],
            np.diff(words.offsets).astype("<i8"),
            words.counts.astype("<i8"),
        )
        for digest, column in zip(self._digests, columns, strict=True):
            digest.update(column.tobytes())

    def hexdigest(self) -> str:
        """Return the fingerprint."""
        return fingerprint_of([digest.hexdigest() for digest in self._digests])


def _index_of(value: object, *, path: str) -> WordsIndex:
    fields = Fields.of(value, path=path, hint=_RESTORE)  # type: ignore[arg-type]
    fields.choice("schema", (SCHEMA,))
    total = fields.inner("total")
    files = fields.items("files")
    for file in files:
        if not OWN_FILE.fullmatch(file.text("file")):
            raise file.wrong("file", "a name as words-00000.parquet")
    return WordsIndex(
        counting=fields.optional("counting", fields.json_object),
        text=fields.optional("text", fields.json_object),
        corpus=fields.optional("corpus", lambda name: CountedFiles.read(fields.inner(name))),
        totals=WordTotals(
            documents=total.optional("documents", total.count),
            num_bytes=total.count("bytes"),
            words=total.count("words"),
            too_long=total.count("too_long"),
        ),
        distinct=total.count("distinct"),
        dropped=None if fields.is_null("dropped") else _dropped(fields.inner("dropped")),
        fingerprint=fields.sha256("fingerprint"),
        files=tuple(
            WordsFileEntry(file.text("file"), file.count("words"), file.sha256("sha256")) for file in files
        ),
    )


def _dropped(fields: Fields) -> Dropped:
    return Dropped(fields.count("min_count"), fields.count("distinct"), fields.count("words"))
