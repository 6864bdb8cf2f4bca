"""Parsing of untrusted JSON: bounded depth, and each key once where that is asked for."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from tokbench.errors import ModelFormatError
from tokbench.files.untrusted import decode_text, first_repeated

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MAX_JSON_DEPTH = 64
"""The most nested levels of a JSON value: a tokenizer.json has eight, and recursion over a value must be safe."""
_CONTAINERS = frozenset((list, dict))
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
