"""The manifest of a saved tokenizer: what its `tokbench.json` says, written and read strictly.

The same manifest gives the same bytes: nothing in it is a time, a machine or a path, the
top-level fields stand in the order of `Manifest`, and every mapping is sorted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tokbench.errors import ModelFormatError, StoreError
from tokbench.files.untrusted import load_json

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST_NAME = "tokbench.json"
FORMAT_VERSION = 1

_SCHEMA_FAMILY = "tokbench.tokenizer/"
_SCHEMA = f"{_SCHEMA_FAMILY}{FORMAT_VERSION}"
_MAX_VOCAB_SIZE = 2**32  # ids are uint32
_MAX_DEPTH = 32  # of JSON values; far above any configuration, far below Python's recursion limit
_MISSING = object()
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RESTORE = "the file was edited or cut: restore it, or train again"


@dataclass(frozen=True, slots=True)
class SelfTestSample:
    """A text and the ids it had when the tokenizer was saved."""

    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a saved tokenizer says of itself.

    Attributes:
        name: how the user calls it.
        backend: the registered backend that made it and can load it.
        kernel: what ran when it was made: "native", "python", or a library with its version.
        vocab_size: entries, special tokens included; every id is below it.
        special_tokens: text → id.
        config: the backend's resolved options, plain JSON.
        training: documents, bytes, fingerprint … of the training text, plain JSON; None where unknown.
        versions: "tokbench", "python" and the libraries that the ids depend on → version.
        files: the other files of the folder → sha256 in hexadecimal; filled in by `store.write`.
        self_test: texts with the ids they must have after loading.
    """

    name: str
    backend: str
    kernel: str
    vocab_size: int
    special_tokens: Mapping[str, int]
    config: Mapping[str, Any]
    training: Mapping[str, Any] | None
    versions: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    self_test: tuple[SelfTestSample, ...] = ()


def is_file_name(name: str) -> bool:
    """Whether a saved tokenizer may hold a file of this name: plain ASCII, one folder deep, not hidden.

    >>> is_file_name("ranks.tiktoken"), is_file_name("../ranks.tiktoken"), is_file_name("tokbench.json")
    (True, False, False)
    """
    return name != MANIFEST_NAME and _FILE_NAME.fullmatch(name) is not None


def dump_manifest(manifest: Manifest) -> bytes:
    """The bytes of `tokbench.json`: indented UTF-8 JSON, the same for equal manifests.

    Raises:
        StoreError: a value has no JSON form (an infinity, an object, a lone surrogate).

    >>> from tokbench.store.manifest import Manifest, dump_manifest
    >>> plain = Manifest("m", "byte", "python", 256, {}, config={}, training=None, versions={})
    >>> dump_manifest(plain).decode().splitlines()[1:4]
    ['  "schema": "tokbench.tokenizer/1",', '  "format_version": 1,', '  "name": "m",']
    """
    import orjson

    try:
        document = {
            "schema": _SCHEMA,
            "format_version": FORMAT_VERSION,
            "name": manifest.name,
            "backend": manifest.backend,
            "kernel": manifest.kernel,
            "vocab_size": manifest.vocab_size,
            "special_tokens": dict(sorted(manifest.special_tokens.items(), key=_by_id)),
            "config": _plain(manifest.config, where="config"),
            "training": _plain(manifest.training, where="training"),
            "versions": _plain(manifest.versions, where="versions"),
            "files": _plain(manifest.files, where="files"),
            "self_test": [
                # A fragment keeps the ids on one line; indented, they would be most of the file.
                {"text": sample.text, "ids": orjson.Fragment(orjson.dumps(sample.ids))}
                for sample in manifest.self_test
            ],
        }
        return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:
        raise StoreError(f"the manifest of {manifest.name!r} has no JSON form: {error}") from error


def parse_manifest(data: bytes, *, path: Path) -> Manifest:
    """The manifest that the bytes of a `tokbench.json` hold; keys it does not know are left aside.

    Args:
        data: the whole file.
        path: what error messages call it.

    Raises:
        ModelFormatError: not JSON, not a manifest, of a newer format, or a field of the wrong kind.
    """
    document = load_json(data, path=path, hint=_RESTORE)
    if not isinstance(document, dict):
        raise ModelFormatError(path, "a JSON object", _describe(document), hint=_RESTORE)
    fields = _Fields(path, document)
    _check_format(fields)
    vocab_size = fields.integer("vocab_size", low=1, high=_MAX_VOCAB_SIZE)
    return Manifest(
        name=fields.text("name"),
        backend=fields.text("backend"),
        kernel=fields.text("kernel"),
        vocab_size=vocab_size,
        special_tokens=_special_tokens(fields.inner("special_tokens"), vocab_size=vocab_size),
        config=fields.json_object("config"),
        training=None if fields.get("training") is None else fields.json_object("training"),
        versions=_texts(fields.inner("versions")),
        files=_files(fields.inner("files")),
        self_test=_self_test(fields, vocab_size=vocab_size),
    )


@dataclass(frozen=True, slots=True)
class _Fields:
    """One object of the manifest, whose fields are asked for by name and kind."""

    path: Path
    values: Mapping[str, Any]
    prefix: str = ""

    def get(self, name: str) -> object:
        return self.values.get(name, _MISSING)

    def wrong(self, name: str, expected: str, *, hint: str = _RESTORE) -> ModelFormatError:
        found = _describe(self.get(name))
        return ModelFormatError(self.path, f"{expected} as {self.prefix}{_short(name)}", found, hint=hint)

    def text(self, name: str) -> str:
        value = self.get(name)
        if not isinstance(value, str) or not value:
            raise self.wrong(name, "a text")
        return value

    def integer(self, name: str, *, low: int, high: int) -> int:
        value = self.get(name)
        if type(value) is not int or not low <= value <= high:  # a bool is an int to isinstance
            raise self.wrong(name, f"a whole number from {low} to {high}")
        return value

    def inner(self, name: str) -> _Fields:
        value = self.get(name)
        if not isinstance(value, dict):
            raise self.wrong(name, "an object")
        return _Fields(self.path, value, f"{self.prefix}{_short(name)}.")

    def json_object(self, name: str) -> dict[str, Any]:
        inner = self.inner(name)
        if _deeper_than(inner.values, _MAX_DEPTH):
            raise ModelFormatError(
                self.path, f"at most {_MAX_DEPTH} levels as {self.prefix}{name}", "more", hint=_RESTORE
            )
        return dict(inner.values)


def _check_format(fields: _Fields) -> None:
    schema = fields.text("schema")
    if not schema.startswith(_SCHEMA_FAMILY):
        raise fields.wrong("schema", f"'{_SCHEMA}'", hint="this file was not written by tokbench")
    version = fields.get("format_version")
    if type(version) is int and version > FORMAT_VERSION:
        raise fields.wrong(
            "format_version",
            f"at most {FORMAT_VERSION}",
            hint="a newer tokbench wrote this tokenizer: pip install --upgrade tokbench",
        )
    if type(version) is not int or version != FORMAT_VERSION:
        raise fields.wrong("format_version", f"{FORMAT_VERSION}")
    if schema != _SCHEMA:
        raise fields.wrong("schema", f"'{_SCHEMA}'")


def _special_tokens(fields: _Fields, *, vocab_size: int) -> dict[str, int]:
    if "" in fields.values:
        raise ModelFormatError(fields.path, "texts as special tokens", "an empty one", hint=_RESTORE)
    return {text: fields.integer(text, low=0, high=vocab_size - 1) for text in fields.values}


def _texts(fields: _Fields) -> dict[str, str]:
    return {name: fields.text(name) for name in fields.values}


def _files(fields: _Fields) -> dict[str, str]:
    for name in fields.values:
        if not is_file_name(name):
            raise ModelFormatError(
                fields.path, "plain file names as files", _describe(name), hint="do not load this folder"
            )
        if _SHA256.fullmatch(fields.text(name)) is None:
            raise fields.wrong(name, "a sha256 in 64 hexadecimal digits")
    return dict(fields.values)


def _self_test(fields: _Fields, *, vocab_size: int) -> tuple[SelfTestSample, ...]:
    samples = fields.get("self_test")
    if not isinstance(samples, list):
        raise fields.wrong("self_test", "a list")
    return tuple(
        _sample(fields.path, sample, where=f"self_test[{index}]", vocab_size=vocab_size)
        for index, sample in enumerate(samples)
    )


def _sample(path: Path, sample: object, *, where: str, vocab_size: int) -> SelfTestSample:
    if not isinstance(sample, dict):
        raise ModelFormatError(path, f"an object as {where}", _describe(sample), hint=_RESTORE)
    fields = _Fields(path, sample, f"{where}.")
    text, ids = fields.get("text"), fields.get("ids")
    if not isinstance(text, str):
        raise fields.wrong("text", "a text")
    if not isinstance(ids, list) or not all(type(each) is int and 0 <= each < vocab_size for each in ids):
        raise fields.wrong("ids", f"a list of ids from 0 to {vocab_size - 1}")
    return SelfTestSample(text, tuple(ids))


def _by_id(special_token: tuple[str, int]) -> tuple[int, str]:
    return special_token[1], special_token[0]


def _plain(value: object, *, where: str, depth: int = 0) -> Any:
    """A copy in JSON's own types with sorted keys; what JSON would change on the way is refused."""
    if depth > _MAX_DEPTH:
        raise StoreError(f"{where} is nested more than {_MAX_DEPTH} levels deep")
    match value:
        case None | bool() | str() | int():
            return value
        case float() if math.isfinite(value):
            return value
        case Mapping() if all(isinstance(key, str) for key in value):
            return {key: _plain(value[key], where=f"{where}.{key}", depth=depth + 1) for key in sorted(value)}
        case Sequence() if not isinstance(value, (bytes, bytearray, memoryview)):
            return [_plain(item, where=f"{where}[]", depth=depth + 1) for item in value]
        case _:
            raise StoreError(f"{where} has no JSON form: {_short(repr(value))} is {type(value).__name__}")


def _deeper_than(value: object, limit: int) -> bool:
    """Whether a JSON value has containers below the given level; stops there, however deep it goes."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return False
    return limit == 0 or any(_deeper_than(item, limit - 1) for item in value)


def _describe(value: object) -> str:
    """A JSON value in the few words that an error message has room for."""
    if value is _MISSING:
        return "nothing"
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)} items"
    if isinstance(value, str):
        return repr(_short(value))
    return {"None": "null", "True": "true", "False": "false"}.get(repr(value), repr(value))


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
