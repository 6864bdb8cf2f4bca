"""The rows of a Parquet file, each one a document."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.core.wording import printable
from tokbench.corpus.document import MAX_DOCUMENT_BYTES, Bound
from tokbench.corpus.records import BETWEEN_FIELDS, Record, RecordFields, group_name, listed, not_a_string
from tokbench.corpus.text import decode_record
from tokbench.errors import BackendUnavailableError, CorpusError
from tokbench.files.storage.open import place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader

    import pyarrow.parquet

    from tokbench.corpus.document import ErrorPolicy
    from tokbench.corpus.files import CorpusFile
    from tokbench.corpus.text import Problems

_ROWS = 256
"""The most rows per batch, if their texts are short."""
_BATCH_BYTES = 32 << 20
_SMALL_SHARE = 8
_COUNTED_WORDS = ["pretoken", "count"]
"""The columns of the files that `tokbench count-words` writes."""
_VALUE_BYTES = 64  # per row, besides its text: lengths, levels, page headers


def parquet_records(
    file: CorpusFile,
    fields: RecordFields,
    *,
    errors: ErrorPolicy,
    problems: Problems,
    max_bytes: int = MAX_DOCUMENT_BYTES,
    tell: Callable[[int], None] = lambda _: None,
) -> Iterator[Record]:
    """Yield the rows of a Parquet file, read in batches and only from the needed columns.

    Before each batch, `tell` is called with the position in the file: its size times the share of rows read.

    Raises:
        CorpusError: the file is not Parquet, damaged, or lacks a text column; a row has bytes that
            are not UTF-8 (under errors="strict"), or (unless errors="skip") no text or more than `max_bytes`.
        BackendUnavailableError: pyarrow is not installed.
    """
    require_pyarrow(file.name)
    import pyarrow

    try:
        bound = Bound(max_bytes, file.name, errors)
        with opened_parquet(_source(file)) as parquet:
            _check_columns(parquet.schema_arrow, fields, file.name)
            metadata = parquet.metadata
            has_group = fields.group in parquet.schema_arrow.names
        fields = fields if has_group else RecordFields(fields.text)

        def report(rows: int) -> None:
            tell(file.size * rows // metadata.num_rows)

        dictionaries = [name for name in fields.text if _repeats_texts(metadata, name)]
        with opened_parquet(
            _source(file), metadata=metadata, read_dictionary=dictionaries or None
        ) as parquet:
            groups = _row_groups(file, metadata)
            first = sum(metadata.row_group(number).num_rows for number in range(groups.start)) + 1
            rows = _parquet_rows(parquet, fields, bound, groups=groups, first=first, tell=report)
            for number, (data, value) in enumerate(rows, first):
                name = f"{file.name}:{number}"
                if data is not None and len(data) > max_bytes:
                    bound.too_long(number)
                    problems.skipped_documents += 1
                    problems.long_documents += 1
                    continue
                if data is None and errors == "skip":
                    problems.skipped_documents += 1
                    problems.textless_documents += 1
                    continue
                if data is None:
                    raise not_a_string(fields.text[0], None, name)
                text = decode_record(data, name, errors=errors, problems=problems)
                if text is not None:
                    yield Record(number, text, group_name(fields.group, value, name), number)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise CorpusError(
            f"{file.name}: cannot be read as Parquet ({reason})", hint="fetch or write the file again"
        ) from None


def _source(file: CorpusFile) -> Path | BufferedReader:
    return file.path if file.url is None else place_of(file.url).open()


@contextmanager
def opened_parquet(source: Path | BufferedReader, **options: Any) -> Iterator[pyarrow.parquet.ParquetFile]:
    """Open a Parquet file with any name: pyarrow does not accept names that are not UTF-8."""
    import pyarrow.parquet

    with ExitStack() as stack:
        if isinstance(source, Path) and printable(str(source)) != str(source):
            source = stack.enter_context(source.open("rb"))
        yield stack.enter_context(pyarrow.parquet.ParquetFile(source, **options))


def require_pyarrow(name: str) -> None:
    """Raise `BackendUnavailableError` if Parquet files cannot be read."""
    if find_spec("pyarrow") is None:
        raise BackendUnavailableError(
            f"{name}: Parquet files need the package pyarrow", hint="pip install 'tokbench[parquet]'"
        )


def _check_columns(schema: pyarrow.Schema, fields: RecordFields, name: str) -> None:
    for field in fields.text:
        if field not in schema.names:
            choose = f"its columns are {listed(schema.names)}; choose with --text-field"
            train = "it has counted words: tokbench train --counts learns from them"
            hint = train if schema.names == _COUNTED_WORDS else choose
            raise CorpusError(f"{name}: there is no column {field!r}", hint=hint)
        _check_unique(schema, field, name)
        column = schema.field(field).type
        if not _holds_text(column):
            raise CorpusError(
                f"{name}: the column {field!r} contains {column}, not text",
                hint="choose another with --text-field",
            )
    if fields.group is not None:
        _check_unique(schema, fields.group, name)


def _check_unique(schema: pyarrow.Schema, field: str, name: str) -> None:
    if (number := schema.names.count(field)) > 1:
        raise CorpusError(
            f"{name}: {number} columns are named {field!r}",
            hint="rename all but one of them, or choose another column",
        )


def _holds_text(column: pyarrow.DataType) -> bool:
    from pyarrow import types

    if types.is_dictionary(column):
        column = column.value_type
    return bool(types.is_string(column) or types.is_large_string(column) or types.is_string_view(column))


def _parquet_rows(
    parquet: pyarrow.parquet.ParquetFile,
    fields: RecordFields,
    bound: Bound,
    *,
    groups: range,
    first: int,
    tell: Callable[[int], None],
) -> Iterator[tuple[bytes | None, Any]]:
    """Yield each row's text, as bytes because Parquet does not guarantee UTF-8, and the value of its group field."""
    rows_read = 0
    for number in groups:
        group = parquet.metadata.row_group(number)
        if not group.num_rows:
            continue  # its pages take bytes nevertheless
        size = sum(_text_size(group, name) for name in fields.text)
        if size > (bound.num_bytes + _VALUE_BYTES) * group.num_rows and bound.errors != "skip":
            bound.too_long(first)  # at least one row is too long, which is known before decompression
        rows = max(1, min(_ROWS, _BATCH_BYTES * group.num_rows // max(size, 1)))
        for batch in parquet.iter_batches(rows, row_groups=[number], columns=fields.columns):
            rows_read += batch.num_rows
            tell(rows_read)
            yield from _rows(batch, fields)
        first += group.num_rows


def _row_groups(file: CorpusFile, metadata: pyarrow.parquet.FileMetaData) -> range:
    """Return the row groups of a file that begin in its span."""
    if file.span is None:
        return range(metadata.num_row_groups)
    begins = [_row_group_offset(metadata.row_group(number)) for number in range(metadata.num_row_groups)]
    return range(
        sum(begin < file.span.start for begin in begins), sum(begin < file.span.stop for begin in begins)
    )


def _row_group_offset(group: pyarrow.parquet.RowGroupMetaData) -> int:
    """Return the offset of a row group in its file, by its first column."""
    if not group.num_columns:
        return 0
    chunk = group.column(0)
    offsets: list[int] = [chunk.data_page_offset]
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
        offsets.append(chunk.dictionary_page_offset)
    return min(offsets)


def _text_size(group: pyarrow.parquet.RowGroupMetaData, name: str) -> int:
    """Return the uncompressed size of a row group's texts, as stated by the file."""
    return max((chunk.total_uncompressed_size for chunk in _chunks(group, name)), default=0)


def _repeats_texts(metadata: pyarrow.parquet.FileMetaData, name: str) -> bool:
    """Whether to keep texts dictionary-encoded: a thousand rows may share one long text."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return any(
        chunk.has_dictionary_page
        and (chunk.data_page_offset - chunk.dictionary_page_offset) * _SMALL_SHARE
        > chunk.total_compressed_size
        for group in groups
        for chunk in _chunks(group, name)
    )


def _chunks(
    group: pyarrow.parquet.RowGroupMetaData, name: str
) -> Iterator[pyarrow.parquet.ColumnChunkMetaData]:
    chunks = map(group.column, range(group.num_columns))
    return (chunk for chunk in chunks if chunk.path_in_schema == name)


def _rows(batch: pyarrow.RecordBatch, fields: RecordFields) -> Iterator[tuple[bytes | None, Any]]:
    """Yield the rows of a batch one text at a time, as all of them may be one dictionary entry."""
    texts = map(_joined, zip(*(_texts(batch.column(name)) for name in fields.text), strict=True))
    groups = repeat(None) if fields.group is None else batch.column(fields.group).to_pylist()
    return zip(texts, groups, strict=False)


def _texts(column: pyarrow.Array) -> Iterator[bytes | None]:
    import pyarrow

    if isinstance(column, pyarrow.DictionaryArray):
        entries = column.dictionary.cast(pyarrow.large_binary())
        return (None if index is None else entries[index].as_py() for index in column.indices.to_pylist())
    return (text.as_py() for text in column.cast(pyarrow.large_binary()))


def _joined(parts: tuple[bytes | None, ...]) -> bytes | None:
    """Return the text of a row, joined from its columns that are not null; None if all are null."""
    present = [part for part in parts if part is not None]
    return BETWEEN_FIELDS.encode().join(present) if present else None
