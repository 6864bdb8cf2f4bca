"""Pickling of tokenizers for other processes: the data that `pickle` writes, and opening a tokenizer from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

from tokbench.errors import ConversionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokbench.core.interfaces import Tokenizer

    Pickled = tuple[Callable[..., Tokenizer], tuple[object, ...]]

_UNNAMED = "tokenizer"


class Origin(Protocol):
    """The source from which a tokenizer was opened."""

    def pickled(self, tokenizer: Tokenizer) -> Pickled:
        """Return a function that opens the tokenizer in any process, and its arguments."""


@dataclass(frozen=True, slots=True)
class SavedFiles:
    """The files of a saved tokenizer, in memory.

    Attributes:
        name: the name of the tokenizer.
        files: plain file name → contents.
    """

    name: str
    files: Mapping[str, bytes]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> SavedFiles:
        """Return the files that a tokenizer saves. Raises `ConversionError` for a tokenizer that cannot be saved."""
        name = tokenizer.info.name
        with TemporaryDirectory() as parent:
            folder = _folder(parent, name)
            try:
                tokenizer.save(folder)
            except ConversionError:
                raise ConversionError(
                    f"{name} cannot be saved, so it cannot be sent to another process",
                    hint="open it with tokbench.load, here or in that process",
                ) from None
            return cls(name, {path.name: path.read_bytes() for path in folder.iterdir()})

    def pickled(self, tokenizer: Tokenizer) -> Pickled:
        """Return what `Origin.pickled` describes."""
        del tokenizer
        return opened_from_files, (self.name, self.files)


def opened_from_files(name: str, files: Mapping[str, bytes]) -> Tokenizer:
    """Open the files of a saved tokenizer.

    Args:
        name: the name of the tokenizer.
        files: plain file name → contents.

    Raises:
        ModelFormatError: a file is damaged.
        SelfTestError: the tokenizer gives different ids in this process.
    """
    import tokbench  # its lazy public names: opening/ stands above core/

    with TemporaryDirectory() as parent:
        folder = _folder(parent, name)
        folder.mkdir()
        for file, content in files.items():
            (folder / Path(file).name).write_bytes(content)
        opened = tokbench.load(folder)
    opened.origin = SavedFiles(name, files)
    return opened


def _folder(parent: str, name: str) -> Path:
    """Return a folder of this name if that is a valid file name; opening takes the tokenizer's name from the folder."""
    is_plain = Path(name).name == name and "\0" not in name
    return Path(parent) / (name if is_plain else _UNNAMED)
