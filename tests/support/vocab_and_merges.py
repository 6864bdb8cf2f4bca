"""Small vocabularies with merges, in the files of GPT-2's kind, and files beside them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tokbench.formats.tokenizer_json import to_byte_level

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

BYTES = [to_byte_level(bytes([byte])) for byte in range(256)]
MERGES = ["l o", "lo w", "Ġ low"]
PIECES = [*BYTES, "lo", "low", "Ġlow", "<|endoftext|>"]
END = "<|endoftext|>"


def folder_of(
    folder: Path, pieces: Iterable[str] = PIECES, merges: Sequence[str] = MERGES, **beside: dict[str, Any]
) -> Path:
    """Write vocab.json, merges.txt, and further JSON files named by keyword."""
    vocab = {piece: id for id, piece in enumerate(pieces)}
    (folder / "vocab.json").write_text(json.dumps(vocab), encoding="utf-8")
    (folder / "merges.txt").write_text(
        "#version: 0.2\n" + "".join(f"{m}\n" for m in merges), encoding="utf-8"
    )
    for name, content in beside.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder
