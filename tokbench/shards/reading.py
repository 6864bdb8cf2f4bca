"""Reading of shards: their documents as views of the files."""

from __future__ import annotations

import operator
import os
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.core.wording import counted
from tokbench.errors import ConfigError, ModelFormatError, StoreError
from tokbench.files.storage.open import is_url, place_of
from tokbench.files.untrusted import open_regular, read_regular
from tokbench.shards.layout import (
    INDEX_NAME,
    MAX_INDEX_BYTES,
    NPY_HEADER_BYTES,
    ShardEntry,
    ShardIndex,
    npy_header,
    parse_index,
)
from tokbench.shards.parts import is_of_parts, joined_index
from tokbench.shards.plan import identity_of
from tokbench.shards.shard_file import Copies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from tokbench.core.interfaces import Tokenizer

_INCOMPLETE = "the folder is incomplete: restore it, or encode again"


def open_shards(folder: Path | str) -> Shards:
    """Open the shards of a folder; reads only the index, and checks the size of every file.

    Args:
        folder: a path; or a URL, from which files are copied to this machine on demand.

    Raises:
        StoreError: there are no shards.
        ModelFormatError: the index is damaged, or a file is missing or has the wrong size.

    Usage:

        shards = open_shards("shards")
        len(shards), shards.tokens  # documents, tokens
        for array in shards.arrays():  # each shard as numpy maps it
            print(array.dtype, len(array))
    """
    shards = indexed_shards(folder)
    for shard in shards.index.shards:
        shards.check_sizes(shard)
    return shards


def indexed_shards(folder: Path | str) -> Shards:
    """Open the shards of a folder without checking the files. Raises `StoreError`, `ModelFormatError`."""
    if is_url(folder) and (place := place_of(folder)).local is None:
        copies = Copies(place)
        index = _read_index(
            str(place),
            lambda name: copies.read(name, limit=MAX_INDEX_BYTES),
            is_folder=lambda: bool(copies.sizes),
        )
        return Shards(copies.folder, index, copies)
    path = folder_of(folder)
    index = _read_index(
        str(path), lambda name: read_regular(path / name, limit=MAX_INDEX_BYTES), is_folder=path.exists
    )
    return Shards(path, index)


def folder_of(given: Path | str) -> Path:
    """Return the folder of a path, or of a URL of a local file. Raises `StoreError` for other arguments."""
    if is_url(given):
        if (local := place_of(given).local) is not None:
            return local
        raise StoreError(
            f"{given}: a single process writes shards to a disk only", hint="write to a URL in parts"
        )
    if not isinstance(given, str | os.PathLike):
        raise StoreError(f"a folder of shards must be given as a path, not {type(given).__name__}")
    return Path(given)


def _read_index(folder: str, read: Callable[[str], bytes], *, is_folder: Callable[[], bool]) -> ShardIndex:
    """Read the index of a folder. Raises `StoreError` if there is none, `ModelFormatError`.

    Args:
        folder: its name.
        read: reads a file in it.
        is_folder: whether the folder exists.
    """
    path = Path(folder) / INDEX_NAME
    try:
        data = read(INDEX_NAME)
    except FileNotFoundError:
        if not is_folder():
            raise StoreError(
                f"{folder} does not exist", hint="name a folder of `tokbench shards write`"
            ) from None
        hint = "`tokbench shards write PATH --out DIR` writes them; --resume continues an interrupted run"
        raise StoreError(f"{folder} contains no finished shards: it has no {INDEX_NAME}", hint=hint) from None
    except NotADirectoryError:
        raise StoreError(
            f"{folder} is a file, not a folder of shards", hint="name a folder of `tokbench shards write`"
        ) from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error
    if not is_of_parts(data):
        return parse_index(data, path=path)
    try:
        return joined_index(data, path=path, read=read)
    except FileNotFoundError as error:
        raise ModelFormatError(
            error.filename or folder, "the index of a part", "none", hint=_INCOMPLETE
        ) from None
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror or error}") from error


class Shards:
    """The documents of a folder of shards by index, or by iteration in order.

    Attributes:
        folder: the folder; for a URL, the local folder with copies of the most recently used files.
        name: its name in messages: the path, or the URL.
        index: its index.
    """

    def __init__(self, folder: Path, index: ShardIndex, copies: Copies | None = None) -> None:
        self.folder = folder
        self.name = str(folder if copies is None else copies.place)
        self.index = index
        self._copies = copies
        self._mapped: dict[int, tuple[NDArray[Any], NDArray[np.int64]]] = {}
        self._masks: dict[int, NDArray[Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return what `pickle` writes: files are mapped again, as `pickle` would write their contents."""
        return {**self.__dict__, "_mapped": {}, "_masks": {}}

    def __repr__(self) -> str:
        """Return a short form: location and size."""
        contents = ", ".join(
            (
                counted(len(self), "document"),
                counted(self.tokens, "token"),
                counted(len(self.index.shards), "shard"),
            )
        )
        return f"<shards in {self.name}: {contents}>"

    def __len__(self) -> int:
        """Return the number of documents."""
        return self._ends[-1] if self._ends else 0

    @property
    def tokens(self) -> int:
        """The number of tokens of all documents."""
        return self.index.tokens

    def __getitem__(self, document: int) -> NDArray[Any]:
        """Return the ids of a document with its end token, as a view of the file. Raises `ModelFormatError`."""
        shard, own = self._place_of(document)
        return self.ids(shard)[own]

    def mask_of(self, document: int) -> NDArray[Any]:
        """Return uint8, 1 for each id of a conversation that is trained on, as a view of the file.

        Raises:
            ConfigError: the shards contain texts.
            ModelFormatError: the files do not match the index.
        """
        shard, own = self._place_of(document)
        return self.mask(shard)[own]

    def _place_of(self, document: int) -> tuple[int, slice]:
        """Return the shard of a document, and its slice in the shard."""
        document = operator.index(document)
        if not -len(self) <= document < len(self):
            raise IndexError(f"document {document} of {len(self)}")
        document %= len(self)
        number = bisect_right(self._ends, document)
        ids, offsets = self._arrays_of(number)
        place = document - (self._ends[number] - self.index.shards[number].documents)
        start, stop = int(offsets[place]), int(offsets[place + 1])
        if not 0 <= start <= stop <= len(ids):
            path = f"{self.name}/{self.index.shards[number].offsets_file}"
            raise ModelFormatError(path, "offsets that ascend", f"{start} before {stop}", hint=_INCOMPLETE)
        return number, slice(start, stop)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[document] for document in range(len(self)))

    def arrays(self) -> Iterator[NDArray[Any]]:
        """Yield the ids of each shard, mapped from its file by NumPy."""
        return map(self.ids, range(len(self.index.shards)))

    def ids(self, shard: int) -> NDArray[Any]:
        """Return the ids of a shard, document after document."""
        return self._arrays_of(shard)[0]

    def offsets(self, shard: int) -> NDArray[np.int64]:
        """Return the offsets of a shard's documents, and the end of the last."""
        return self._arrays_of(shard)[1]

    @property
    def has_masks(self) -> bool:
        """Whether the shards contain conversations, with loss masks."""
        return self.index.options.chat is not None

    def mask(self, shard: int) -> NDArray[Any]:
        """Return uint8, 1 for each id of a shard that is trained on. Raises `ConfigError` for shards of texts."""
        if not self.has_masks:
            raise ConfigError(
                f"{self.name} contains texts, which have no loss mask",
                hint="--chat writes masks of conversations",
            )
        if shard not in self._masks:
            entry = self.index.shards[shard]
            self.check_sizes(entry)
            self._forget_oldest(self._masks)
            self._masks[shard] = self._map(entry.mask_file, "uint8", entry.tokens, NPY_HEADER_BYTES)
        return self._masks[shard]

    def rows(self, shard: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the rows of packed conversations of a shard: ids and masks, each with `--pack` columns.

        Raises:
            ConfigError: the shards are not packed.
        """
        chat = self.index.options.chat
        if chat is None or chat.pack is None:
            raise ConfigError(f"{self.name} is not packed", hint="--chat NAME --pack N writes rows of N ids")
        return self.ids(shard).reshape(-1, chat.pack), self.mask(shard).reshape(-1, chat.pack)

    def text(self, document: int, tokenizer: Tokenizer, *, errors: str = "replace") -> str:
        """Return the text of a document, without the token that ends it.

        Raises:
            UnknownIdError: the tokenizer is a different one; `check_tokenizer` checks that beforehand.
            DecodeError: the ids do not decode to whole characters, under errors="strict".
        """
        ids = self[document].tolist()
        if self.index.eos is not None and ids and ids[-1] == self.index.eos.id:
            ids.pop()
        chat = self.index.options.chat
        while chat is not None and chat.pad is not None and ids and ids[-1] == chat.pad:
            ids.pop()
        return tokenizer.decode(ids, errors=errors)

    def check_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Reject a tokenizer whose vocabulary differs from that of the shards. Raises `ConfigError`."""
        made, given = self.index.tokenizer, identity_of(tokenizer)
        if given.vocabulary != made.vocabulary:
            raise ConfigError(
                f"{self.name} was made by {made.name!r} ({made.vocab_size:,} tokens), and {given.name!r} "
                f"({given.vocab_size:,} tokens) is another tokenizer",
                hint="name the tokenizer that made it with -t",
            )

    def check_sizes(self, shard: ShardEntry) -> None:
        """Check the sizes of a shard's files against the index. Raises `ModelFormatError`."""
        for name, wanted in self.index.sizes(shard).items():
            size = self._size_here(name) if self._copies is None else self._copies.sizes.get(name)
            if size is None:
                raise ModelFormatError(f"{self.name}/{name}", "the file", "none", hint=_INCOMPLETE)
            if size != wanted:
                raise ModelFormatError(f"{self.name}/{name}", f"{wanted} bytes", f"{size}", hint=_INCOMPLETE)

    def _size_here(self, name: str) -> int:
        path = self.folder / name
        try:
            real, size = path.resolve(strict=True), path.stat().st_size
        except OSError as error:
            found = "none" if isinstance(error, FileNotFoundError) else error.strerror or "an error"
            raise ModelFormatError(path, "the file", found, hint=_INCOMPLETE) from None
        is_inside = real.is_relative_to(self.folder.resolve())
        if not is_inside or not real.is_file():
            found = "no file" if is_inside else f"a link to {real}"
            raise ModelFormatError(path, "a file of this folder", found)
        return size

    def path(self, name: str) -> Path:
        """Return the local path of a file by its relative name. Raises `StoreError` if it cannot be copied."""
        return self.folder / name if self._copies is None else self._copies.path(name)

    def names(self, part: str = "") -> list[str]:
        """Return the names of the entries in the folder, or in that of a part. Raises `StoreError`."""
        if self._copies is not None:
            prefix = f"{part}/" if part else ""
            below = [name.removeprefix(prefix) for name in self._copies.sizes if name.startswith(prefix)]
            return sorted({name.partition("/")[0] for name in below})
        folder = self.folder / part
        try:
            return sorted(path.name for path in folder.iterdir())
        except OSError as error:
            raise StoreError(f"{folder} cannot be listed: {error.strerror or error}") from error

    @cached_property
    def _ends(self) -> list[int]:
        """The number of documents up to the end of each shard."""
        return list(accumulate(shard.documents for shard in self.index.shards))

    def _arrays_of(self, number: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
        if number not in self._mapped:
            shard = self.index.shards[number]
            self.check_sizes(shard)
            header = NPY_HEADER_BYTES if self.index.format == "npy" else 0
            ids = self._map(shard.file, self.index.dtype, shard.tokens, header)
            offsets = self._map(shard.offsets_file, "int64", shard.documents + 1, NPY_HEADER_BYTES)
            self._forget_oldest(self._mapped)
            self._mapped[number] = ids, offsets
        return self._mapped[number]

    def _forget_oldest(self, mapped: dict[int, Any]) -> None:
        """Keep the mappings of only one other shard for remote shards, whose copies take room while they are mapped."""
        if self._copies is not None and len(mapped) > 1:
            del mapped[next(iter(mapped))]

    def _map(self, name: str, dtype: str, length: int, header: int) -> NDArray[Any]:
        path = self.path(name)
        kind = np.dtype(dtype).newbyteorder("<")
        if header:
            with open_regular(path) as stream:
                if stream.read(header) != npy_header(dtype, length):
                    raise ModelFormatError(
                        f"{self.name}/{name}", f"{length} {dtype} in an .npy file", "another header"
                    )
        if not length:  # an empty array cannot be mapped
            return np.empty(0, kind)
        return np.memmap(path, dtype=kind, mode="r", offset=header, shape=(length,))
