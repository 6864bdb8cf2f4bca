r"""Shards that were written in parts, possibly on several machines: folders of shards, and an index over them.

    index.json                 the index; written last, so that a folder with it is complete
    part-00000/index.json      a folder of shards by itself, see `tokbench.shards.layout`
    part-00000/shard-00000.npy …
    part-00001/…

The documents are those of the parts, in their order, which is that of the corpus. A part of the corpus without a
document has no folder.

    schema      "tokbench.shards/2"
    format, dtype, tokenizer, eos, options
                as in "tokbench.shards/1"; equal in all parts
    parts       folder; index: sha256 of its index.json; shards, documents, tokens, text_bytes: its totals
    total       parts, shards, documents, tokens, text_bytes
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tokbench.core.json_fields import Fields
from tokbench.errors import ModelFormatError
from tokbench.files.untrusted_json import load_json
from tokbench.shards.layout import INDEX_NAME, ShardIndex, parse_index

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

SCHEMA = "tokbench.shards/2"
PLAN_NAME = "plan.json"
"""The plan of an unfinished run."""
PART_FOLDER = re.compile(r"part-[0-9]{5,9}")

_RESTORE = "the folder was edited or is not whole: restore it, or encode again"
_COMMON = ("format", "dtype", "tokenizer", "eos", "options")
_SUMS = ("shards", "documents", "tokens", "text_bytes")


@dataclass(frozen=True, slots=True)
class Part:
    """A complete part.

    Attributes:
        folder: the name of its folder.
        index: its index.
        sha256: the sha256 of its index.json.
    """

    folder: str
    index: ShardIndex
    sha256: str

    @classmethod
    def of(cls, folder: str, data: bytes, *, path: Path) -> Part:
        """Parse its index.json. Raises `ModelFormatError`."""
        return cls(folder, parse_index(data, path=path), hashlib.sha256(data).hexdigest())

    def to_json(self) -> dict[str, Any]:
        """Return its entry in the index over parts."""
        return {"folder": self.folder, "index": self.sha256, **self.sums}

    @property
    def sums(self) -> dict[str, int]:
        """The number of its shards, documents, tokens and bytes of text, by name."""
        total = self.index.to_json()["total"]
        return {name: total[name] for name in _SUMS}


def part_folder(number: int) -> str:
    """Return the name of the folder of a part.

    >>> part_folder(7)
    'part-00007'
    """
    return f"part-{number:05}"


def dump_parts(parts: Sequence[Part]) -> bytes:
    """Return the bytes of the index over parts; there must be at least one, and all must have the same settings."""
    import orjson

    common = parts[0].index.to_json()
    document = {
        "schema": SCHEMA,
        **{name: common[name] for name in _COMMON},
        "parts": [part.to_json() for part in parts],
        "total": _total(parts),
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def is_of_parts(data: bytes) -> bool:
    """Whether these are the bytes of an index over parts."""
    return f'"{SCHEMA}"'.encode() in data[:256]


def joined_index(data: bytes, *, path: Path, read: Callable[[str], bytes]) -> ShardIndex:
    """Return the shards of all parts as one index, with the folder in each file name; see `read_parts`."""
    return joined(read_parts(data, path=path, read=read))


def read_parts(data: bytes, *, path: Path, read: Callable[[str], bytes]) -> list[Part]:
    """Return the parts of an index over parts.

    Args:
        data: the bytes of the index over parts.
        path: the path of the index.
        read: reads a file by its relative name, such as "part-00000/index.json".

    Raises:
        ModelFormatError: an index is damaged, or indexes contradict each other.
        OSError: an index cannot be read.
    """
    fields = Fields.of(load_json(data, path=path, hint=_RESTORE), path=path, hint=_RESTORE)
    fields.choice("schema", (SCHEMA,))
    parts = [_part(inner, path=path, read=read) for inner in fields.items("parts")]
    if not parts:
        raise fields.wrong("parts", "at least one part")
    if [part.folder for part in parts] != sorted({part.folder for part in parts}, key=_number):
        raise fields.wrong("parts", "each part once, in order")
    for part in parts:
        settings = part.index.to_json()
        for name in _COMMON:
            if settings[name] != fields.values.get(name):
                raise ModelFormatError(
                    path.parent / part.folder / INDEX_NAME,
                    f"the {name} of {path}",
                    "a different one",
                    hint=_RESTORE,
                )
    total = fields.inner("total")
    for name, found in _total(parts).items():
        if total.count(name) != found:
            raise total.wrong(name, f"the sum {found}")
    return parts


def joined(parts: Sequence[Part]) -> ShardIndex:
    """Return the shards of the given parts as one index."""
    return replace(
        parts[0].index,
        files=tuple(file for part in parts for file in part.index.files),
        shards=tuple(
            replace(shard, file=f"{part.folder}/{shard.file}")
            for part in parts
            for shard in part.index.shards
        ),
    )


def _part(fields: Fields, *, path: Path, read: Callable[[str], bytes]) -> Part:
    folder = fields.text("folder")
    if not PART_FOLDER.fullmatch(folder):
        raise fields.wrong("folder", "a name as 'part-00000'", hint="do not use this folder")
    part = Part.of(folder, read(f"{folder}/{INDEX_NAME}"), path=path.parent / folder / INDEX_NAME)
    if part.sha256 != fields.sha256("index"):
        raise fields.wrong("index", f"the sha256 {part.sha256[:8]}… of {folder}/{INDEX_NAME}")
    for name, found in part.sums.items():
        if fields.count(name) != found:
            raise fields.wrong(name, f"{found}, as {folder}/{INDEX_NAME} says")
    return part


def _number(folder: str) -> int:
    return int(folder.partition("-")[2])


def _total(parts: Sequence[Part]) -> dict[str, int]:
    sums = [part.sums for part in parts]
    return {"parts": len(parts), **{name: sum(part_sums[name] for part_sums in sums) for name in _SUMS}}
