"""The records of a corpus file: JSON lines and Parquet rows, one document each."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.corpus.text import decode_record, whole
from tokbench.errors import BackendUnavailableError, CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow

    from tokbench.corpus.files import CorpusFile
    from tokbench.corpus.text import ErrorPolicy, Problems, Utf8Stream

_ROWS = 256
"""Parquet rows held at once."""
_MAX_FIELDS_NAMED = 12
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_BYTES = len(r"\ud800")


@dataclass(frozen=True, slots=True)
class RecordFields:
    """Which fields of a record are read.

    Attributes:
        text: the field of the text.
        group: the field of the group, or None where groups come from elsewhere.
    """

    text: str
    group: str | None = None


class Record(NamedTuple):
    """A record: its line or row counted from 1, its text, and its group where a field holds one."""

    number: int
    text: str
    group: str | None


def jsonl_records(
    stream: Utf8Stream, fields: RecordFields, *, errors: ErrorPolicy, problems: Problems
) -> Iterator[Record]:
    """The records of JSON lines; blank lines are passed over.

    Raises:
        CorpusError: a line that is not UTF-8 (under errors="strict"), not JSON, not an object, or
            without one of the fields; the message names the line.
    """
    for number, offset, line in _numbered_lines(stream):
        if not line or line.isspace():
            continue
        name = f"{stream.name}:{number}"
        record = _json_object(line, name, offset, errors, problems)
        if record is None:
            continue
        text = _utf8_text(_text_field(record, fields.text, name), name, errors, problems)
        if text is not None:
            yield Record(number, text, _group(record, fields.group, name))


def parquet_records(
    file: CorpusFile, fields: RecordFields, *, errors: ErrorPolicy, problems: Problems
) -> Iterator[Record]:
    """The rows of a Parquet file, a few hundred at a time and only the columns needed.

    Raises:
        CorpusError: a file that is not Parquet, or is damaged, or lacks a column; a row without
            text, or (under errors="strict") with bytes that are not UTF-8.
        BackendUnavailableError: pyarrow is not installed.
    """
    require_pyarrow(file.name)
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(file.path) as parquet:
            _check_columns(parquet.schema_arrow, fields, file.name)
            columns = list(dict.fromkeys(name for name in (fields.text, fields.group) if name is not None))
            batches = parquet.iter_batches(_ROWS, columns=columns)
            rows = chain.from_iterable(_rows(batch, fields) for batch in batches)
            for number, (data, value) in enumerate(rows, 1):
                name = f"{file.name}:{number}"
                if data is None:
                    raise _not_a_string(fields.text, None, name)
                text = decode_record(data, name, errors=errors, problems=problems)
                if text is not None:
                    group = None if fields.group is None else _group_name(fields.group, value, name)
                    yield Record(number, text, group)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).partition("\n")[0]
        raise CorpusError(
            f"{file.name}: cannot be read as Parquet ({reason})", hint="fetch or write the file again"
        ) from None


def require_pyarrow(name: str) -> None:
    """Raise `BackendUnavailableError` where Parquet files cannot be read."""
    if find_spec("pyarrow") is None:
        raise BackendUnavailableError(
            f"{name}: Parquet files need the package pyarrow", hint="pip install 'tokbench[parquet]'"
        )


def _numbered_lines(stream: Utf8Stream) -> Iterator[tuple[int, int, bytes]]:
    """Each line with its number and the byte offset it starts at."""
    number, offset = 1, stream.start
    pending: list[bytes] = []
    for block in stream.blocks:
        *ended, rest = block.split(b"\n")
        if ended:
            ended[0] = b"".join([*pending, ended[0]])
            pending.clear()
            for line in ended:
                yield number, offset, line
                number += 1
                offset += len(line) + 1
        pending.append(rest)
    yield number, offset, b"".join(pending)


def _json_object(
    line: bytes, name: str, offset: int, errors: ErrorPolicy, problems: Problems
) -> dict[str, Any] | None:
    """The object on a line; None for a line to be skipped because it is not UTF-8."""
    import orjson

    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        text = decode_record(line, name, offset=offset, errors=errors, problems=problems)
        if text is None:
            return None
        record = _lenient_json(text, name, str(error))
    if not isinstance(record, dict):
        raise CorpusError(
            f"{name}: {_kind(record)}, not an object", hint='a record looks like {"text": "…"}, one a line'
        )
    return record


def _lenient_json(text: str, name: str, complaint: str) -> Any:
    """What orjson refuses and other writers of JSON make: NaN, lone surrogates, deep nesting."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise CorpusError(
            f"{name}: not JSON ({complaint})", hint="a .jsonl file holds one JSON object a line"
        ) from None


def _utf8_text(text: str, name: str, errors: ErrorPolicy, problems: Problems) -> str | None:
    """A text without the lone surrogates that JSON can escape; None for one to be skipped for them."""
    if whole(text):
        return text
    if errors == "strict":
        surrogate = next(character for character in text if not whole(character))
        raise CorpusError(
            f"{name}: the text holds the lone surrogate U+{ord(surrogate):04X}, which has no UTF-8 form",
            hint="--errors replace puts U+FFFD in its place, --errors skip leaves the document out",
        )
    if errors == "skip":
        problems.skipped_documents += 1
        return None
    replaced, count = _SURROGATE.subn("\ufffd", text)
    problems.replaced_bytes += count * _ESCAPED_BYTES
    return replaced


def _check_columns(schema: pyarrow.Schema, fields: RecordFields, name: str) -> None:
    for field, option in ((fields.text, "--text-field"), (fields.group, "--group-by field:NAME")):
        if field is not None and field not in schema.names:
            raise CorpusError(
                f"{name}: there is no column {field!r}",
                hint=f"its columns are {_listed(schema.names)}; choose with {option}",
            )
    column = schema.field(fields.text).type
    if not _holds_text(column):
        raise CorpusError(
            f"{name}: the column {fields.text!r} holds {column}, not text",
            hint="choose another with --text-field",
        )


def _holds_text(column: pyarrow.DataType) -> bool:
    from pyarrow import types

    if types.is_dictionary(column):
        column = column.value_type
    return bool(types.is_string(column) or types.is_large_string(column) or types.is_string_view(column))


def _rows(batch: pyarrow.RecordBatch, fields: RecordFields) -> Iterator[tuple[bytes | None, Any]]:
    """Each row's text, as bytes because Parquet does not promise UTF-8, and the value of its group field."""
    import pyarrow

    texts = batch.column(fields.text).cast(pyarrow.large_binary()).to_pylist()
    groups = repeat(None) if fields.group is None else batch.column(fields.group).to_pylist()
    return zip(texts, groups, strict=False)


def _text_field(record: dict[str, Any], field: str, name: str) -> str:
    value = _field(record, field, name, option="--text-field")
    if not isinstance(value, str):
        raise _not_a_string(field, value, name)
    return value


def _not_a_string(field: str, value: object, name: str) -> CorpusError:
    return CorpusError(
        f"{name}: the field {field!r} is {_kind(value)}, not a string",
        hint="each record needs its text there; choose another field with --text-field",
    )


def _group(record: dict[str, Any], field: str | None, name: str) -> str | None:
    if field is None:
        return None
    return _group_name(field, _field(record, field, name, option="--group-by field:NAME"), name)


def _group_name(field: str, value: object, name: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise CorpusError(
        f"{name}: the field {field!r} is {_kind(value)}, which names no group",
        hint="choose another field with --group-by field:NAME",
    )


def _field(record: dict[str, Any], field: str, name: str, *, option: str) -> Any:
    if field not in record:
        raise CorpusError(f"{name}: the record has no field {field!r}", hint=_choose(record, option))
    return record[field]


def _choose(record: dict[str, Any], option: str) -> str:
    return f"its fields are {_listed(list(record))}; choose with {option}"


def _listed(names: Sequence[str]) -> str:
    """Names for a message, the first dozen of many."""
    if not names:
        return "none"
    more = f" and {len(names) - _MAX_FIELDS_NAMED} more" if len(names) > _MAX_FIELDS_NAMED else ""
    return ", ".join(map(repr, names[:_MAX_FIELDS_NAMED])) + more


def _kind(value: object) -> str:
    """What JSON calls a value, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
