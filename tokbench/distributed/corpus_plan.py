"""A corpus in parts: its files, divided by their names and sizes alone, so that every machine reads the same part."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from tokbench.core.json_fields import Fields
from tokbench.core.wording import first_of
from tokbench.corpus.corpus import Corpus
from tokbench.corpus.document import CorpusOptions
from tokbench.corpus.file_spans import FileSpan
from tokbench.corpus.files import CorpusFile, Kind, LeftOut
from tokbench.corpus.groups import named_parts
from tokbench.distributed.tasks import Slice
from tokbench.errors import ConfigError, CorpusError
from tokbench.files.storage.open import is_of_this_process, place_of
from tokbench.files.untrusted_json import load_strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.corpus.file_spans import Cut
    from tokbench.distributed.tasks import Engine
    from tokbench.files.storage.place import Place
    from tokbench.files.untrusted import Compression

PART_BYTES = 1_000_000_000
"""The default size of a part."""
MAX_PARTS = 100_000
"""The maximum number of parts; each costs the files and the time of a task."""

_MAX_PLAN_BYTES = 1 << 30
_RESTORE = "the plan is damaged: delete the folder and start again"


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file of the corpus.

    Attributes:
        address: its path or URL.
        name: its name in messages.
        size: bytes on disk when the plan was made.
        version: a value that changes when the file does.
        kind: as in `CorpusFile`.
        compression: as in `CorpusFile`.
        below: as in `CorpusFile`.
        named: the path components that determine groups.
    """

    address: str
    name: str
    size: int
    version: str
    kind: Kind
    compression: Compression | None
    below: tuple[str, ...]
    named: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file of a part, or the span of it from `start` to `stop`, where the next part begins.

    Attributes:
        file: the index of the file in the plan.
        start: the offset at which the span begins.
        stop: the offset at which it ends; the size of the file for its last part.
    """

    file: int
    start: int
    stop: int


@dataclass(frozen=True)
class CorpusPlan:
    """What is done with a corpus, and in which parts.

    Attributes:
        schema: the schema of the plan's file, which names the kind of work.
        settings: the settings of the work, as JSON.
        reading: how documents are read: the fields of `CorpusOptions`.
        files: the files of the corpus, in order.
        parts: the parts, each with its files.
    """

    schema: str
    settings: Mapping[str, Any]
    reading: Mapping[str, Any]
    files: tuple[PlannedFile, ...]
    parts: tuple[tuple[FilePart, ...], ...]

    def dump(self) -> bytes:
        """Return the bytes of the plan's file."""
        return (json.dumps(asdict(self), indent=1, sort_keys=True) + "\n").encode()

    @cached_property
    def id(self) -> str:
        """The identity of the plan: the sha256 of its file, which is as long as the plan has files and parts."""
        return hashlib.sha256(self.dump()).hexdigest()

    @property
    def num_bytes(self) -> int:
        """The size of all files."""
        return sum(file.size for file in self.files)

    def size_of(self, part: int) -> int:
        """Return the approximate number of bytes of a part."""
        return sum(file_part.stop - file_part.start for file_part in self.parts[part])

    def slice_of(self, part: int, arguments: Mapping[str, Any]) -> Slice:
        """Return a part as a slice with these arguments of its task."""
        return Slice(
            f"part {part + 1} of {len(self.parts)}",
            arguments,
            max(self.size_of(part), 1),
            contents=first_of([*map(self.name_in, self.parts[part])]),
            files=[self.files[file_part.file].name for file_part in self.parts[part]],
        )

    def name_in(self, file_part: FilePart) -> str:
        """Return the name of a part's file in documents and messages, with its byte range if it is not whole."""
        file = self.files[file_part.file]
        is_whole = (file_part.start, file_part.stop) == (0, file.size)
        return file.name if is_whole else f"{file.name}, bytes {file_part.start:,} to {file_part.stop:,}"

    def corpus(self, part: int) -> Corpus:
        """Return the documents of a part. Raises `CorpusError` for a file that has changed."""
        options = CorpusOptions(**{**self.reading, "text_field": _fields(self.reading["text_field"])})
        files = tuple(self._opened(file_part, options) for file_part in self.parts[part])
        return Corpus(files, options=options, left_out=LeftOut())

    def check_unchanged(self, part: int) -> None:
        """Raise `CorpusError` if a file of a part has changed since the plan was made."""
        for file_part in self.parts[part]:
            file = self.files[file_part.file]
            if version_of(file.address) != (file.size, file.version):
                raise _changed(file.name)

    def _opened(self, file_part: FilePart, options: CorpusOptions) -> CorpusFile:
        file = self.files[file_part.file]
        url = None if place_of(file.address).local is not None else file.address
        opened = CorpusFile(
            Path(file.address),
            file.name,
            file.size,
            file.kind,
            file.compression,
            file.below,
            url=url,
            number=file_part.file,
            named=file.named,
        )
        if (file_part.start, file_part.stop) == (0, file.size):
            return opened
        span = FileSpan(file_part.start, file_part.stop, file.size, cut_of(file.kind, options))
        return replace(opened, name=self.name_in(file_part), size=file_part.stop - file_part.start, span=span)


def plan_of(
    corpus: Corpus,
    *,
    schema: str,
    settings: Mapping[str, Any],
    cuts_at_lines: bool = False,
    part_bytes: int = PART_BYTES,
) -> CorpusPlan:
    """Divide a corpus into parts of about `part_bytes` bytes.

    Args:
        corpus: the documents.
        schema: the schema of the plan's file.
        settings: the settings of the work, as JSON.
        cuts_at_lines: whether a document may be cut between two lines.
        part_bytes: the size limit of a part; files that cannot be cut may exceed it: compressed ones, and single
            documents without a position to cut at.

    Raises:
        CorpusError: a file can be read only once, or not at all.
    """
    for file in corpus.files:
        if file.stream:
            raise CorpusError(
                f"{file.name} can be read only once, and not in parts", hint="save it to a file and name that"
            )
    files = tuple(_planned(file) for file in corpus.files)
    can_cut = [can_be_cut(file, corpus.options, cuts_at_lines=cuts_at_lines) for file in files]
    return CorpusPlan(
        schema=schema,
        settings=dict(settings),
        reading={**asdict(corpus.options), "text_field": list(corpus.options.text_fields)},
        files=files,
        parts=tuple(divided([file.size for file in files], can_cut, part_bytes)),
    )


def read_plan(place: Place, *, schema: str) -> CorpusPlan:
    """Read the plan of a folder. Raises `ModelFormatError`; OSError if there is none."""
    with place.open() as file:
        data = file.read(_MAX_PLAN_BYTES)
    fields = Fields.of(
        load_strict_json(data, path=str(place), hint=_RESTORE), path=Path(str(place)), hint=_RESTORE
    )
    fields.choice("schema", (schema,))
    files = tuple(
        PlannedFile(
            address=entry.text("address"),
            name=entry.text("name"),
            size=entry.count("size"),
            version=entry.text("version"),
            kind=entry.choice("kind", get_args(Kind)),
            compression=entry.optional("compression", entry.text),  # type: ignore[arg-type]
            below=tuple(entry.texts("below")),
            named=tuple(entry.texts("named")),
        )
        for entry in fields.items("files")
    )
    parts = fields.values.get("parts")
    if not isinstance(parts, list) or not all(isinstance(part, list) and part for part in parts):
        raise fields.wrong("parts", "a list of lists")
    return CorpusPlan(
        schema=schema,
        settings=fields.json_object("settings"),
        reading=fields.json_object("reading"),
        files=files,
        parts=tuple(tuple(_file_part(entry, fields, len(files)) for entry in part) for part in parts),
    )


def version_of(address: str) -> tuple[int, str]:
    """Return the size of a file, and a value that changes when the file does. Raises `CorpusError`."""
    try:
        stored = place_of(address).stat()
    except OSError as error:
        raise CorpusError(f"{address}: cannot be read ({error.strerror or error})") from None
    return stored.size, stored.version


def refuse_unshared(corpus: Corpus, engine: Engine) -> None:
    """Raise `CorpusError`, before any work, if other processes are to read a file in the memory of this one."""
    if engine.is_in_process:
        return
    for file in corpus.files:
        if is_of_this_process(file.address):
            raise CorpusError(
                f"{file.name} is in the memory of this process alone",
                hint="save it to a file or URL that every worker can read",
            )


def divided(sizes: Sequence[int], can_cut: Sequence[bool], part_bytes: int) -> Iterator[tuple[FilePart, ...]]:
    """Yield parts of consecutive files: a part is filled before the next begins, and files are cut where possible.

    Raises `ConfigError` if these would be more than `MAX_PARTS`.
    """
    for number, part in enumerate(_divided(sizes, can_cut, part_bytes)):
        if number == MAX_PARTS:
            raise ConfigError(
                f"--part-bytes {part_bytes} divides the corpus into more than {MAX_PARTS:,} parts",
                hint=f"choose at least {-(-2 * sum(sizes) // MAX_PARTS)}",
            )
        yield part


def _divided(
    sizes: Sequence[int], can_cut: Sequence[bool], part_bytes: int
) -> Iterator[tuple[FilePart, ...]]:
    part: list[FilePart] = []
    room = part_bytes
    for number, size in enumerate(sizes):
        start = 0
        while can_cut[number] and size - start > room:
            part.append(FilePart(number, start, start + room))
            start += room
            yield tuple(part)
            part, room = [], part_bytes
        if part and size - start > room:
            yield tuple(part)
            part, room = [], part_bytes
        if size > start or size == 0:
            part.append(FilePart(number, start, size))
            room -= size - start
        if room <= 0:
            yield tuple(part)
            part, room = [], part_bytes
    if part:
        yield tuple(part)


def _planned(file: CorpusFile) -> PlannedFile:
    address = file.address if file.url else str(file.path.absolute())
    size, version = version_of(address)
    if size != file.size:
        raise _changed(file.name)
    return PlannedFile(
        address,
        file.name,
        size,
        version,
        file.kind,
        file.compression,
        file.below,
        named_parts(file),
    )


def can_be_cut(file: PlannedFile | CorpusFile, options: CorpusOptions, *, cuts_at_lines: bool) -> bool:
    """Whether a file may be in several parts; a document of several lines only if `cuts_at_lines`."""
    if file.compression is not None:
        return False
    if file.kind != "text" or options.documents != "file":
        return True
    return cuts_at_lines and options.errors == "strict"


def cut_of(kind: Kind, options: CorpusOptions) -> Cut:
    """Return where files of a kind may be cut."""
    if kind != "text" or options.documents == "lines":
        return "lines"
    return "paragraphs" if options.documents == "paragraphs" else "words"


def _changed(name: str) -> CorpusError:
    return CorpusError(
        f"{name} has changed since the run was planned", hint="start again when no other program writes to it"
    )


def _fields(value: Any) -> str | tuple[str, ...]:
    return tuple(value) if isinstance(value, list) else value


def _file_part(value: Any, fields: Fields, num_files: int) -> FilePart:
    part_fields = Fields.of(value, path=fields.path, hint=_RESTORE, prefix="parts.")
    return FilePart(
        part_fields.count("file", high=num_files - 1), part_fields.count("start"), part_fields.count("stop")
    )
