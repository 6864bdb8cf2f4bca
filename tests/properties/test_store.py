"""The store on random input: damage is noticed, and undamaged content is read back unchanged."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokbench.core.manifest import Manifest, SelfTestSample
from tokbench.errors import ModelFormatError
from tokbench.store import MANIFEST_NAME, read_files, read_manifest, write
from tokbench.store.manifest import dump_manifest, is_file_name, parse_manifest
from tokbench.store.saveable import self_test_texts

PATH = Path("tokenizers/mine/tokbench.json")
FILES = {"ranks.tiktoken": b"YQ== 0\nYg== 1\nYWI= 2\n", "empty": b""}
MANIFEST = Manifest(
    name="mine",
    backend="bpe",
    kernel="native",
    vocab_size=260,
    special_tokens={"<|end|>": 259},
    config={"pattern": r"\s+(?!\S)|\s", "sizes": [1, 2.5, None, False, {"a": "é"}]},
    training={"documents": 2},
    versions={"tokbench": "0.1.0", "python": "3.11.7"},
    self_test=tuple(SelfTestSample(text, tuple(text.encode())) for text in self_test_texts(seed=0)),
)

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
int64 = st.integers(-(2**63), 2**63 - 1)
json_values = st.recursive(
    st.none() | st.booleans() | int64 | st.floats(allow_nan=False, allow_infinity=False) | names,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=20,
)


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    vocab_size = draw(st.integers(1, 2**32))
    ids = st.integers(0, vocab_size - 1)
    samples = st.builds(SelfTestSample, text=names | st.just(""), ids=st.lists(ids).map(tuple))
    return Manifest(
        name=draw(names),
        backend=draw(names),
        kernel=draw(names),
        vocab_size=vocab_size,
        special_tokens=draw(st.dictionaries(names, ids, max_size=5)),
        config=draw(st.dictionaries(names, json_values, max_size=5)),
        training=draw(st.none() | st.dictionaries(names, json_values, max_size=5)),
        versions=draw(st.dictionaries(names, names, max_size=5)),
        files=draw(st.dictionaries(st.from_regex(r"[a-z]{1,9}\.json", fullmatch=True), st.just("0" * 64))),
        self_test=draw(st.lists(samples, max_size=3).map(tuple)),
    )


def reversed_everywhere(value: Any) -> Any:
    """Return the same JSON value with every mapping in the opposite order."""
    if isinstance(value, dict):
        return {key: reversed_everywhere(value[key]) for key in reversed(value)}
    return [reversed_everywhere(item) for item in value] if isinstance(value, list) else value


@settings(deadline=None)
@given(manifest=manifests())
def test_manifest_roundtrips(manifest: Manifest) -> None:
    assert parse_manifest(dump_manifest(manifest), path=PATH) == manifest


@settings(deadline=None)
@given(manifest=manifests())
def test_equal_manifests_have_equal_bytes(manifest: Manifest) -> None:
    names_of_mappings = ("special_tokens", "config", "training", "versions", "files")
    backwards = {name: reversed_everywhere(getattr(manifest, name)) for name in names_of_mappings}
    assert dump_manifest(replace(manifest, **backwards)) == dump_manifest(manifest)


@cache
def written_manifest() -> bytes:
    return dump_manifest(replace(MANIFEST, files={"ranks.tiktoken": "0" * 64}))


def test_manifest_truncated_anywhere_is_refused() -> None:
    data = written_manifest().rstrip(b"\n")
    for length in range(len(data)):
        with pytest.raises(ModelFormatError):
            parse_manifest(data[:length], path=PATH)
    parse_manifest(data, path=PATH)


@settings(max_examples=500)
@given(position=st.integers(0, len(written_manifest()) - 1), byte=st.integers(0, 255))
def test_manifest_with_a_changed_byte_is_refused_or_valid(position: int, byte: int) -> None:
    data = bytearray(written_manifest())
    data[position] = byte
    try:
        manifest = parse_manifest(bytes(data), path=PATH)
    except ModelFormatError:
        return
    assert all(0 <= id < manifest.vocab_size for id in manifest.special_tokens.values())
    assert all(is_file_name(name) for name in manifest.files)


@settings(deadline=None)
@given(data=st.binary(max_size=300))
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ModelFormatError):
        parse_manifest(data, path=PATH)


@settings(deadline=None)
@given(changes=st.dictionaries(st.sampled_from(list(Manifest.__slots__)), json_values, min_size=1))
def test_manifest_with_changed_values_is_refused_or_valid(changes: dict[str, Any]) -> None:
    import orjson

    data = orjson.dumps(orjson.loads(written_manifest()) | changes)
    try:
        manifest = parse_manifest(data, path=PATH)
    except ModelFormatError as error:
        assert len(error.message) < 300
    else:
        assert parse_manifest(dump_manifest(manifest), path=PATH) == manifest


@given(data=st.data())
def test_truncated_or_changed_file_is_detected(data: st.DataObject) -> None:
    contents = data.draw(st.binary(min_size=1, max_size=200))
    length = data.draw(st.integers(0, len(contents) - 1))
    flip = data.draw(st.integers(1, 255))
    edited = bytearray(contents)
    edited[length] ^= flip
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "mine"
        write(place, manifest=MANIFEST, files=FILES | {"data.bin": contents})
        manifest = read_manifest(place)
        assert read_files(place, manifest) == FILES | {"data.bin": contents}
        for damaged in (contents[:length], bytes(edited), contents + b"\n"):
            (place / "data.bin").write_bytes(damaged)
            with pytest.raises(ModelFormatError, match=r"data\.bin: expected the recorded sha256"):
                read_files(place, manifest)
        assert read_files(place, manifest, names=FILES) == FILES


@settings(max_examples=200)
@given(name=st.text(max_size=12))
def test_plain_file_name_stays_in_its_folder(name: str) -> None:
    if is_file_name(name):
        assert (Path("/folder") / name).parent == Path("/folder")
        assert Path(name).name == name != MANIFEST_NAME
        assert name.isascii()
