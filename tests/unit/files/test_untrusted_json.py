"""JSON from others: its depth is limited, and a key that occurs twice is refused."""

from __future__ import annotations

import gc
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tokbench.errors import ModelFormatError
from tokbench.files.garbage_collection import paused_garbage_collection
from tokbench.files.untrusted_json import (
    MAX_JSON_DEPTH,
    load_json,
    load_strict_json,
    parsed_by_definition,
    parsed_if_strict,
)
from tokbench.native.kernel_choice import is_installed

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


needs_kernel = pytest.mark.skipif(not is_installed("tokbench.native._corpus"), reason="no native kernel")
scalars = st.one_of(
    *[st.none(), st.booleans(), st.integers(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False)],
    *[st.text(), st.text('"\\:{}[],0-9', max_size=4)],
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(st.tuples(st.text("ab", max_size=1), inner)).map(dict)
    ),
    max_leaves=20,
)


@st.composite
def json_texts(draw: st.DrawFn) -> bytes:
    """JSON in any notation, some of it with a repeated key, a number that parsers read differently, or damage."""
    text = json.dumps(
        draw(values), ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 0, 3]))
    )
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(st.sampled_from(INSERTED)) + text[place:]
    return text.encode("utf-8", "surrogatepass")


INSERTED = [
    *['"a":1,', '"a":{"b":[{}]},', ',"b":2', "9" * 19, "-1e400", "NaN", "1.5e-7", "0" * 20, "\\", '\\"', '"'],
    *[
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        " ",
        "\ufeff",
        "\ud800",
        "\\ud800",
        "123456789012345678",
        ".12345678901234567890",
    ],
]


def by_definition(data: bytes) -> tuple[Any] | tuple[()]:
    try:
        return (parsed_by_definition(data, path="it.json"),)
    except ModelFormatError:
        return ()


@needs_kernel
@given(json_texts())
@example(b'{"a": 1, "a": 2}')
@example(b'{"a": [{"b": 1, "b": 2}, {"c": {}}]}')
@example(b'{"a": {"b": 1}, "a": 2, "c": 3}')
@example(b"[18446744073709551616]")
@example(b"-9223372036854775809")
@example(b'["\\"", {"a:": ":{"}]')
@example(b"1234567890123456789")
def test_orjson_and_the_kernel_agree_with_the_standard_library(data: bytes) -> None:
    parsed, defined = parsed_if_strict(data), by_definition(data)
    assert parsed in ((), defined)
    assert repr(parsed) in ("()", repr(defined))  # also 1 and 1.0, and the order of keys


def counted(value: object) -> tuple[int, int, int]:
    """The objects, keys and depth of a value, one at a time."""
    if not isinstance(value, list | dict):
        return 0, 0, 0
    inner = [counted(item) for item in (value.values() if isinstance(value, dict) else value)]
    is_object = isinstance(value, dict)
    objects = is_object + sum(found[0] for found in inner)
    keys = is_object * len(value) + sum(found[1] for found in inner)
    return objects, keys, 1 + max((found[2] for found in inner), default=0)


@needs_kernel
@given(values, st.booleans(), st.sampled_from([None, 1]))
@example([10**18, 0.1], True, None)
@example([10**18 - 1, 1234567890123456789.5], True, None)
@example(["\\", {'"{': '\\"'}], True, None)
def test_shape_of_a_json_text_is_that_of_its_value(value: object, ascii: bool, indent: int | None) -> None:
    from tokbench.native._corpus import json_shape

    large: list[str] = []
    text = json.dumps(value, ensure_ascii=ascii, indent=indent).encode("utf-8", "surrogatepass")
    json.loads(text, parse_int=lambda digits: large.append(digits) if len(digits.strip("-")) > 18 else 0)
    assert json_shape(text) == (*counted(value), bool(large))


@pytest.mark.parametrize("many", [1, 10_000])
def test_large_documents_are_as_strict(many: int) -> None:
    pairs = ",".join(f'["a{number}", "b"]' for number in range(many))
    text = '{"added": [{"id": 1, "id": 2}], "merges": [' + pairs + '], "vocab": {"a": 0}}'
    with pytest.raises(ModelFormatError, match="each key once, found 'id' twice"):
        load_strict_json(text.encode(), path="it.json")
    fixed = text.replace(', "id": 2', "")
    assert load_strict_json(fixed.encode(), path="it.json") == json.loads(fixed)
    with pytest.raises(ModelFormatError, match=r"^it\.json, line 1, column \d+: expected JSON"):
        load_strict_json(fixed[:-1].encode(), path="it.json")


@pytest.mark.parametrize(("levels", "is_refused"), [(62, False), (63, True), (5_000, True)])
def test_nesting_of_large_documents_is_limited(levels: int, *, is_refused: bool) -> None:
    data = b'{"a": [' + nested(levels) + b', "' + b"x" * 70_000 + b'"]}'
    if is_refused:
        with pytest.raises(ModelFormatError, match="expected JSON of at most 64 levels"):
            load_strict_json(data, path="it.json")
    else:
        assert load_strict_json(data, path="it.json") == json.loads(data)


@needs_kernel
def test_a_large_document_is_not_parsed_by_the_standard_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", None)
    text = '{"vocab": {' + ", ".join(f'"{number}": {number}' for number in range(20_000)) + "}}"
    assert len(load_strict_json(text.encode(), path="it.json")["vocab"]) == 20_000


def test_garbage_collection_goes_on_after_a_pause() -> None:
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), paused_garbage_collection(), paused_garbage_collection():
        assert not gc.isenabled()
        print(1 / 0)
    assert gc.isenabled()
    gc.disable()
    try:
        with paused_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
