"""The journal of a run, with which another run can continue: one line per shard, on disk before the next shard begins.

The first line is the plan. Each further line describes a shard: its contents, the position in the corpus after its last
document, and the files that were read completely. Each line ends with its CRC-32. A line truncated by a kill is
ignored; a line whose shard has changed is ignored together with all lines after it.
"""

from __future__ import annotations

import dataclasses
import os
import zlib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from tokbench.core.json_fields import Fields, shortened
from tokbench.errors import CorpusError, ModelFormatError, StoreError
from tokbench.files.untrusted_json import load_json
from tokbench.shards.layout import (
    MAX_INDEX_BYTES,
    CorpusEntry,
    ShardEntry,
    ShardIndex,
    corpus_entry,
    shard_entry,
)
from tokbench.shards.plan import PlannedFile
from tokbench.shards.shard_file import sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tokbench.core.progress import Progress
    from tokbench.shards.plan import Plan

JOURNAL_NAME = "journal.jsonl"
_SCHEMA = "tokbench.shards.journal/2"
_CHECKSUM = "crc32"
_CHAT_OPTIONS = {"template": "--chat", "variables": "--var"}
_IDENTITY = ("bytes", "sample", "modified")
START_AGAIN = "--force starts again; --out names another folder"
_NAME_ANOTHER_FOLDER = "name another folder with --out"


@dataclass(slots=True)
class Finished:
    """The progress of a run.

    Attributes:
        shards: the complete shards.
        files: the files that were read completely when the last shard was complete.
        documents: the number of documents of the next file that are in the shards.
    """

    shards: list[ShardEntry] = field(default_factory=list)
    files: list[CorpusEntry] = field(default_factory=list)
    documents: int = 0


class Journal:
    """The journal of one run, which must hold the lock of the folder."""

    def __init__(self, stream: BinaryIO, plan: Plan, finished: Finished) -> None:
        self.plan = plan
        self.finished = finished
        self._stream = stream

    @classmethod
    def begin(cls, folder: Path, plan: Plan) -> Self:
        """Create a journal. Raises `ModelFormatError` for a link in its place, `OSError`."""
        journal = cls(_opened(folder / JOURNAL_NAME), plan, Finished())
        journal._stream.truncate(0)
        journal._append({"schema": _SCHEMA, "plan": plan.to_json()})
        return journal

    @classmethod
    def resume(cls, folder: Path, plan: Plan, *, progress: Progress) -> Self:
        """Open the journal of another run, or create one if that run had not written its plan.

        Its entries are valid as long as the shards' files are unchanged, which is checked by reading them; the first
        changed shard has to be written again, with all shards after it.

        Raises:
            StoreError: the run had another plan.
            CorpusError: the corpus has changed since.
            ModelFormatError: the journal is damaged.
        """
        path = folder / JOURNAL_NAME
        stream = _opened(path)
        stream.seek(0)
        data = stream.read(MAX_INDEX_BYTES + 1)
        if len(data) > MAX_INDEX_BYTES:
            stream.close()
            raise ModelFormatError(path, f"at most {MAX_INDEX_BYTES} bytes", "more", hint=START_AGAIN)
        *lines, _ = data.split(b"\n")
        if not lines:
            stream.close()
            return cls.begin(folder, plan)
        try:
            recorded, *rest = map(_fields_of(path), lines)
            if recorded.values.get("schema") != _SCHEMA:
                raise recorded.wrong("schema", repr(_SCHEMA), hint=START_AGAIN)
            before = recorded.inner("plan")
            refuse_other_plan(before.values, plan.to_json())
            # Keep the names of the first run: the index must not depend on where a run was interrupted.
            plan = dataclasses.replace(
                plan,
                tokenizer=dataclasses.replace(plan.tokenizer, name=before.inner("tokenizer").text("name")),
                files=tuple(map(_planned_file, before.items("files"))),
            )
            finished, kept = _replayed(folder, plan, rest, progress=progress)
        except BaseException:
            stream.close()
            raise
        stream.truncate(sum(len(line) + 1 for line in lines[: kept + 1]))
        stream.seek(0, os.SEEK_END)
        return cls(stream, plan, finished)

    def add(self, shard: ShardEntry, files: list[CorpusEntry], *, documents: int) -> None:
        """Record a shard on disk, the files that ended since the last shard, and the position in the next file."""
        self._append(
            {
                "shard": dataclasses.asdict(shard),
                "files": [dataclasses.asdict(file) for file in files],
                "documents": documents,
            }
        )
        self.finished.shards.append(shard)
        self.finished.files.extend(files)
        self.finished.documents = documents

    def close(self) -> None:
        """Release the journal."""
        self._stream.close()

    def _append(self, document: dict[str, Any]) -> None:
        import orjson

        document = {**document, _CHECKSUM: _checksum(document)}
        self._stream.write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))
        self._stream.flush()
        os.fsync(self._stream.fileno())


def refuse_other_plan(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise an error that names the differences of two plans. Raises `StoreError`, `CorpusError`."""
    changes = list(_changes(before, now))
    if changes:
        more = f", and {len(changes) - 3} more" if len(changes) > 3 else ""
        raise StoreError(
            f"this run cannot be resumed: {', '.join(changes[:3])}{more}",
            hint=f"use the same arguments as the first run; {START_AGAIN}",
        )
    if change := _corpus_change(before.get("files"), now["files"]):
        raise CorpusError(f"this run cannot be resumed: {change}", hint=START_AGAIN)


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in ("format", "dtype"):
        if before.get(name) != now[name]:
            yield f"{name} was {before.get(name)}, and is {now[name]}"
    old, new = _part(before, "tokenizer"), _part(now, "tokenizer")
    if any(old.get(name) != new[name] for name in ("vocabulary", "behaviour")):
        yield f"the tokenizer was {old.get('name')!r}, and this {new['name']!r} is another one"
    old, new = _part(before, "eos"), _part(now, "eos")
    if old.get("id") != new.get("id"):
        yield f"documents ended with {old.get('text', 'nothing')}, and now with {new.get('text', 'nothing')}"
    old, new = _part(before, "options"), _part(now, "options")
    for name, value in new.items():
        if name != "chat" and old.get(name) != value:
            yield f"--{name.replace('_', '-')} was {old.get(name)}, and is {value}"
    yield from _chat_changes(old.get("chat"), new.get("chat"))


def _chat_changes(before: Any, now: Any) -> Iterator[str]:
    if not isinstance(before, dict) or not isinstance(now, dict):
        if before != now:
            yield (
                "they were texts, and are conversations" if now else "they were conversations, and are texts"
            )
        return
    for name in ("template", "train_on", "pack", "date", "variables", "tools"):
        if before.get(name, now[name]) != now[name]:
            option = _CHAT_OPTIONS.get(name, f"--{name.replace('_', '-')}")
            yield f"{option} was {_short_value(before[name])}, and is {_short_value(now[name])}"
    if before.get("template") == now["template"] and before.get("source") != now["source"]:
        yield "the text of the chat template was another one"


def _short_value(value: Any) -> str:
    """Return the value of an option, shortened."""
    if isinstance(value, list | dict):
        import orjson

        value = orjson.dumps(value).decode()
    return shortened(str(value))


def _part(plan: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = plan.get(name)
    return value if isinstance(value, dict) else {}


def _corpus_change(before: Any, now: list[dict[str, Any]]) -> str | None:
    """Describe the difference of two lists of files, regardless of their paths and order."""
    entries = (
        [entry for entry in before if isinstance(entry, dict)] if isinstance(before, list | tuple) else []
    )
    # A finished run has no times, and one by an earlier version no samples.
    keys = [key for key in _IDENTITY if all(entry.get(key) is not None for entry in entries)]
    known = Counter(tuple(entry[key] for key in keys) for entry in entries)
    names = {entry.get("name") for entry in entries}
    for entry in now:
        identity = tuple(entry[key] for key in keys)
        if not known[identity]:
            change = "has changed since" if entry["name"] in names else "is new in the corpus"
            return f"{entry['name']} {change}"
        known[identity] -= 1
    missing = [entry for entry in entries if known[tuple(entry[key] for key in keys)]]
    return f"{missing[0].get('name')} is no longer in the corpus" if missing else None


def _planned_file(fields: Fields) -> PlannedFile:
    return PlannedFile(
        name=fields.text("name"),
        bytes=fields.count("bytes"),
        sample=fields.sha256("sample"),
        modified=fields.count("modified", low=-(2**63), high=2**63),
    )


def _replayed(folder: Path, plan: Plan, lines: list[Fields], *, progress: Progress) -> tuple[Finished, int]:
    """Return the progress of the run, and the number of valid shard lines: those before the first changed shard."""
    finished = Finished()
    tokens = 0
    for number, line in enumerate(lines):
        shard = shard_entry(line.inner("shard"), number=number, format=plan.format)
        progress("checking", tokens, None, "tokens")
        if not _is_whole(folder, plan, shard):
            return finished, number
        tokens += shard.tokens
        finished.shards.append(shard)
        finished.files.extend(map(corpus_entry, line.items("files")))
        finished.documents = line.count("documents")
        if len(finished.files) > len(plan.files):
            raise line.wrong("files", "files of the corpus", hint=START_AGAIN)
    return finished, len(lines)


def _is_whole(folder: Path, plan: Plan, shard: ShardEntry) -> bool:
    """Whether a shard's files are as they were written: after a power failure they may not be."""
    index = ShardIndex(plan.format, plan.dtype, plan.tokenizer, plan.eos, plan.options, (), ())
    sizes, sums = index.sizes(shard), shard.sums
    with suppress(OSError, ModelFormatError):
        return all(
            (folder / name).stat().st_size == size and sha256_of(folder / name) == sums.get(name)
            for name, size in sizes.items()
        )
    return False


def _fields_of(path: Path) -> Callable[[bytes], Fields]:
    def parse(line: bytes) -> Fields:
        fields = Fields.of(load_json(line, path=path, hint=START_AGAIN), path=path, hint=START_AGAIN)
        if fields.values.get(_CHECKSUM) != _checksum(fields.values):
            raise ModelFormatError(
                path, "lines with their checksum", "a line that was changed", hint=START_AGAIN
            )
        return fields

    return parse


def _checksum(document: Mapping[str, Any]) -> int:
    """Return the CRC-32 of a line without its checksum, which protects fields such as the number of documents."""
    import orjson

    return zlib.crc32(orjson.dumps({key: value for key, value in document.items() if key != _CHECKSUM}))


def _opened(path: Path) -> BinaryIO:
    """Open a file of the folder for reading and writing; links are rejected, as their targets are not ours."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise ModelFormatError(path, "a file of this folder", "a link, or no file", hint=_NAME_ANOTHER_FOLDER)
    return path.open("a+b")
