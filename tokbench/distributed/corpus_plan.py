"""A corpus in parts: its files, cut by their names and sizes alone, so that any machine reads the same part."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from tokbench.core.json_fields import Fields
from tokbench.core.wording import first_of
from tokbench.corpus.corpus import Corpus
from tokbench.corpus.document import CorpusOptions
from tokbench.corpus.file_spans import FileSpan
from tokbench.corpus.files import CorpusFile, Kind, LeftOut
from tokbench.corpus.groups import named_parts
from tokbench.errors import CorpusError
from tokbench.files.storage.open import place_of
from tokbench.files.untrusted import load_strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.corpus.file_spans import Cut
    from tokbench.files.storage.place import Place
    from tokbench.files.untrusted import Compression

PART_BYTES = 1_000_000_000
"""Of a part, where the user says nothing else."""

_MAX_PLAN_BYTES = 1 << 30
_RESTORE = "the plan is damaged: delete the folder and start again"


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file of the corpus.

    Attributes:
        address: its path or URL.
        name: what messages call it.
        size: bytes on disk when the plan was made.
        version: what changes when the file does.
        kind: as of `CorpusFile`.
        compression: as of `CorpusFile`.
        below: as of `CorpusFile`.
        named: the parts of the path that groups come from.
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
    """A file of a part, or the bytes of it from `start` to `stop`, which is where the next part looks for its own.

    Attributes:
        file: its number in the plan.
        start: an offset.
        stop: another one; the size of the file for its last part.
    """

    file: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class CorpusPlan:
    """What is done with a corpus, and in which parts.

    Attributes:
        schema: of its file; tells what is done.
        settings: how, as JSON.
        reading: how documents are read: the fields of `CorpusOptions`.
        files: those of the corpus, in order.
        parts: the parts, each with its files.
    """

    schema: str
    settings: Mapping[str, Any]
    reading: Mapping[str, Any]
    files: tuple[PlannedFile, ...]
    parts: tuple[tuple[FilePart, ...], ...]

    def dump(self) -> bytes:
        """The bytes of its file."""
        return (json.dumps(asdict(self), indent=1, sort_keys=True) + "\n").encode()

    @property
    def id(self) -> str:
        """Identifies the plan: the sha256 of its file."""
        return hashlib.sha256(self.dump()).hexdigest()

    @property
    def num_bytes(self) -> int:
        """The size of all files."""
        return sum(file.size for file in self.files)

    def size_of(self, part: int) -> int:
        """About how many bytes a part has."""
        return sum(one.stop - one.start for one in self.parts[part])

    def name_of(self, part: int) -> str:
        """What messages call a part."""
        return f"part {part + 1} of {len(self.parts)} ({first_of([*map(self.name_in, self.parts[part])])})"

    def name_in(self, one: FilePart) -> str:
        """What documents and messages call a file of a part: its name, and which bytes these are if not all."""
        file = self.files[one.file]
        is_whole = (one.start, one.stop) == (0, file.size)
        return file.name if is_whole else f"{file.name}, bytes {one.start:,} to {one.stop:,}"

    def corpus(self, part: int) -> Corpus:
        """The documents of a part. Raises `CorpusError` for a file that is another one now."""
        options = CorpusOptions(**{**self.reading, "text_field": _fields(self.reading["text_field"])})
        files = tuple(self._opened(one, options) for one in self.parts[part])
        return Corpus(files, options=options, left_out=LeftOut())

    def check_unchanged(self, part: int) -> None:
        """Raise `CorpusError` for a file of a part that is not what it was when the plan was made."""
        for one in self.parts[part]:
            file = self.files[one.file]
            if version_of(file.address) != (file.size, file.version):
                raise _changed(file.name)

    def _opened(self, one: FilePart, options: CorpusOptions) -> CorpusFile:
        file = self.files[one.file]
        url = None if place_of(file.address).local is not None else file.address
        opened = CorpusFile(
            Path(file.address),
            file.name,
            file.size,
            file.kind,
            file.compression,
            file.below,
            url=url,
            number=one.file,
            named=file.named,
        )
        if (one.start, one.stop) == (0, file.size):
            return opened
        span = FileSpan(one.start, one.stop, file.size, cut_of(file.kind, options))
        return replace(opened, name=self.name_in(one), size=one.stop - one.start, span=span)


def plan_of(
    corpus: Corpus,
    *,
    schema: str,
    settings: Mapping[str, Any],
    cuts_at_lines: bool = False,
    part_bytes: int = PART_BYTES,
) -> CorpusPlan:
    """Divide a corpus into parts of about this many bytes.

    Args:
        corpus: the documents.
        schema: of the plan's file.
        settings: what is done with them, as JSON.
        cuts_at_lines: whether a document may be cut between two lines.
        part_bytes: what a part has at most, but for a file that cannot be cut: one that is compressed, or a single
            document without a place to cut at.

    Raises:
        CorpusError: a file that can be read only once, or not at all.
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
    """The plan of a folder. Raises `ModelFormatError`; OSError where there is none."""
    with place.open() as file:
        data = file.read(_MAX_PLAN_BYTES)
    fields = Fields.of(
        load_strict_json(data, path=str(place), hint=_RESTORE), path=Path(str(place)), hint=_RESTORE
    )
    fields.choice("schema", (schema,))
    files = tuple(
        PlannedFile(
            address=one.text("address"),
            name=one.text("name"),
            size=one.count("size"),
            version=one.text("version"),
            kind=one.choice("kind", get_args(Kind)),
            compression=one.optional("compression", one.text),  # type: ignore[arg-type]
            below=tuple(one.texts("below")),
            named=tuple(one.texts("named")),
        )
        for one in fields.items("files")
    )
    parts = fields.values.get("parts")
    if not isinstance(parts, list) or not all(isinstance(part, list) and part for part in parts):
        raise fields.wrong("parts", "a list of lists")
    return CorpusPlan(
        schema=schema,
        settings=fields.json_object("settings"),
        reading=fields.json_object("reading"),
        files=files,
        parts=tuple(tuple(_file_part(one, fields, len(files)) for one in part) for part in parts),
    )


def version_of(address: str) -> tuple[int, str]:
    """The size of a file, and what changes when it does. Raises `CorpusError`."""
    try:
        stored = place_of(address).stat()
    except OSError as error:
        raise CorpusError(f"{address}: cannot be read ({error.strerror or error})") from None
    return stored.size, stored.version


def divided(sizes: Sequence[int], can_cut: Sequence[bool], part_bytes: int) -> Iterator[tuple[FilePart, ...]]:
    """Files of some sizes one after another, each part filled before the next is begun, and cut where they can be."""
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
    """Whether a file can be in several parts; a document of several lines only where `cuts_at_lines`."""
    if file.compression is not None:
        return False
    if file.kind != "text" or options.documents != "file":
        return True
    return cuts_at_lines and options.errors == "strict"


def cut_of(kind: Kind, options: CorpusOptions) -> Cut:
    """Where files of a kind are cut."""
    if kind != "text" or options.documents == "lines":
        return "lines"
    return "paragraphs" if options.documents == "paragraphs" else "words"


def _changed(name: str) -> CorpusError:
    return CorpusError(
        f"{name} has changed since the counting began", hint="start again when nobody writes it"
    )


def _fields(value: Any) -> str | tuple[str, ...]:
    return tuple(value) if isinstance(value, list) else value


def _file_part(value: Any, fields: Fields, num_files: int) -> FilePart:
    one = Fields.of(value, path=fields.path, hint=_RESTORE, prefix="parts.")
    return FilePart(one.count("file", high=num_files - 1), one.count("start"), one.count("stop"))
