"""tokenizers: any `tokenizer.json`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tokbench.bench.peers.files import DOCUMENT_NAME, write_document
from tokbench.bench.runner import Runner

if TYPE_CHECKING:
    from pathlib import Path


prepare = write_document


def opened(folder: Path) -> Runner:
    """Open the `tokenizer.json`."""
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(folder / DOCUMENT_NAME))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True

    def encode_batch(texts: list[str], threads: int) -> list[Any]:
        os.environ["TOKENIZERS_PARALLELISM"] = "false" if threads == 1 else "true"  # read at each call
        encoded: list[Any] = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return encoded

    return Runner(
        version=f"tokenizers {tokenizers.__version__}",
        encode=lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
        encode_batch=encode_batch,
        batch_ids=lambda encoded: [encoding.ids for encoding in encoded],
        threads="one or all",
    )
