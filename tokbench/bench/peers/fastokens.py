"""fastokens: the byte-level BPE of a `tokenizer.json`."""

from __future__ import annotations

from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tokbench.bench.peers.files import DOCUMENT_NAME, write_document
from tokbench.bench.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tokbench.convert.conversion import Source


def prepare(source: Source, folder: Path) -> None:
    """Write the `tokenizer.json`. Raises `ConversionError`."""
    write_document(source, folder)


def opened(folder: Path) -> Runner:
    """Open the `tokenizer.json`."""
    import fastokens

    tokenizer = fastokens.Tokenizer.from_file(str(folder / DOCUMENT_NAME))
    return Runner(
        version=f"fastokens {version('fastokens')}",
        encode=lambda text: tokenizer.encode(text, split_special_tokens=True).ids,
        encode_batch=lambda texts, _: tokenizer.encode_batch_flat(texts, split_special_tokens=True),
        batch_ids=_batch_ids,
        threads="all",
    )


def _batch_ids(encoded: Any) -> list[Sequence[int]]:
    ids, offsets = memoryview(encoded[0]).cast("I"), memoryview(encoded[1]).cast("Q").tolist()
    return [ids[start:stop].tolist() for start, stop in pairwise(offsets)]
