"""JSON of results, and the fields that several results share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tokbench.core.wording import printable

if TYPE_CHECKING:
    from tokbench.core.interfaces import TokenizerInfo


def json_bytes(value: Any, *, option: int = 0) -> bytes:
    r"""Return a value as JSON; bytes of file names that are not UTF-8 are written as "\xff".

    Args:
        value: a value of JSON types.
        option: the `option` of `orjson.dumps`.

    >>> json_bytes({"source": "caf\udce9.txt"})
    b'{"source":"caf\\\\xe9.txt"}'
    """
    import orjson

    try:
        return orjson.dumps(value, option=option)
    except orjson.JSONEncodeError:
        return orjson.dumps(_printable(value), option=option)


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {_printable(name): _printable(item) for name, item in value.items()}
    return [_printable(item) for item in value] if isinstance(value, list | tuple) else value


def token_fields(piece: bytes) -> dict[str, str]:
    """Return a token's bytes as JSON fields: as text, with U+FFFD for incomplete characters, and in hexadecimal.

    >>> token_fields(b" a")
    {'piece': ' a', 'bytes': '2061'}
    """
    return {"piece": piece.decode(errors="replace"), "bytes": piece.hex()}


def tokenizer_fields(info: TokenizerInfo) -> dict[str, Any]:
    """Return the fields that describe the tokenizer of a result."""
    return {"name": info.name, "backend": info.backend, "vocab_size": info.vocab_size, "kernel": info.kernel}
