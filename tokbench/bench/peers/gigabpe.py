"""gigabpe: it only trains and opens no vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from tokbench.errors import ConversionError

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.convert.conversion import Source


def prepare(source: Source, folder: Path) -> NoReturn:
    """Raise `ConversionError`."""
    del source, folder
    raise ConversionError("it only trains: it opens no vocabulary and encodes nothing")


def opened(folder: Path) -> NoReturn:
    """Never reached."""
    raise AssertionError(folder)
