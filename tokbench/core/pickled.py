"""Tokenizers for other processes: what `pickle` writes of one, and how it is opened again from that."""

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
    """From what a tokenizer was opened."""

    def pickled(self, tokenizer: Tokenizer) -> Pickled:
        """A function that opens it again in any process, and its arguments."""


@dataclass(frozen=True, slots=True)
class SavedFiles:
    """The files of a saved tokenizer, in memory.

    Attributes:
        name: what it is called.
        files: plain file name → contents.
    """

    name: str
    files: Mapping[str, bytes]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> SavedFiles:
        """What a tokenizer saves. Raises `ConversionError` for one that cannot be saved."""
        name = tokenizer.info.name
        with TemporaryDirectory() as parent:
            folder = _folder(parent, name)
            try:
                tokenizer.save(folder)
            except ConversionError:
                raise ConversionError(
                    f"{name} has no files to be opened from in another process",
                    hint="open it there with tokbench.load, or here, and not by other functions",
                ) from None
            return cls(name, {path.name: path.read_bytes() for path in folder.iterdir()})

    def pickled(self, tokenizer: Tokenizer) -> Pickled:
        """See `Origin`."""
        del tokenizer
        return opened_from_files, (self.name, self.files)


def opened_from_files(name: str, files: Mapping[str, bytes]) -> Tokenizer:
    """Open the files of a saved tokenizer.

    Args:
        name: what it is called.
        files: plain file name → contents.

    Raises:
        ModelFormatError: a file is damaged.
        SelfTestError: it gives other ids here.
    """
    import tokbench  # its public names: what opens files stands above the tokenizers

    with TemporaryDirectory() as parent:
        folder = _folder(parent, name)
        folder.mkdir()
        for file, content in files.items():
            (folder / Path(file).name).write_bytes(content)
        opened = tokbench.load(folder)
    opened.origin = SavedFiles(name, files)  # type: ignore[attr-defined]
    return opened


def _folder(parent: str, name: str) -> Path:
    """Of this name, if a folder can have it: a manifest takes its name from there."""
    is_plain = Path(name).name == name and "\0" not in name
    return Path(parent) / (name if is_plain else _UNNAMED)
