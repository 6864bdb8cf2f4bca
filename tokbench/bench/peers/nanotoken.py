"""nanotoken: the WordPiece of a `tokenizer.json`."""

from __future__ import annotations

from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tokbench.bench.peers.files import DOCUMENT_NAME, write_document
from tokbench.bench.runner import Runner
from tokbench.core.descriptions import ByteLevelBpe, SentencePieceModel
from tokbench.errors import ConversionError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokbench.convert.conversion import Source


def prepare(source: Source, folder: Path) -> None:
    """Write the `tokenizer.json`. Raises `ConversionError`."""
    if isinstance(source.description, ByteLevelBpe | SentencePieceModel):
        raise ConversionError("it runs WordPiece only, and this is another kind of tokenizer")
    write_document(source, folder)


def opened(folder: Path) -> Runner:
    """Open the `tokenizer.json`."""
    import nanotoken

    tokenizer: Any = nanotoken.WordPieceTokenizer.from_json((folder / DOCUMENT_NAME).read_bytes())

    def encode_batch(texts: list[str], threads: int) -> Any:
        return tokenizer.encode_batch(texts, add_special_tokens=False, parallel=threads != 1)

    return Runner(
        version=f"nanotoken {version('nanotoken')}",
        encode=lambda text: tokenizer.encode(text, add_special_tokens=False),
        encode_batch=encode_batch,
        batch_ids=_batch_ids,
        threads="one or all",
    )


def _batch_ids(encoded: Any) -> list[Sequence[int]]:
    ids, offsets = encoded
    return [ids[start:stop].tolist() for start, stop in pairwise(offsets.tolist())]
