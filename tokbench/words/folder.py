r"""A folder of counted words: what it looks like, and its index, written and read strictly.

    words.json             what is there; written last, so that a folder with it is whole
    words-00000.parquet    pretoken (bytes) and count, sorted by bytes, each word once
    words-00001.parquet    …

Words are divided among the files by their hashes (`tokbench.core.counted_words`), and how many files there are depends
on the size of the text alone: however it was counted, the files are the same. Nothing in the index is a time or a
machine.

    schema       "tokbench.words/1"
    counting     all that the counts depend on besides the text: backend, pattern, normalization, special_tokens,
                 unicode: the version of the tables that split the text, …; null where that is not known
    text         how documents were read: documents, text_field, errors; null where that is not known
    total        documents (null where that is not known), bytes, words: occurrences, too_long: those left out for
                 their length, distinct: different words, before any were dropped
    dropped      min_count, distinct and words that were left out for it; null for none
    fingerprint  sha256 of all words and counts
    files        file; words in it; sha256
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.counted_words import WordTotals
from tokbench.core.json_fields import Fields
from tokbench.errors import ModelFormatError
from tokbench.files.untrusted import load_json
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
    """Words that were left out because they are rare, after all counts were added up.

    Attributes:
        min_count: the smallest count of those that stayed.
        distinct: how many different ones were left out.
        words: how often they occur.
    """

    min_count: int
    distinct: int
    words: int

    def to_json(self) -> dict[str, int]:
        """As the index has it."""
        return {"min_count": self.min_count, "distinct": self.distinct, "words": self.words}


@dataclass(frozen=True, slots=True)
class WordsFileEntry:
    """A file of words, as the index lists it."""

    file: str
    words: int
    sha256: str


@dataclass(frozen=True, slots=True)
class WordsIndex:
    """The contents of `words.json`; see the module.

    Attributes:
        counting: all that the counts depend on besides the text.
        text: how documents were read.
        totals: what was counted.
        distinct: different words, before any were dropped.
        dropped: what was left out because it is rare.
        fingerprint: of all words and counts.
        files: those that hold them.
    """

    counting: Mapping[str, Any] | None
    text: Mapping[str, Any] | None
    totals: WordTotals
    distinct: int
    dropped: Dropped | None
    fingerprint: str
    files: tuple[WordsFileEntry, ...]

    @property
    def kept(self) -> int:
        """Different words in the files."""
        return self.distinct - (self.dropped.distinct if self.dropped else 0)

    def to_json(self) -> dict[str, Any]:
        """As the file has it."""
        return {
            "schema": SCHEMA,
            "counting": None if self.counting is None else dict(self.counting),
            "text": None if self.text is None else dict(self.text),
            "total": {
                "documents": self.totals.documents,
                "bytes": self.totals.num_bytes,
                "words": self.totals.words,
                "too_long": self.totals.too_long,
                "distinct": self.distinct,
            },
            "dropped": None if self.dropped is None else self.dropped.to_json(),
            "fingerprint": self.fingerprint,
            "files": [
                {"file": entry.file, "words": entry.words, "sha256": entry.sha256} for entry in self.files
            ],
        }

    def dump(self) -> bytes:
        """The bytes of the file."""
        return (json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n").encode()


@dataclass(frozen=True, slots=True)
class WordsFolder:
    """A finished folder of words; see `tokbench.core.counted_words.CountedWords`."""

    place: Place
    index: WordsIndex

    @property
    def totals(self) -> WordTotals:
        """What they were counted from."""
        return self.index.totals

    @property
    def record(self) -> Mapping[str, Any]:
        """Which words these are, and what was left out of them."""
        dropped = self.index.dropped
        return {
            "fingerprint": self.index.fingerprint,
            "distinct": self.index.distinct,
            "dropped": None if dropped is None else dropped.to_json(),
        }

    def arrays(self) -> Iterator[WordArrays]:
        """All of them, in batches. Raises `ModelFormatError` for a file that is not what the index says."""
        for entry in self.index.files:
            yield from self.arrays_of(entry)

    def arrays_of(self, entry: WordsFileEntry) -> Iterator[WordArrays]:
        """The words of one file, in batches."""
        place = self.place / entry.file
        if sha256_of(place) != entry.sha256:
            raise ModelFormatError(
                str(place), f"the sha256 {entry.sha256[:8]}…", "a different one", hint=_RESTORE
            )
        with open_words_file(place) as file:
            yield from file.arrays()


def open_folder(place: Place) -> WordsFolder:
    """A finished folder of words.

    Raises:
        ModelFormatError: its index is damaged.
        OSError: there is none.
    """
    index = place / INDEX_NAME
    with index.open() as file:
        data = file.read(_MAX_INDEX_BYTES)
    return WordsFolder(place, _index_of(load_json(data, path=str(index), hint=_RESTORE), path=str(index)))


def sha256_of(place: Place) -> str:
    """The sha256 of a file, in hexadecimal. Raises `ModelFormatError` where it cannot be read."""
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
    """The fingerprint of words by those of their files, in order."""
    return hashlib.sha256("".join(parts).encode()).hexdigest()


class Fingerprints:
    """The fingerprint of the words of one file, in the order in which they stand there, however they are batched."""

    def __init__(self) -> None:
        """Of no words yet."""
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
        """The fingerprint."""
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
