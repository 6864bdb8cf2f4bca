"""Words in a Parquet file: two columns, `pretoken` (bytes) and `count`, and facts in the footer.

Every Parquet file with these columns can be read, in any order, also with repeated words; written files are sorted.
"""

from __future__ import annotations

import json
import re
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tokbench.core.counted_words import WordArrays
from tokbench.core.wording import printable
from tokbench.errors import BackendUnavailableError, ModelFormatError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from io import BufferedWriter
    from pathlib import Path

    import pyarrow
    import pyarrow.parquet

    from tokbench.files.storage.place import Place

WORD_COLUMN, COUNT_COLUMN = "pretoken", "count"
GROUP_ROWS = 1 << 20
"""The most words of a row group, which readers hold in memory."""

_KEY = b"tokbench"
_ERRNO = re.compile(r"\[errno \d+\] ", re.IGNORECASE)
_MOST_GROUP_BYTES = 1 << 30
_MOST_EXACT = 1 << 53
_HINT = "it has the columns `pretoken` (binary or string) and `count` (whole numbers)"
_RESTORE = "the file was edited or cut: restore it, or count again"


def require_pyarrow() -> None:
    """Raise `BackendUnavailableError` if Parquet files cannot be written or read."""
    if find_spec("pyarrow") is None:
        raise BackendUnavailableError(
            "folders of words need the package pyarrow", hint="pip install 'tokbench[parquet]'"
        )


class WordsWriter:
    """Writes words into a Parquet file; equal words in equal order give equal bytes.

    Usage:

        with open_writer(path) as writer:
            writer.write(arrays)
            writer.tell({"words": 3})
    """

    def __init__(self, path: Path, writer: pyarrow.parquet.ParquetWriter) -> None:
        """Use `open_writer` instead."""
        self._path = path
        self._writer = writer

    def write(self, words: WordArrays) -> int:
        """Append words as row groups; return the number of groups. Raises `StoreError`."""
        import pyarrow

        starts = _group_starts(words.offsets)
        for first, last in pairwise(starts):
            offsets = words.offsets[first : last + 1]
            texts = pyarrow.BinaryArray.from_buffers(
                pyarrow.binary(),
                last - first,
                [
                    None,
                    pyarrow.py_buffer((offsets - offsets[0]).astype("int32")),
                    pyarrow.py_buffer(words.data[offsets[0] : offsets[-1]]),
                ],
            )
            counts = pyarrow.array(words.counts[first:last])
            table = pyarrow.table([texts, counts], schema=_schema())
            with _full_disk_reported(self._path):
                self._writer.write_table(table, row_group_size=GROUP_ROWS)
        return len(starts) - 1

    def tell(self, facts: Mapping[str, Any]) -> None:
        """Write facts, as JSON, into the footer."""
        self._writer.add_key_value_metadata({_KEY: json.dumps(facts, sort_keys=True).encode()})


@contextmanager
def open_writer(path: Path, *, is_soon_read: bool = False) -> Iterator[WordsWriter]:
    """Open a writer for a new local file; `is_soon_read` doubles its size, and takes a third of the time.

    Raises `StoreError` if it cannot be written.
    """
    with _full_disk_reported(path):
        file = None if _has_utf8_name(path) else path.open("wb")
        writer = _parquet_writer(file or path, is_soon_read=is_soon_read)
    try:
        yield WordsWriter(path, writer)
    except BaseException:
        with suppress(OSError):
            _close(writer, file)
        raise
    with _full_disk_reported(path):
        _close(writer, file)


def _has_utf8_name(path: Path) -> bool:
    """Whether the bytes of a path are UTF-8, as pyarrow requires."""
    return printable(str(path)) == str(path)


def _parquet_writer(target: Path | BufferedWriter, *, is_soon_read: bool) -> pyarrow.parquet.ParquetWriter:
    import pyarrow.parquet

    return pyarrow.parquet.ParquetWriter(
        target,
        _schema(),
        compression="none" if is_soon_read else "zstd",
        use_dictionary=False,
        column_encoding={
            WORD_COLUMN: "PLAIN" if is_soon_read else "DELTA_BYTE_ARRAY",
            COUNT_COLUMN: "DELTA_BINARY_PACKED",
        },
        store_schema=False,
        write_statistics=False,
    )


def _close(writer: pyarrow.parquet.ParquetWriter, file: BufferedWriter | None) -> None:
    try:
        writer.close()
    finally:
        if file is not None:
            file.close()


@contextmanager
def _full_disk_reported(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        detail = str(error).partition("Detail: ")[2] or str(error)
        reason = _ERRNO.sub("", detail)
        raise StoreError(
            f"counted words were not written to {path.parent}: {reason}",
            hint="free some space there, or set the environment variable TMPDIR to a folder with enough space",
        ) from None


class WordsFile:
    """A Parquet file of words, open for reading.

    Attributes:
        facts: the facts in the footer; empty for files of other programs.
        num_groups: the number of row groups.
    """

    def __init__(self, name: str, parquet: pyarrow.parquet.ParquetFile) -> None:
        """Use `open_words_file` instead."""
        self._name = name
        self._parquet = parquet
        self.facts = _facts(parquet.metadata.metadata or {}, name=name)
        self.num_groups: int = parquet.metadata.num_row_groups

    def arrays(self, groups: Sequence[int] | None = None) -> Iterator[WordArrays]:
        """Yield the words of row groups, by default of all. Raises `ModelFormatError`."""
        for number in range(self.num_groups) if groups is None else groups:
            with _errors_reported(self._name):
                table = self._parquet.read_row_group(
                    number,
                    columns=[WORD_COLUMN, COUNT_COLUMN],
                    use_threads=False,  # starting threads takes longer than reading the groups of a part
                )
                for batch in table.to_batches(max_chunksize=GROUP_ROWS):
                    if batch.num_rows:
                        yield _arrays_of(batch, name=self._name)


@contextmanager
def open_words_file(place: Place) -> Iterator[WordsFile]:
    """Open a file of words. Raises `ModelFormatError` for other files."""
    require_pyarrow()
    import pyarrow.parquet

    name = str(place)
    with ExitStack() as stack:
        with _errors_reported(name):
            is_plain = place.local is not None and _has_utf8_name(place.local)
            source = place.local if is_plain else stack.enter_context(place.open())
            parquet = stack.enter_context(pyarrow.parquet.ParquetFile(source))
        missing = {WORD_COLUMN, COUNT_COLUMN} - set(parquet.schema_arrow.names)
        if missing:
            found = f"the columns {', '.join(map(repr, parquet.schema_arrow.names))}"
            raise ModelFormatError(name, "a table of words", found, hint=_HINT)
        yield WordsFile(name, parquet)


def _schema() -> pyarrow.Schema:
    import pyarrow

    return pyarrow.schema(
        [
            pyarrow.field(WORD_COLUMN, pyarrow.binary(), nullable=False),
            pyarrow.field(COUNT_COLUMN, pyarrow.int64(), nullable=False),
        ]
    )


def _group_starts(offsets: Any) -> list[int]:
    """Return the starts of row groups, and the end of the last: the bytes of a group must have 32-bit offsets."""
    import numpy as np

    total = len(offsets) - 1
    starts = [0]
    while starts[-1] < total:
        by_bytes = int(np.searchsorted(offsets, offsets[starts[-1]] + _MOST_GROUP_BYTES, side="right")) - 1
        starts.append(min(starts[-1] + GROUP_ROWS, max(by_bytes, starts[-1] + 1), total))
    return starts


def _facts(metadata: Mapping[bytes, bytes], *, name: str) -> dict[str, Any]:
    try:
        facts = json.loads(metadata.get(_KEY, b"{}"))
    except ValueError:
        facts = None
    if not isinstance(facts, dict):
        raise ModelFormatError(name, "JSON in its footer", "something else", hint=_RESTORE)
    return facts


def _arrays_of(batch: pyarrow.RecordBatch, *, name: str) -> WordArrays:
    import numpy as np
    from pyarrow import types

    words, counts = batch.column(WORD_COLUMN), batch.column(COUNT_COLUMN)
    if types.is_dictionary(words.type):
        words = words.dictionary_decode()
    is_text = (
        types.is_binary(words.type)
        or types.is_string(words.type)
        or types.is_large_binary(words.type)
        or types.is_large_string(words.type)
    )
    if not is_text:
        raise ModelFormatError(
            name, "bytes or texts with whole numbers", f"{words.type} with {counts.type}", hint=_HINT
        )
    if words.null_count or counts.null_count:
        raise ModelFormatError(name, "a word and a count in each row", "null", hint=_HINT)
    counts = _whole_numbers(counts, name=name)
    is_large = types.is_large_binary(words.type) or types.is_large_string(words.type)
    _, offsets, data = words.buffers()
    all_places = np.frombuffer(offsets, np.int64 if is_large else np.int32)
    places = all_places[words.offset : words.offset + len(words) + 1].astype(np.int64, copy=False)
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    return WordArrays(text, places, counts.to_numpy().copy())


def _whole_numbers(counts: pyarrow.Array, *, name: str) -> pyarrow.Array:
    """Convert counts to int64, also doubles and decimals that are integers: DuckDB and Spark write sums as such."""
    import pyarrow
    from pyarrow import types

    if counts.type == pyarrow.int64():  # the type written here: casting loads slow modules
        return counts
    exact = types.is_integer(counts.type) or types.is_decimal(counts.type)
    if not exact and not types.is_floating(counts.type):
        raise ModelFormatError(name, "whole numbers as counts", str(counts.type), hint=_HINT)
    try:
        if not exact:
            _check_exact(counts, name=name)
        return counts.cast(pyarrow.int64())
    except pyarrow.ArrowInvalid as error:
        raise ModelFormatError(
            name, "whole numbers as counts", str(error).partition("\n")[0], hint=_HINT
        ) from None


def _check_exact(counts: pyarrow.Array, *, name: str) -> None:
    from pyarrow import compute  # imported here, as it takes long to load

    if len(counts) and compute.max(counts).as_py() > _MOST_EXACT:
        raise ModelFormatError(name, f"counts of at most 2^53 as {counts.type}", "larger ones", hint=_HINT)


@contextmanager
def _errors_reported(name: str) -> Iterator[None]:
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise ModelFormatError(name, "a Parquet file of words", reason, hint=_RESTORE) from None
