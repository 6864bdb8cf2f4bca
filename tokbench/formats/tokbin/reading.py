"""Reading of tokbin files: mapped into memory, each part checked before it is used."""

from __future__ import annotations

import mmap
import os
import stat
import sys
import zlib
from array import array
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.core.descriptions import TokenFlags
from tokbench.core.post_processing import NOTHING
from tokbench.core.token_table import MergeTable, TokenTable
from tokbench.errors import ModelFormatError, StoreError
from tokbench.formats.post_processors import UnknownPostProcessingError, parse_post_processing
from tokbench.formats.tokbin import layout
from tokbench.formats.tokbin.layout import Flag, Kind, Model, Section, Texts
from tokbench.formats.tokenizer_config.fields import TokenizerConfig
from tokbench.formats.tokenizer_config.files import load_config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.core.descriptions import PostProcessing

_NO_ID = int(Kind.NONE)  # as access to an enumeration is slow
_RESTORE = "the file is damaged: convert again, or restore it"
_ALL_FLAGS = int(Flag.LOSSLESS | Flag.WHOLE_TOKENS_FIRST | Flag.CONFIG | Flag.INPUT)
_ENTRY_BYTES = {Section.KINDS: 1, Section.OFFSETS: 4, Section.SCORES: 4, Section.MERGES: 12}
_NUMBERS: dict[Section, Any] = {  # their format characters for `memoryview.cast`
    Section.KINDS: "B",
    Section.OFFSETS: "I",
    Section.SCORES: "f",
    Section.MERGES: "I",
}
_FLAGS = ("lstrip", "rstrip", "single_word", "normalized")


class _Place(NamedTuple):
    start: int
    length: int
    checksum: int


def is_tokbin(head: bytes) -> bool:
    r"""Whether a file that begins with these bytes is, or was meant to be, a tokbin.

    >>> is_tokbin(b"\x93TOKBIN\n\x01\x00"), is_tokbin(b"{}")
    (True, False)
    """
    return head.startswith(layout.MAGIC)


class TokbinFile:
    """A mapped tokbin file: `token_bytes` is only arithmetic, everything else is read on demand.

    Truncating the file while it is in use invalidates the mapped memory; a file that is replaced by renaming, as
    `tokbench convert` does, stays valid for processes that have it open.

    Attributes:
        path: its name in error messages.
        model: the model type.
        num_ids: one more than the largest id.
        num_merges: the number of listed merges.
        lossless: whether decoding restores every text.
        whole_tokens_first: whether a pre-token that is in the vocabulary becomes that token without a merge.
        texts: the strings of its text section.
        special_tokens: text → id.
    """

    def __init__(self, data: bytes | mmap.mmap, *, path: Path | str) -> None:
        """Check header, table, texts and special tokens. Raises `ModelFormatError`."""
        self.path = path
        self._data = data
        self._checked: set[Section] = set()
        self._views: dict[Section, memoryview] = {}
        self._read_header()
        self._places = self._read_table()
        self.texts = self._read_texts()
        self.special_tokens = self._read_special_tokens()

    @classmethod
    def open(cls, path: Path | str) -> TokbinFile:
        """Map a file. Raises `ModelFormatError` if it is not a tokbin file, `StoreError` if it cannot be read."""
        try:
            with Path(path).open("rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode) or status.st_size < layout.HEADER.size:
                    raise ModelFormatError(path, "a tokbin file", "something shorter than its header")
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise StoreError(f"{path} cannot be read: {error}", hint="name a .tokbin file") from None
        return cls(data, path=path)

    def token_bytes(self, id: int) -> bytes | None:
        """Return the bytes of an id, also of special tokens; None if there is no such id."""
        if not 0 <= id < self.num_ids or self.kinds[id] == _NO_ID:
            return None
        offsets, start = self._byte_places
        return self._data[start + offsets[id] : start + offsets[id + 1]]

    def tokens(self) -> TokenTable:
        """Return the bytes of every id, including special tokens."""
        kinds = self.kinds.tobytes()
        gaps, id = [], kinds.find(_NO_ID)
        while id >= 0:
            gaps.append(id)
            id = kinds.find(_NO_ID, id + 1)
        return TokenTable(self._section(Section.BYTES), self._view(Section.OFFSETS), gaps)

    @cached_property
    def kinds(self) -> memoryview:
        """uint8[num_ids]: the `Kind` of each id."""
        return self._view(Section.KINDS)

    @property
    def scores(self) -> memoryview:
        """float32[num_ids]; see `tokbench.formats.tokbin.layout`."""
        return self._view(Section.SCORES)

    @property
    def merges(self) -> MergeTable:
        """Left, right and merged id of each merge, in the order of the ranks; empty if none are listed."""
        if Section.MERGES not in self._places:
            return MergeTable(memoryview(b"").cast("I"))
        return MergeTable(self._view(Section.MERGES))

    def payload(self) -> bytes:
        """Return the decompressed data for the library; empty for models without. Raises `ModelFormatError`."""
        if Section.PAYLOAD not in self._places:
            return b""
        decompressor = zlib.decompressobj()
        try:
            data = decompressor.decompress(self._section(Section.PAYLOAD), self._payload_size)
            rest = decompressor.decompress(decompressor.unconsumed_tail, 1)
        except zlib.error as error:
            raise self._wrong("a packed payload", str(error)) from None
        whole = decompressor.eof and not decompressor.unused_data
        if rest or not whole or len(data) != self._payload_size:
            raise self._wrong(f"a payload of {self._payload_size} bytes", "another size")
        return data

    def config(self) -> TokenizerConfig:
        """Return the configuration for a model; an empty one if the file has none. Raises `ModelFormatError`."""
        if Section.CONFIG not in self._places:
            return TokenizerConfig()
        if self._places[Section.CONFIG].length > layout.MAX_CONFIG:
            raise self._wrong(f"at most {layout.MAX_CONFIG} bytes in section 9", "more")
        try:
            return load_config(self._section(Section.CONFIG), name=Path(self.path).name)
        except ValueError as error:
            raise self._wrong("a configuration as JSON", str(error)) from None

    def input(self) -> tuple[dict[str, TokenFlags], PostProcessing]:
        """Return the flags of special tokens, and the post-processing. Raises `ModelFormatError`."""
        if Section.INPUT not in self._places:
            return {}, NOTHING
        try:
            flags, post_processing = _parse_input(self._section(Section.INPUT))
        except ValueError as error:
            raise self._wrong("a section of what a model gets", str(error)) from None
        if not flags.keys() <= self.special_tokens.keys():
            raise self._wrong("flags of special tokens", "those of another text")
        return flags, post_processing

    def verify(self) -> None:
        """Check every section now, rather than each on first use. Raises `ModelFormatError`."""
        for section in self._places:
            self._check(section)
        for section in _NUMBERS:
            if section in self._places:
                self._view(section)
        self.payload()
        self.config()
        self.input()

    # --- header and table ---------------------------------------------------------------------

    def _read_header(self) -> None:
        data = self._data
        if len(data) < layout.HEADER.size or not is_tokbin(data[: len(layout.MAGIC)]):
            raise self._wrong("a tokbin file", "another magic number", hint="name a .tokbin file")
        (
            _,
            version,
            model,
            flags,
            self.num_ids,
            self.num_merges,
            self._num_special,
            num_sections,
            file_size,
            self._payload_size,
            zeros,
            checksum,
        ) = layout.HEADER.unpack_from(data)
        if version != layout.VERSION:
            raise self._wrong(
                f"version {layout.VERSION} of the format",
                f"version {version}",
                hint="a newer tokbench wrote it: upgrade, or convert again",
            )
        if file_size != len(data):
            raise self._wrong(f"{file_size} bytes", f"{len(data)}")
        if num_sections > len(Section) or layout.HEADER.size + num_sections * layout.ENTRY.size > len(data):
            raise self._wrong(f"at most {len(Section)} sections", f"{num_sections}")
        table = data[layout.HEADER.size : layout.HEADER.size + num_sections * layout.ENTRY.size]
        if zlib.crc32(table, zlib.crc32(data[: layout.HEADER.size - layout.LENGTH.size])) != checksum:
            raise self._wrong("the checksum of its header", "a different one")
        if model not in list(Model) or flags & ~_ALL_FLAGS or any(zeros):
            raise self._wrong("a model and flags that are known", f"model {model}, flags {flags:#x}")
        if self._payload_size > layout.MAX_PAYLOAD:
            raise self._wrong(f"a payload of at most {layout.MAX_PAYLOAD} bytes", f"{self._payload_size}")
        self.model = Model(model)
        self.lossless = bool(flags & Flag.LOSSLESS)
        self.whole_tokens_first = bool(flags & Flag.WHOLE_TOKENS_FIRST)
        self._has_config = bool(flags & Flag.CONFIG)
        self._has_input = bool(flags & Flag.INPUT)
        self._table = table

    def _read_table(self) -> dict[Section, _Place]:
        """Return the places of the sections: exactly those of the model, contiguous up to the end of the file."""
        expected = layout.sections_of(self.model, config=self._has_config, model_input=self._has_input)
        entries = list(layout.ENTRY.iter_unpack(self._table))
        if [entry[0] for entry in entries] != list(expected):
            raise self._wrong(f"the sections of a {self.model.name} model", f"{[e[0] for e in entries]}")
        places: dict[Section, _Place] = {}
        position = layout.HEADER.size + layout.ENTRY.size * len(entries)
        for kind, checksum, start, length in entries:
            if start != position or length > len(self._data) - position:
                raise self._wrong(f"section {kind} at byte {position}, in the file", f"{length} at {start}")
            places[Section(kind)] = _Place(start, length, checksum)
            position += layout.filled(length)
        if position != len(self._data):
            raise self._wrong(f"sections up to byte {len(self._data)}", f"up to {position}")
        self._check_lengths(places)
        return places

    def _check_lengths(self, places: Mapping[Section, _Place]) -> None:
        counts = {
            Section.KINDS: self.num_ids,
            Section.OFFSETS: self.num_ids + 1,
            Section.SCORES: self.num_ids,
            Section.MERGES: self.num_merges,
        }
        if self.num_merges and Section.MERGES not in places:
            raise self._wrong("no merges", f"{self.num_merges}")
        for section, count in counts.items():
            if section in places and places[section].length != count * _ENTRY_BYTES[section]:
                raise self._wrong(f"{count} entries in section {section}", f"{places[section].length} bytes")

    # --- sections -----------------------------------------------------------------------------

    def _check(self, section: Section) -> _Place:
        """Return the place of a section after verifying its checksum."""
        place = self._places[section]
        if section not in self._checked:
            stop = place.start + layout.filled(place.length)
            with memoryview(self._data) as view, view[place.start : stop] as part:
                right = zlib.crc32(part) == place.checksum and not any(part[place.length :])
            if not right:
                name = section.name.lower()
                raise self._wrong(f"the checksum of section {section.value} ({name})", "a different one")
            self._checked.add(section)
        return place

    def _section(self, section: Section) -> bytes:
        place = self._check(section)
        return self._data[place.start : place.start + place.length]

    def _view(self, section: Section) -> memoryview:
        """Return a section as checked numbers in the mapped memory."""
        if section not in self._views:
            place, format = self._check(section), _NUMBERS[section]
            view = memoryview(self._data)[place.start : place.start + place.length].cast(format)
            if sys.byteorder == "big" and view.itemsize > 1:
                numbers = array(format, view)
                numbers.byteswap()
                view = memoryview(numbers)
            self._check_values(section, view)
            self._views[section] = view
        return self._views[section]

    def _check_values(self, section: Section, view: memoryview) -> None:
        match section:
            case Section.OFFSETS:
                offsets = view.tolist()
                stop = self._places[Section.BYTES].length
                if offsets[0] != 0 or offsets[-1] != stop or sorted(offsets) != offsets:
                    raise self._wrong("ascending offsets up to the end of the bytes", "different ones")
            case Section.KINDS:
                kinds, special = view.tobytes(), self.special_tokens.values()
                if unknown := kinds.translate(None, bytes(Kind)):
                    raise self._wrong("kinds that are known", f"kind {max(unknown)}")
                if kinds.count(Kind.SPECIAL) != len(special) or any(
                    kinds[id] != Kind.SPECIAL for id in special
                ):
                    raise self._wrong("the special tokens among the kinds", "different ones")
            case Section.MERGES:
                largest = max(view.tolist(), default=-1)
                if largest >= self.num_ids:
                    raise self._wrong(f"merges of ids below {self.num_ids}", f"id {largest}")
            case _:
                pass

    @cached_property
    def _byte_places(self) -> tuple[memoryview, int]:
        """The checked offsets, and the position of the checked bytes in the file."""
        return self._view(Section.OFFSETS), self._check(Section.BYTES).start

    def _read_texts(self) -> Texts:
        data = self._section(Section.TEXT)
        texts: list[str | None] = []
        position = 0
        for _ in Texts._fields:
            length, position = self._length(data, position)
            texts.append(None if length == layout.NO_TEXT else self._text(data, position, length))
            position += 0 if length == layout.NO_TEXT else length
        if position != len(data):
            raise self._wrong(f"{position} bytes of texts", f"{len(data)}")
        return Texts(*texts)

    def _read_special_tokens(self) -> dict[str, int]:
        data = self._section(Section.SPECIAL)
        if self._num_special * layout.SPECIAL.size > len(data):
            raise self._wrong(f"{self._num_special} special tokens", f"{len(data)} bytes of them")
        special_tokens: dict[str, int] = {}
        position, last = 0, -1
        for _ in range(self._num_special):
            if len(data) - position < layout.SPECIAL.size:
                raise self._wrong("a special token", "the end of its section")
            id, length = layout.SPECIAL.unpack_from(data, position)
            position += layout.SPECIAL.size
            text = self._text(data, position, length)
            position += length
            if not last < id < self.num_ids or not text or text in special_tokens:
                raise self._wrong("special tokens by ascending id, each once", f"{text!r} with id {id}")
            special_tokens[text] = last = id
        if position != len(data):
            raise self._wrong(f"{position} bytes of special tokens", f"{len(data)}")
        return special_tokens

    def _length(self, data: bytes, position: int) -> tuple[int, int]:
        if len(data) - position < layout.LENGTH.size:
            raise self._wrong("the length of a text", "the end of its section")
        return layout.LENGTH.unpack_from(data, position)[0], position + layout.LENGTH.size

    def _text(self, data: bytes, position: int, length: int) -> str:
        if length > len(data) - position:
            raise self._wrong(f"a text of {length} bytes", f"{len(data) - position} bytes")
        try:
            return data[position : position + length].decode()
        except UnicodeDecodeError as error:
            raise self._wrong("a text in UTF-8", str(error)) from None

    def _wrong(self, expected: str, found: str, *, hint: str = _RESTORE) -> ModelFormatError:
        return ModelFormatError(self.path, expected, found, hint=hint)


def _parse_input(data: bytes) -> tuple[dict[str, TokenFlags], PostProcessing]:
    """Parse the section of what a model gets. Raises `ValueError` for an invalid one."""
    import orjson

    document = orjson.loads(data)
    if not isinstance(document, dict):
        raise ValueError("it is not an object")
    try:
        post_processing = parse_post_processing(document)
    except UnknownPostProcessingError as error:
        raise ValueError(str(error)) from None
    added = document.get("added_tokens")
    if not isinstance(added, list):
        raise ValueError("added_tokens is not a list")
    return dict(map(_flagged_token, added)), post_processing


def _flagged_token(value: Any) -> tuple[str, TokenFlags]:
    if not isinstance(value, dict) or value.keys() != {"content", *_FLAGS}:
        raise ValueError("an added token has missing or unknown fields")
    flags = {name: value[name] for name in _FLAGS}
    if not isinstance(value["content"], str) or not all(isinstance(flag, bool) for flag in flags.values()):
        raise ValueError("an added token has fields of the wrong type")
    return value["content"], TokenFlags(**flags)
