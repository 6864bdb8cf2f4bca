"""Opening counted words, whoever counted them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.distributed.plan_folder import PLAN_NAME
from tokbench.errors import CorpusError, StoreError
from tokbench.files.storage.open import place_of
from tokbench.words.folder import INDEX_NAME, WordsFolder, open_folder
from tokbench.words.tables import WordsTable

if TYPE_CHECKING:
    from tokbench.files.storage.place import Place


def open_words(name: str) -> WordsFolder | WordsTable:
    """The counted words of a folder of `count-words`, of Parquet files, or of a file of lines.

    Args:
        name: a path or a URL.

    Raises:
        CorpusError: there is nothing, or nothing with words.
        StoreError: a folder whose words are not counted to the end.
        ModelFormatError: a damaged index.
    """
    place = place_of(name)
    try:
        if (place / INDEX_NAME).exists():
            return open_folder(place)
        if (place / PLAN_NAME).exists():
            raise StoreError(
                f"{place} holds words that are not counted to the end",
                hint="continue with `tokbench count-words … --resume`",
            )
        return WordsTable(_files(place))
    except OSError as error:
        raise CorpusError(f"{place} cannot be read: {error.strerror or error}") from None


def _files(place: Place) -> tuple[Place, ...]:
    found = tuple(one.place for one in place.files() if one.place.name.endswith(".parquet"))
    if found:
        return found
    try:
        place.stat()
    except FileNotFoundError:
        raise CorpusError(
            f"{place}: there are no counted words",
            hint="name a folder of `tokbench count-words`, Parquet files, or lines of a word, a tab and a count",
        ) from None
    return (place,)
