"""quicktok: BPE over whole texts, from a list of merges, without split patterns."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from tokbench.bench.runner import Runner
from tokbench.core.descriptions import ByteLevelBpe
from tokbench.errors import ConversionError

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.convert.conversion import Source

_MODEL_NAME = "merges.model"
_NUM_BYTES = 256


def prepare(source: Source, folder: Path) -> None:
    """Write the merges, one per line. Raises `ConversionError`."""
    description = source.description
    if not isinstance(description, ByteLevelBpe) or description.pattern is not None:
        raise ConversionError("it has no split patterns: it can only run byte-level BPE over whole texts")
    merges = description.merges or ()
    is_in_order = [merged for _, _, merged in merges] == list(range(_NUM_BYTES, _NUM_BYTES + len(merges)))
    if (
        not merges
        or not is_in_order
        or tuple(description.tokens[:_NUM_BYTES]) != tuple(bytes([byte]) for byte in range(_NUM_BYTES))
    ):
        raise ConversionError(
            "it numbers the bytes first and then the merges, and these ids are numbered differently"
        )
    lines = "".join(f"{left} {right}\n" for left, right, _ in merges)
    (folder / _MODEL_NAME).write_text(f"quicktok v1\n\n0\n{lines}", encoding="ascii", newline="\n")


def opened(folder: Path) -> Runner:
    """Open these merges."""
    import quicktok

    tokenizer = quicktok.BasicTokenizer()
    tokenizer.load(str(folder / _MODEL_NAME))
    return Runner(version=f"quicktok {version('quicktok')}", encode=tokenizer.encode)
