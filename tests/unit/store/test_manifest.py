"""Tests for the manifest: equal contents give equal bytes, and every wrong field is named."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tokbench.core.manifest import Manifest, SelfTestSample
from tokbench.errors import ModelFormatError, StoreError
from tokbench.store.manifest import dump_manifest, is_file_name, parse_manifest

PATH = Path("tokenizers/mine/tokbench.json")
MANIFEST = Manifest(
    name="mine",
    backend="bpe",
    kernel="native",
    vocab_size=300,
    special_tokens={"<|end|>": 298, "<|pad|>": 299},
    config={"pattern": "gpt4", "min_frequency": 2, "nested": {"list": [1, 2.5, None, True]}},
    training={"documents": 3, "num_bytes": 1000, "fingerprint": "ab12"},
    versions={"tokbench": "0.1.0", "python": "3.11.7", "regex": "2025.9.1"},
    files={"ranks.tiktoken": "0" * 64},
    self_test=(SelfTestSample("hé\n", (104, 195, 169, 10)), SelfTestSample("", ())),
)


def document(**changes: Any) -> bytes:
    """Return the manifest's JSON with changed fields; a field whose value is `...` is left out."""
    fields = json.loads(dump_manifest(MANIFEST)) | changes
    return json.dumps({name: value for name, value in fields.items() if value is not ...}).encode()


def test_dumped_manifest_is_parsed_back() -> None:
    assert parse_manifest(dump_manifest(MANIFEST), path=PATH) == MANIFEST
    without_training = replace(MANIFEST, training=None)
    assert parse_manifest(dump_manifest(without_training), path=PATH) == without_training


def test_layout_is_fixed_and_readable() -> None:
    lines = dump_manifest(MANIFEST).decode().splitlines()
    assert lines[:4] == [
        "{",
        '  "schema": "tokbench.tokenizer/1",',
        '  "format_version": 1,',
        '  "name": "mine",',
    ]
    assert '      "ids": [104,195,169,10]' in lines
    assert list(json.loads(dump_manifest(MANIFEST))) == [
        *["schema", "format_version", "name", "backend", "kernel", "vocab_size", "special_tokens", "roles"],
        *["config", "training", "versions", "files", "self_test"],
    ]


def test_special_tokens_are_sorted_by_id() -> None:
    shuffled = replace(MANIFEST, special_tokens={"z": 7, "a": 9, "m": 8})
    assert list(json.loads(dump_manifest(shuffled))["special_tokens"]) == ["z", "m", "a"]


def test_every_mapping_and_sequence_type_is_written_as_json() -> None:
    frozen = replace(MANIFEST, config=MappingProxyType({"sizes": (1, 2)}))
    assert parse_manifest(dump_manifest(frozen), path=PATH).config == {"sizes": [1, 2]}


class Colour(Enum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (float("inf"), "config.x"),
        (float("nan"), "config.x"),
        (b"bytes", "config.x"),
        (Path("x"), "config.x"),
        (Colour.RED, "config.x"),
        ({1: 2}, "config.x"),
        ([{1, 2}], "config.x[]"),
        (2**70, "64-bit"),
        ("\ud800", "UTF-8"),
    ],
)
def test_value_without_a_json_form_is_refused(value: object, named: str) -> None:
    with pytest.raises(StoreError, match="no JSON form") as caught:
        dump_manifest(replace(MANIFEST, config={"x": value}))
    assert named in caught.value.message


def test_circular_config_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless
    with pytest.raises(StoreError, match="nested more than 32 levels"):
        dump_manifest(replace(MANIFEST, config=endless))


def test_unknown_keys_are_ignored() -> None:
    sample = {"text": "a", "ids": [97], "why": "later versions may say more"}
    manifest = parse_manifest(document(colour="red", self_test=[sample]), path=PATH)
    assert manifest == replace(MANIFEST, self_test=(SelfTestSample("a", (97,)),))


def test_newer_format_version_is_refused_with_a_hint() -> None:
    with pytest.raises(ModelFormatError) as caught:
        parse_manifest(document(schema="tokbench.tokenizer/2", format_version=2), path=PATH)
    assert caught.value.message == f"{PATH}: expected at most 1 as format_version, found 2"
    assert caught.value.hint is not None
    assert "newer tokbench" in caught.value.hint


@pytest.mark.parametrize(
    ("changes", "expected", "found"),
    [
        ({"schema": ...}, "a string as schema", "nothing"),
        ({"schema": "other/1"}, "'tokbench.tokenizer/1' as schema", "'other/1'"),
        ({"schema": "tokbench.tokenizer/7"}, "'tokbench.tokenizer/1' as schema", "'tokbench.tokenizer/7'"),
        ({"format_version": 0}, "1 as format_version", "0"),
        ({"format_version": True}, "1 as format_version", "true"),
        ({"format_version": 1.0}, "1 as format_version", "1.0"),
        ({"format_version": "1"}, "1 as format_version", "'1'"),
        ({"name": ""}, "a string as name", "''"),
        ({"name": 3}, "a string as name", "3"),
        ({"backend": None}, "a string as backend", "null"),
        ({"kernel": ["native"]}, "a string as kernel", "a list of 1 items"),
        ({"vocab_size": 0}, "a whole number from 1 to 4294967296 as vocab_size", "0"),
        ({"vocab_size": True}, "a whole number from 1 to 4294967296 as vocab_size", "true"),
        ({"vocab_size": 10**30}, "a whole number from 1 to 4294967296 as vocab_size", "1e+30"),
        ({"vocab_size": 2**33}, "a whole number from 1 to 4294967296 as vocab_size", "8589934592"),
        ({"special_tokens": []}, "an object as special_tokens", "a list of 0 items"),
        ({"special_tokens": {"": 1}}, "texts as special tokens", "an empty one"),
        ({"special_tokens": {"<s>": 300}}, "a whole number from 0 to 299 as special_tokens.<s>", "300"),
        ({"special_tokens": {"<s>": -1}}, "a whole number from 0 to 299 as special_tokens.<s>", "-1"),
        ({"config": None}, "an object as config", "null"),
        ({"training": 3}, "an object as training", "3"),
        ({"training": ...}, "an object as training", "nothing"),
        ({"versions": {"python": 3}}, "a string as versions.python", "3"),
        ({"files": {"../x": "0" * 64}}, "plain file names as files", "'../x'"),
        ({"files": {"/etc/passwd": "0" * 64}}, "plain file names as files", "'/etc/passwd'"),
        ({"files": {"tokbench.json": "0" * 64}}, "plain file names as files", "'tokbench.json'"),
        ({"files": {"a.txt": "0" * 63}}, "a sha256 in 64 hexadecimal digits as files.a.txt", None),
        ({"files": {"a.txt": "F" * 64}}, "a sha256 in 64 hexadecimal digits as files.a.txt", None),
        ({"self_test": {}}, "a list as self_test", "an object"),
        ({"self_test": [3]}, "an object as self_test[0]", "3"),
        ({"self_test": [{"ids": []}]}, "a string as self_test[0].text", "nothing"),
        (
            {"self_test": [{"text": "a", "ids": [1, 300]}]},
            "a list of ids from 0 to 299 as self_test[0].ids",
            None,
        ),
        (
            {"self_test": [{"text": "a", "ids": [True]}]},
            "a list of ids from 0 to 299 as self_test[0].ids",
            None,
        ),
    ],
)
def test_invalid_field_is_named(changes: dict[str, Any], expected: str, found: str | None) -> None:
    with pytest.raises(ModelFormatError) as caught:
        parse_manifest(document(**changes), path=PATH)
    assert caught.value.path == PATH
    assert caught.value.expected == expected
    assert found is None or caught.value.found == found
    assert caught.value.hint


@pytest.mark.parametrize(
    "data",
    [
        *[b"", b"\x00" * 100, b"null", b"[]", b"NaN", b"\xef\xbb\xbf{}", b'{"schema": "\\ud800"}'],
        *[b'{"schema": "\xff"}', b"[" * 100_000, b'{"a":' * 100_000, b"9" * 100_000, b"1e999"],
        b"\x80\x04\x95pickle",
    ],
)
def test_manifest_that_is_no_json_object_is_refused(data: bytes) -> None:
    with pytest.raises(ModelFormatError):
        parse_manifest(data, path=PATH)


@pytest.mark.parametrize("field", ["config", "training"])
def test_deep_nesting_is_refused(field: str) -> None:
    deep: Any = 0
    for _ in range(40):
        deep = [deep]
    with pytest.raises(ModelFormatError, match="at most 32 levels"):
        parse_manifest(document(**{field: {"x": deep}}), path=PATH)


def test_long_value_is_truncated_in_the_message() -> None:
    with pytest.raises(ModelFormatError) as caught:
        parse_manifest(document(schema="x" * 10_000), path=PATH)
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    "name",
    [
        *["", ".", "..", ".hidden", "a/b", "a\\b", "/a"],
        *["a\0b", "a b", "ä", "-a", "a" * 200, "tokbench.json", "a\n"],
    ],
)
def test_unsafe_file_names_are_recognized(name: str) -> None:
    assert not is_file_name(name)


@pytest.mark.parametrize(
    "name", ["ranks.tiktoken", "tokenizer.json", "tokenizer_config.json", "a..b", "_x", "7"]
)
def test_plain_file_names_are_recognized(name: str) -> None:
    assert is_file_name(name)
