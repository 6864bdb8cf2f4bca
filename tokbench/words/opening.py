"""Opening of counted words, of tokbench or of other programs."""

from __future__ import annotations

from codecs import BOM_UTF8
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.core.counted_words import WordArrays, WordTotals
from tokbench.distributed.plan_folder import PLAN_NAME
from tokbench.errors import CorpusError, ModelFormatError, StoreError
from tokbench.files.storage.open import place_of
from tokbench.files.untrusted import decode_text
from tokbench.words.folder import INDEX_NAME, WordsFolder, open_folder
from tokbench.words.parquet import open_words_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.files.storage.place import Place

_LINES = 1 << 18
_TITLES = b"pretoken\tcount"
_LONGEST_LINE = 1 << 28
_HINT = "each line is a word, a tab and how often it occurs; words with line ends need Parquet"
_MAX_COUNT = 2**62
_MAX_DIGITS = len(str(_MAX_COUNT))


def open_words(name: str) -> WordsFolder | WordsTable:
    """Open the counted words of a folder of `count-words`, of Parquet files, or of a file of lines.

    Args:
        name: a path or a URL.

    Raises:
        CorpusError: there are no files of words.
        StoreError: the folder contains an unfinished count.
        ModelFormatError: the index is damaged.
    """
    place = place_of(name)
    try:
        if (place / INDEX_NAME).exists():
            return open_folder(place)
        if (place / PLAN_NAME).exists():
            raise StoreError(
                f"{place} contains an unfinished count of words",
                hint="continue with `tokbench count-words … --resume`",
            )
        return WordsTable(_files(place))
    except OSError as error:
        raise CorpusError(f"{place} cannot be read: {error.strerror or error}") from None


def _files(place: Place) -> tuple[Place, ...]:
    parquet_files = tuple(file.place for file in place.files() if file.place.name.endswith(".parquet"))
    if parquet_files:
        return parquet_files
    try:
        place.stat()
    except FileNotFoundError:
        raise CorpusError(
            f"{place}: there are no counted words",
            hint="name a folder of `tokbench count-words`, Parquet files, or lines of a word, a tab and a count",
        ) from None
    return (place,)


@dataclass(frozen=True, slots=True)
class WordsTable:
    """Words in files of other programs, in any order, possibly repeated; the source text is not known.

    Attributes:
        places: the files.
    """

    places: tuple[Place, ...]

    def arrays(self) -> Iterator[WordArrays]:
        """Yield all words in batches. Raises `ModelFormatError`."""
        for place in self.places:
            if place.name.endswith(".parquet"):
                with open_words_file(place) as file:
                    yield from file.arrays()
            else:
                yield from _lines_of(place)

    def totals(self) -> WordTotals:
        """Return the totals that follow from the counts. Reads all files; raises `ModelFormatError`."""
        import numpy as np

        num_bytes = words = 0
        for arrays in self.arrays():
            sizes = np.diff(arrays.offsets)
            num_bytes += int(np.dot(sizes.astype(object), arrays.counts.astype(object)))
            words += int(arrays.counts.astype(object).sum())
        return WordTotals(documents=None, num_bytes=num_bytes, words=words)


def _lines_of(place: Place) -> Iterator[WordArrays]:
    batch: list[tuple[bytes, int]] = []
    try:
        with place.open() as file:
            number = 0
            while line := file.readline(_LONGEST_LINE):
                number += 1
                line = line.removeprefix(BOM_UTF8) if number == 1 else line
                if number == 1 and line.rstrip(b"\r\n") == _TITLES:
                    continue
                batch.append(_word_of(line, place=place, number=number))
                if len(batch) == _LINES:
                    yield WordArrays.of(batch)
                    batch.clear()
    except OSError as error:
        raise ModelFormatError(str(place), "lines of words", error.strerror or str(error)) from None
    if batch:
        yield WordArrays.of(batch)


def _word_of(line: bytes, *, place: Place, number: int) -> tuple[bytes, int]:
    word, tab, count = line.removesuffix(b"\n").removesuffix(b"\r").rpartition(b"\t")
    count = count.lstrip(b"0")
    is_count = count.isdigit() and len(count) <= _MAX_DIGITS and int(count) <= _MAX_COUNT
    name = f"{place}, line {number}"
    if not tab or not word or not is_count:
        shown = ascii(line[:40].decode(errors="replace"))
        raise ModelFormatError(name, "a word, a tab and a count", shown, hint=_HINT)
    decode_text(word, path=name)
    return word, int(count)
