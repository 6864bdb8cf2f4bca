"""rustbpe: it trains and encodes with the result; it opens no vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from tokbench.errors import ConversionError

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.convert.conversion import Source


def prepare(source: Source, folder: Path) -> NoReturn:
    """Raise `ConversionError`."""
    del source, folder
    raise ConversionError("it opens no vocabulary: it encodes only with what it has trained itself")


def opened(folder: Path) -> NoReturn:
    """Never reached."""
    raise AssertionError(folder)
