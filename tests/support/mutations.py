"""Damage drawn from a seed: to any bytes, to lengths among them, and to JSON values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

_NUMBERS = (
    *(0, 1, 0x7F, 0x80, 0xFF, 2**15, 2**16 - 1),
    *(2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1),
)
_DIGITS = (
    *(b"0", b"-1", b"16777215", b"4294967295", b"9223372036854775807"),
    *(b"1" + b"0" * 40, b"9" * 5000, b"1e999"),
)
_SCRAPS = (
    *(b"", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\\ud800", b"\n", b"\r"),
    *(b'"', b"[" * 500, b"{}", b"=" * 300),
)


def mutated(data: bytes, *, source: Random) -> bytes:
    """Return damaged bytes: from a single changed bit to whole missing parts."""
    for _ in range(source.choice((1, 1, 1, 2, 5))):
        data = source.choice(_OF_BYTES)(data, source)
    return data


def mutated_json(data: bytes, *, source: Random) -> bytes:
    """Return JSON, or lines of JSON, with some values, keys or parts changed."""
    lines = data.split(b"\n") if data.count(b"\n{") else [data]
    number = source.randrange(len(lines))
    try:
        value = json.loads(lines[number])
    except ValueError:
        return mutated(data, source=source)
    try:
        for _ in range(source.choice((1, 1, 2, 4))):
            value = _changed(value, source)
        text = json.dumps(value, ensure_ascii=source.random() < 0.5)
    except RecursionError:  # a deeply nested value was nested into itself
        return mutated(data, source=source)
    lines[number] = text.encode(errors="surrogatepass")
    return b"\n".join(lines)


def _flip(data: bytes, source: Random) -> bytes:
    flipped = bytearray(data)
    for _ in range(source.choice((1, 1, 3, 20))):
        if flipped:
            flipped[source.randrange(len(flipped))] ^= 1 << source.randrange(8)
    return bytes(flipped)


def _cut(data: bytes, source: Random) -> bytes:
    return data[: source.randrange(len(data) + 1)]


def _without(data: bytes, source: Random) -> bytes:
    start, stop = _part(data, source)
    return data[:start] + data[stop:]


def _doubled(data: bytes, source: Random) -> bytes:
    start, stop = _part(data, source)
    return data[:stop] + data[start:]


def _moved(data: bytes, source: Random) -> bytes:
    start, stop = _part(data, source)
    to = source.randrange(len(data) + 1)
    return data[:to] + data[start:stop] + data[to:]


def _inserted(data: bytes, source: Random) -> bytes:
    to = source.randrange(len(data) + 1)
    return data[:to] + source.choice(_SCRAPS) + data[to:]


def _number(data: bytes, source: Random) -> bytes:
    """Overwrite some bytes by a little-endian number, as a length, an id or a count."""
    width = source.choice((1, 2, 4, 8))
    # Lengths are more frequent at the beginning of files than elsewhere.
    to = source.randrange(min(len(data), source.choice((64, 1024, 1 << 30))) or 1)
    return (
        data[:to]
        + (source.choice(_NUMBERS) % (1 << 8 * width)).to_bytes(width, "little")
        + data[to + width :]
    )


def _varint(data: bytes, source: Random) -> bytes:
    to = source.randrange(len(data) + 1)
    return (
        data[:to]
        + b"\xff" * source.choice((1, 4, 9, 12))
        + source.choice((b"", b"\x7f", b"\x01"))
        + data[to + 1 :]
    )


def _digits(data: bytes, source: Random) -> bytes:
    """Replace a decimal number by another one."""
    places = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
    if not places:
        return _flip(data, source)
    start = stop = source.choice(places)
    while stop < len(data) and 48 <= data[stop] <= 57:
        stop += 1
    return data[:start] + source.choice(_DIGITS) + data[stop:]


def _part(data: bytes, source: Random) -> tuple[int, int]:
    start = source.randrange(len(data) + 1)
    return start, min(len(data), start + source.choice((1, 2, 8, 64, len(data))))


_OF_BYTES: tuple[Callable[[bytes, Random], bytes], ...] = (
    *(_flip, _flip, _cut, _without, _doubled, _moved, _inserted, _number, _number, _varint, _digits, _digits),
)


def _changed(value: Any, source: Random) -> Any:
    """Return a copy of a JSON value with one change."""
    copies = [_copy(value)]
    places = list(_places(copies))
    holder, key = source.choice(places)
    kind = source.randrange(6)
    if kind == 0 and isinstance(holder, dict):
        holder[source.choice((f"{key}x", "", "type", "\ud800", "id"))] = holder.pop(key)
    elif kind == 1 and holder is not copies:
        del holder[key]
    elif kind == 2 and isinstance(holder, list):
        holder.insert(key, _copy(holder[key]))
    elif kind == 3:
        other, its = source.choice(places)
        holder[key] = _copy(other[its])
    else:
        holder[key] = source.choice(_values(holder[key]))
    return copies[0]


def _values(value: Any) -> list[Any]:
    deep = value
    for _ in range(500):
        deep = [deep]
    whole = value if type(value) is int else 7
    return [
        *(None, True, False, -1, 0, whole + 1, 2**24 - 1, 2**31, 2**32, 2**63, 10**40, 0.5, 1e308, -0.0),
        *("", "x", "\ud800", "a" * 70_000, "\0", "▁"),
        *([], {}, [value], {"type": value}, [[]], deep, [None, 1]),
    ]


def _copy(value: Any) -> Any:
    """Copy a deeply nested value, on which `copy.deepcopy` fails."""
    return json.loads(json.dumps(value))


def _places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Yield the places in a JSON value: some of those in long lists and objects, and none at great depth."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value))
    for key, item in items if len(items) < 30 else [*items[:10], *items[10 :: len(items) // 20]]:
        yield value, key
        if isinstance(item, dict | list) and depth < 20:
            yield from _places(item, depth + 1)
