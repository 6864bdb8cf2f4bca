"""JSON from others: its depth is limited, and a key that occurs twice is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tokbench.errors import ModelFormatError
from tokbench.files.untrusted_json import MAX_JSON_DEPTH, load_json, load_strict_json

if TYPE_CHECKING:
    from collections.abc import Callable


def nested(levels: int, *, kind: str = "list") -> bytes:
    opened, closed = {"list": (b"[", b"]"), "object": (b'{"a":', b"}")}[kind]
    return opened * levels + b"1" + closed * levels


@pytest.mark.parametrize("load", [load_json, load_strict_json])
@pytest.mark.parametrize("kind", ["list", "object"])
@pytest.mark.parametrize("levels", [64, 65, 500, 3_000, 100_000])
def test_json_nesting_is_limited(load: Callable[..., object], kind: str, levels: int) -> None:
    data = nested(levels, kind=kind)
    if levels == MAX_JSON_DEPTH:
        assert load(data, path="it.json")
    else:
        with pytest.raises(ModelFormatError, match=r"^it\.json: expected JSON"):
            load(data, path="it.json")


@pytest.mark.parametrize("load", [load_json, load_strict_json])
@pytest.mark.parametrize("data", [b"9" * 5_000, b"-" + b"9" * 5_000, b"\xff", b"", b"[1,]", b'"\n"', b"{"])
def test_malformed_json_names_the_file(load: Callable[..., object], data: bytes) -> None:
    with pytest.raises(ModelFormatError, match=r"^it\.json"):
        load(data, path="it.json")


def test_duplicate_json_key_is_refused() -> None:
    with pytest.raises(ModelFormatError, match="each key once, found 'b' twice"):
        load_strict_json(b'{"a": {"b": 1, "b": 2}}', path="it.json")
