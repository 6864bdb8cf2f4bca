"""Parsing of untrusted JSON: bounded depth, and each key once where that is asked for.

Where each key must occur once, the standard library's parser, which shows all keys of an object, is the definition.
A large text is parsed by orjson in half of the time, and the kernel counts the keys in the text: one that occurs twice
is missing in what was parsed. Where the two parsers differ, for damaged texts and integers of more than 64 bits, the
definition is used.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from tokbench.errors import ModelFormatError
from tokbench.files.garbage_collection import paused_garbage_collection
from tokbench.files.untrusted import decode_text, first_repeated
from tokbench.native.kernel_choice import is_installed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MAX_JSON_DEPTH = 64
"""The most nested levels of a JSON value: a tokenizer.json has eight, and recursion over a value must be safe."""
_CONTAINERS = frozenset((list, dict))
_LARGE = 1 << 16
"""The smallest number of bytes for which it pays to count keys with the kernel."""
_MANY = 64
"""The smallest number of values for which it pays to check whether any is a container."""


def load_json(data: bytes, *, path: Path | str, hint: str | None = None) -> Any:
    """Parse a JSON value of at most `MAX_JSON_DEPTH` levels; of duplicate keys the last one counts.

    Raises:
        ModelFormatError: the data is not such a value.

    >>> load_json(b'{"a": [1]}', path="index.json")
    {'a': [1]}
    """
    import orjson

    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise ModelFormatError(path, "JSON", f"a syntax error: {error}", hint=hint) from None
    check_depth(value, path=path, hint=hint)
    return value


def load_strict_json(data: bytes, *, path: Path | str, hint: str | None = None) -> Any:
    r"""Parse a JSON value in which each key occurs once; errors name the line and column.

    Raises:
        ModelFormatError: the data is not such a value, is nested too deeply, or has a number of thousands of digits.

    >>> load_strict_json(b'[1e3, "\\u00e9"]', path="vocab.json")
    [1000.0, 'é']
    """
    if len(data) >= _LARGE and is_installed("tokbench.native._corpus") and (parsed := parsed_if_strict(data)):
        return parsed[0]
    return parsed_by_definition(data, path=path, hint=hint)


def parsed_by_definition(data: bytes, *, path: Path | str, hint: str | None = None) -> Any:
    """Do what `load_strict_json` does, with the standard library alone."""
    import json

    text = decode_text(data, path=path)
    try:
        value = json.loads(text, object_pairs_hook=_object_of_unique_keys)
    except json.JSONDecodeError as error:
        place = f"{path}, line {error.lineno}, column {error.colno}"
        raise ModelFormatError(place, "JSON", f"a syntax error: {error.msg.lower()}", hint=hint) from None
    except _DuplicateKeyError as error:
        raise ModelFormatError(
            path,
            "each key once",
            f"{error.args[0]!a} twice",
            hint="which of its two values counts depends on the reader: remove one of them",
        ) from None
    except ValueError:  # Python's error for integers that take it too long to parse
        raise ModelFormatError(
            path, "numbers of a reasonable size", "one with thousands of digits", hint=hint
        ) from None
    except RecursionError:
        raise _too_deep(path) from None
    check_depth(value, path=path, hint=hint)
    return value


def parsed_if_strict(data: bytes) -> tuple[Any] | tuple[()]:
    """Return the value alone in a tuple, or nothing where only the standard library tells what it is, or what is wrong.

    The native kernel must be installed.
    """
    import orjson

    from tokbench.native._corpus import json_shape

    num_objects, num_keys, depth, has_large_integer = json_shape(data)
    if depth > MAX_JSON_DEPTH or has_large_integer:
        return ()
    try:
        with paused_garbage_collection():
            value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return ()
    return (value,) if _num_keys(value, num_objects) == num_keys else ()


def _num_keys(value: object, num_objects: int) -> int:
    """Return the number of keys of all objects; long arrays are searched last, and only until all objects are found."""
    found = keys = 0
    order = count()
    waiting: list[tuple[bool, int, int, Any]] = [(False, 1, next(order), [value])]
    while waiting and found < num_objects:
        *_, container = heappop(waiting)
        items = container
        if type(container) is dict:
            found += 1
            keys += len(container)
            items = container.values()
        if len(items) < _MANY or _hold_containers(items):
            for item in items:
                if type(item) in _CONTAINERS:
                    heappush(waiting, (type(item) is list, len(item), next(order), item))
    return keys


def check_depth(value: object, *, path: Path | str, hint: str | None = None) -> None:
    """Reject a JSON value of more than `MAX_JSON_DEPTH` levels, level by level. Raises `ModelFormatError`."""
    level: list[Any] = [[value]]
    for _ in range(MAX_JSON_DEPTH + 1):
        contents = [item.values() if type(item) is dict else item for item in level]
        if not _hold_containers(chain.from_iterable(contents)):
            return
        level = [
            item
            for items in contents
            if len(items) < _MANY or _hold_containers(items)
            for item in items
            if type(item) in _CONTAINERS
        ]
    raise _too_deep(path, hint=hint)


def _hold_containers(values: Iterable[object]) -> bool:
    """Whether any value is a list or dictionary; a vocabulary has a million values of other types."""
    return not _CONTAINERS.isdisjoint(map(type, values))


class _DuplicateKeyError(Exception):
    pass


def _object_of_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise _DuplicateKeyError(first_repeated(key for key, _ in pairs))
    return mapping


def _too_deep(path: Path | str, *, hint: str | None = None) -> ModelFormatError:
    return ModelFormatError(path, f"JSON of at most {MAX_JSON_DEPTH} levels", "deeper nesting", hint=hint)
