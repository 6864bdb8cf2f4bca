"""Read conversations from the rows of Parquet files, whose columns are the fields of JSON conversations.

A struct column has every field for every message, null where a message lacks it, so null fields are dropped,
except `content`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.chat.conversation_files import ReadConversation, parse_conversation
from tokbench.corpus.document import MAX_DOCUMENT_BYTES
from tokbench.corpus.parquet import opened_parquet, require_pyarrow
from tokbench.errors import CorpusError, ModelFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import pyarrow
    import pyarrow.parquet

MAGIC = b"PAR1"
"""The first bytes of a Parquet file."""

_MESSAGES = frozenset({"messages", "conversations"})
_COLUMNS = (*sorted(_MESSAGES), "system", "tools", "documents", "chat_template_kwargs")
_ROWS = 256
"""Maximum number of rows held at once, if they are short."""
_BATCH_BYTES = 32 << 20
_VALUE_BYTES = 8  # overhead of a value besides its text: lengths, levels


def parquet_conversations(
    path: Path,
    *,
    name: str,
    most_bytes: int = MAX_DOCUMENT_BYTES,
    tell: Callable[[int], None] = lambda _: None,
) -> Iterator[ReadConversation]:
    """Yield the conversations of a file, one per row.

    Args:
        path: the file.
        name: name of the file in errors.
        most_bytes: maximum size of a conversation as JSON.
        tell: called with the bytes of the file read so far, estimated by the fraction of its rows.

    Raises:
        CorpusError: the file is damaged or not Parquet, has no column of messages, or a row is too long.
        ModelFormatError: a row is not a conversation; the error names row and field.
        BackendUnavailableError: pyarrow is not installed.
    """
    require_pyarrow(name)
    import pyarrow

    try:
        with opened_parquet(path) as parquet:
            columns = _columns_of(parquet.schema_arrow.names, name)
            metadata = parquet.metadata
            texts = _dictionaries(metadata, columns)
        size = path.stat().st_size
        with opened_parquet(path, metadata=metadata, read_dictionary=texts or None) as parquet:
            for number, row in enumerate(_rows(parquet, columns, name, most_bytes), 1):
                yield _conversation(row, f"{name}, row {number}", most_bytes)
                tell(size * number // metadata.num_rows)
    except (pyarrow.ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise CorpusError(
            f"{name}: cannot be read as Parquet ({reason})", hint="fetch or write the file again"
        ) from None


def _columns_of(names: Sequence[str], name: str) -> list[str]:
    """Return the columns of a conversation. Raises `CorpusError` if there are no messages."""
    if _MESSAGES.isdisjoint(names):
        raise CorpusError(
            f"{name}: there is no column messages or conversations",
            hint=f"its columns are {', '.join(map(repr, names[:12]))}: rename the one with the conversations",
        )
    return [column for column in _COLUMNS if column in names]


def _rows(
    parquet: pyarrow.parquet.ParquetFile, columns: list[str], name: str, most_bytes: int
) -> Iterator[pyarrow.RecordBatch]:
    """Yield each row as a table of one row; their size is checked before they are unpacked."""
    first = 1
    for number in range(parquet.metadata.num_row_groups):
        group = parquet.metadata.row_group(number)
        chunks = list(_chunks(group, columns))
        size = sum(chunk.total_uncompressed_size + _VALUE_BYTES * chunk.num_values for chunk in chunks)
        if max((chunk.num_values for chunk in chunks), default=0) > most_bytes * group.num_rows:
            raise _too_long(f"{name}, row {first}", most_bytes)
        rows = max(1, min(_ROWS, _BATCH_BYTES * group.num_rows // max(size, 1)))
        for batch in parquet.iter_batches(rows, row_groups=[number], columns=columns):
            is_large = _text_bytes(batch) > _BATCH_BYTES
            for place in range(batch.num_rows):
                row = batch.slice(place, 1)
                if is_large and _text_bytes(row) > most_bytes:
                    raise _too_long(f"{name}, row {first + place}", most_bytes)
                yield row
            first += batch.num_rows


def _conversation(row: pyarrow.RecordBatch, place: str, most_bytes: int) -> ReadConversation:
    import orjson

    try:
        [given] = row.to_pylist()
        value = _without_nulls(given)
        if _MESSAGES.isdisjoint(value):
            value |= dict.fromkeys(_MESSAGES.intersection(given))
        data = orjson.dumps(value)
    except UnicodeDecodeError:
        raise ModelFormatError(place, "text in UTF-8", "other bytes") from None
    except (TypeError, RecursionError) as error:
        found = str(error).removeprefix("Type is not JSON serializable: ")
        raise ModelFormatError(place, "values that JSON can represent", found) from None
    if len(data) > most_bytes:
        raise _too_long(place, most_bytes)
    return ReadConversation(parse_conversation(orjson.loads(data), place=place), place, len(data))


def _without_nulls(value: Any) -> Any:
    """Drop null fields of a value, except `content`."""
    if isinstance(value, dict):
        return {
            key: _without_nulls(item) for key, item in value.items() if item is not None or key == "content"
        }
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _too_long(place: str, most_bytes: int) -> CorpusError:
    return CorpusError(
        f"{place}: a conversation of more than {most_bytes:,} bytes",
        hint="--max-document-bytes raises the limit",
    )


# --- what is in a file ------------------------------------------------------------------------


def _chunks(
    group: pyarrow.parquet.RowGroupMetaData, columns: Sequence[str]
) -> Iterator[pyarrow.parquet.ColumnChunkMetaData]:
    chunks = map(group.column, range(group.num_columns))
    return (chunk for chunk in chunks if chunk.path_in_schema.partition(".")[0] in columns)


def _dictionaries(metadata: pyarrow.parquet.FileMetaData, columns: Sequence[str]) -> list[str]:
    """Return the text columns to keep dictionary-encoded: one row can repeat the same long text a million times."""
    found = {
        chunk.path_in_schema: None
        for number in range(metadata.num_row_groups)
        for chunk in _chunks(metadata.row_group(number), columns)
        if chunk.has_dictionary_page and chunk.physical_type == "BYTE_ARRAY"
    }
    return list(found)


def _text_bytes(data: pyarrow.Array | pyarrow.RecordBatch) -> int:
    """Return the unpacked size of values, counting dictionary texts once per occurrence."""
    import pyarrow
    from pyarrow import compute, types

    if isinstance(data, pyarrow.RecordBatch):
        return sum(map(_text_bytes, data.columns))
    if isinstance(data, pyarrow.DictionaryArray):
        lengths = compute.binary_length(data.dictionary).take(data.indices)
        return compute.sum(lengths).as_py() or 0
    if types.is_struct(data.type) or types.is_list(data.type) or types.is_large_list(data.type):
        parts = data.flatten()
        return sum(map(_text_bytes, parts)) if isinstance(parts, list) else _text_bytes(parts)
    size: int = data.nbytes
    return size
