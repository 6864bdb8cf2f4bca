"""fastokens: the byte-level BPE of a `tokenizer.json`."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from tokbench.bench.peers.files import DOCUMENT_NAME, write_document
from tokbench.bench.runner import Runner, ids_of_buffers

if TYPE_CHECKING:
    from pathlib import Path


prepare = write_document


def opened(folder: Path) -> Runner:
    """Open the `tokenizer.json`."""
    import fastokens

    tokenizer = fastokens.Tokenizer.from_file(str(folder / DOCUMENT_NAME))
    return Runner(
        version=f"fastokens {version('fastokens')}",
        encode=lambda text: tokenizer.encode(text, split_special_tokens=True).ids,
        encode_batch=lambda texts, _: tokenizer.encode_batch_flat(texts, split_special_tokens=True),
        batch_ids=ids_of_buffers,
        threads="all",
    )
