"""Results as JSON: how they are written, and the fields that several of them have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tokbench.core.wording import printable

if TYPE_CHECKING:
    from tokbench.core.interfaces import TokenizerInfo


def json_bytes(value: Any, *, option: int = 0) -> bytes:
    r"""A value as JSON, in which names of files that are not UTF-8 have the bytes in question as "\xff".

    Args:
        value: of JSON's types.
        option: of `orjson.dumps`.

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
        return {_printable(name): _printable(each) for name, each in value.items()}
    return [_printable(each) for each in value] if isinstance(value, list | tuple) else value


def token_fields(piece: bytes) -> dict[str, str]:
    """A token's bytes as JSON: as text, U+FFFD where it is incomplete, and in hexadecimal.

    >>> token_fields(b" a")
    {'piece': ' a', 'bytes': '2061'}
    """
    return {"piece": piece.decode(errors="replace"), "bytes": piece.hex()}


def tokenizer_fields(info: TokenizerInfo) -> dict[str, Any]:
    """What a result says of the tokenizer it was made with."""
    return {"name": info.name, "backend": info.backend, "vocab_size": info.vocab_size, "kernel": info.kernel}
