"""The records of JSON lines files, each one a document."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tokbench.corpus.document import MAX_DOCUMENT_BYTES, Bound
from tokbench.corpus.records import BETWEEN_FIELDS, Record, group_name, kind_of, listed, not_a_string
from tokbench.corpus.text import decode_record, whole
from tokbench.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokbench.corpus.document import ErrorPolicy
    from tokbench.corpus.records import RecordFields
    from tokbench.corpus.text import Problems, Utf8Stream

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_BYTES = len(r"\ud800")


def jsonl_records(
    stream: Utf8Stream,
    fields: RecordFields,
    *,
    errors: ErrorPolicy,
    problems: Problems,
    max_bytes: int = MAX_DOCUMENT_BYTES,
) -> Iterator[Record]:
    """Yield the records of JSON lines; blank lines are skipped.

    Raises:
        CorpusError: a line is not UTF-8 (under errors="strict"), or (unless errors="skip") is not JSON, not an
            object, has no text, or more than `max_bytes`; the message names the line.
    """
    bound = Bound(max_bytes, stream.name, errors)
    for number, offset, line in _numbered_lines(stream, bound):
        if line is None:
            problems.skipped_documents += 1
            problems.long_documents += 1
            continue
        if not line or line.isspace():
            continue
        name = f"{stream.name}:{number}"
        try:
            record = _json_object(line, name, offset, errors, problems)
            if record is None:
                continue
            text = _text_of(record, fields.text, name)
        except CorpusError:
            if errors != "skip":
                raise
            problems.skipped_documents += 1
            problems.textless_documents += 1
            continue
        good = _utf8_text(text, name, errors, problems)
        if good is not None:
            yield Record(number, good, _group(record, fields.group, name), offset)


def _numbered_lines(stream: Utf8Stream, bound: Bound) -> Iterator[tuple[int, int, bytes | None]]:
    """Yield each line with its number and byte offset; None in place of a line that is too long."""
    number, offset = 1, stream.start
    pending: list[bytes] = []
    size = 0  # bytes of the pending parts
    for block in stream.blocks:
        *ended, rest = block.split(b"\n")
        for line in ended:
            size += len(line)
            yield number, offset, _bounded([*pending, line], size, number, bound)
            pending.clear()
            offset += size + 1
            number += 1
            size = 0
        size += len(rest)
        if size <= bound.num_bytes:
            pending.append(rest)
        elif bound.errors != "skip":
            bound.too_long(number)
        else:
            pending.clear()
    yield number, offset, _bounded(pending, size, number, bound)


def _bounded(parts: list[bytes], size: int, number: int, bound: Bound) -> bytes | None:
    if size > bound.num_bytes:
        bound.too_long(number)
        return None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _json_object(
    line: bytes, name: str, offset: int, errors: ErrorPolicy, problems: Problems
) -> dict[str, Any] | None:
    """Return the object of a line; None for a line to skip because it is not UTF-8."""
    import orjson

    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        text = decode_record(line, name, offset=offset, errors=errors, problems=problems)
        if text is None:
            return None
        # The error counts lines within the record, of which there is one.
        record = _lenient_json(text, name, f"{error.msg} at character {error.pos + 1}")
    if not isinstance(record, dict):
        raise CorpusError(
            f"{name}: {kind_of(record)}, not an object",
            hint='a record looks like {"text": "…"}, one per line',
        )
    return record


def _lenient_json(text: str, name: str, complaint: str) -> Any:
    """Parse JSON that orjson rejects and other programs write: NaN, lone surrogates, deep nesting."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise CorpusError(
            f"{name}: not JSON ({complaint})", hint="a .jsonl file contains one JSON object per line"
        ) from None


def _utf8_text(text: str, name: str, errors: ErrorPolicy, problems: Problems) -> str | None:
    """Return a text without the lone surrogates that JSON can escape; None for a text to skip because of them."""
    if whole(text):
        return text
    if errors == "strict":
        surrogate = next(character for character in text if not whole(character))
        raise CorpusError(
            f"{name}: the text contains the lone surrogate U+{ord(surrogate):04X}, which has no UTF-8 form",
            hint="--errors replace puts U+FFFD in its place, --errors skip leaves the document out",
        )
    if errors == "skip":
        problems.skipped_documents += 1
        return None
    replaced, count = _SURROGATE.subn("\ufffd", text)
    problems.replaced_bytes += count * _ESCAPED_BYTES
    return replaced


def _text_of(record: dict[str, Any], fields: tuple[str, ...], name: str) -> str:
    """Return the text of a record; of several fields, those that exist and are not null are joined."""
    if len(fields) > 1:
        fields = tuple(field for field in fields if record.get(field) is not None) or fields[:1]
    return BETWEEN_FIELDS.join([_text_field(record, field, name) for field in fields])


def _text_field(record: dict[str, Any], field: str, name: str) -> str:
    if field not in record:
        raise CorpusError(
            f"{name}: the record has no field {field!r}",
            hint=f"its fields are {listed(list(record))}; choose with --text-field",
        )
    value = record[field]
    if not isinstance(value, str):
        raise not_a_string(field, value, name)
    return value


def _group(record: dict[str, Any], field: str | None, name: str) -> str | None:
    return None if field is None else group_name(field, record.get(field), name)
