"""The manifest of a saved tokenizer, `tokbench.json`: strict writing and parsing.

Equal manifests give equal bytes: no time, machine or path is written, the top-level fields have the order of
`Manifest`, and every mapping is sorted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokbench.core.json_fields import Fields, described, shortened
from tokbench.core.manifest import Manifest, SelfTestSample
from tokbench.errors import ModelFormatError, StoreError
from tokbench.files.untrusted_json import load_json

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST_NAME = "tokbench.json"
FORMAT_VERSION = 1

_SCHEMA_FAMILY = "tokbench.tokenizer/"
_SCHEMA = f"{_SCHEMA_FAMILY}{FORMAT_VERSION}"
_MAX_VOCAB_SIZE = 2**32  # ids are uint32
_MAX_DEPTH = 32  # nesting of JSON values, the limit of `Fields.json_object`
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_RESTORE = "the file was edited or cut: restore it, or train again"


def is_file_name(name: str) -> bool:
    """Whether a saved tokenizer may contain a file of this name: plain ASCII, without folders, not hidden.

    >>> is_file_name("ranks.tiktoken"), is_file_name("../ranks.tiktoken"), is_file_name("tokbench.json")
    (True, False, False)
    """
    return name != MANIFEST_NAME and _FILE_NAME.fullmatch(name) is not None


def dump_manifest(manifest: Manifest) -> bytes:
    """Return the bytes of `tokbench.json`: indented UTF-8 JSON, equal for equal manifests.

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
            "special_tokens": dict(sorted(manifest.special_tokens.items(), key=lambda item: item[::-1])),
            "roles": _plain_json(manifest.roles, where="roles"),
            "config": _plain_json(manifest.config, where="config"),
            "training": _plain_json(manifest.training, where="training"),
            "versions": _plain_json(manifest.versions, where="versions"),
            "files": _plain_json(manifest.files, where="files"),
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
    """Parse the bytes of a `tokbench.json`; unknown keys are ignored.

    Args:
        data: the whole file.
        path: its name in error messages.

    Raises:
        ModelFormatError: the data is not JSON, not a manifest, of a newer format, or has a field of the wrong type.
    """
    document = load_json(data, path=path, hint=_RESTORE)
    fields = Fields.of(document, path=path, hint=_RESTORE)
    _check_format(fields)
    vocab_size = fields.count("vocab_size", low=1, high=_MAX_VOCAB_SIZE)
    return Manifest(
        name=fields.nonempty_text("name"),
        backend=fields.nonempty_text("backend"),
        kernel=fields.nonempty_text("kernel"),
        vocab_size=vocab_size,
        special_tokens=_special_tokens(fields.inner("special_tokens"), vocab_size=vocab_size),
        config=fields.json_object("config"),
        training=None if fields.is_null("training") else fields.json_object("training"),
        versions=_texts(fields.inner("versions")),
        files=_files(fields.inner("files")),
        self_test=tuple(
            _sample(sample_fields, vocab_size=vocab_size) for sample_fields in fields.items("self_test")
        ),
        roles=_texts(fields.inner("roles")) if "roles" in fields.values else {},  # missing in older folders
    )


def _check_format(fields: Fields) -> None:
    schema = fields.nonempty_text("schema")
    if not schema.startswith(_SCHEMA_FAMILY):
        raise fields.wrong("schema", f"'{_SCHEMA}'", hint="this file was not written by tokbench")
    version = fields.values.get("format_version")
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


def _special_tokens(fields: Fields, *, vocab_size: int) -> dict[str, int]:
    if "" in fields.values:
        raise ModelFormatError(fields.path, "texts as special tokens", "an empty one", hint=_RESTORE)
    return {text: fields.count(text, low=0, high=vocab_size - 1) for text in fields.values}


def _texts(fields: Fields) -> dict[str, str]:
    return {name: fields.nonempty_text(name) for name in fields.values}


def _files(fields: Fields) -> dict[str, str]:
    for name in fields.values:
        if not is_file_name(name):
            raise ModelFormatError(
                fields.path, "plain file names as files", described(name), hint="do not load this folder"
            )
    return {name: fields.sha256(name) for name in fields.values}


def _sample(fields: Fields, *, vocab_size: int) -> SelfTestSample:
    ids = fields.values.get("ids")
    if not isinstance(ids, list) or not all(type(id) is int and 0 <= id < vocab_size for id in ids):
        raise fields.wrong("ids", f"a list of ids from 0 to {vocab_size - 1}")
    return SelfTestSample(fields.text("text"), tuple(ids))


def _plain_json(value: object, *, where: str, depth: int = 0) -> Any:
    """Return a copy in plain JSON types with sorted keys; values that JSON would alter are rejected."""
    if depth > _MAX_DEPTH:
        raise StoreError(f"{where} is nested more than {_MAX_DEPTH} levels deep")
    match value:
        case None | bool() | str() | int():
            return value
        case float() if math.isfinite(value):
            return value
        case Mapping() if all(isinstance(key, str) for key in value):
            return {
                key: _plain_json(value[key], where=f"{where}.{key}", depth=depth + 1) for key in sorted(value)
            }
        case Sequence() if not isinstance(value, (bytes, bytearray, memoryview)):
            return [_plain_json(item, where=f"{where}[]", depth=depth + 1) for item in value]
        case _:
            raise StoreError(f"{where} has no JSON form: {shortened(repr(value))} is {type(value).__name__}")
