"""gigatoken: SentencePiece BPE, and byte-level BPE with the split patterns that it knows."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from tokbench.bench.peers.files import DOCUMENT_NAME, PATTERN_NAME, RANKS_NAME, write_document, write_ranks
from tokbench.bench.runner import Runner
from tokbench.core.descriptions import ByteLevelBpe

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.convert.conversion import Source

_PATTERNS = {"gpt2": "gpt2", "gpt4": "gpt4", "gpt4o": "o200k"}
"""Our name of a pattern → its name. It recognizes other patterns only as spelled in the tokenizer.json of a model."""


def prepare(source: Source, folder: Path) -> None:
    """Write a rank file with the pattern's name, or else a `tokenizer.json`. Raises `ConversionError`."""
    description = source.description
    if isinstance(description, ByteLevelBpe) and description.pattern_name in _PATTERNS:
        write_ranks(source, folder)
        (folder / PATTERN_NAME).write_text(_PATTERNS[description.pattern_name], encoding="utf-8")
    else:
        write_document(source, folder)


def opened(folder: Path) -> Runner:
    """Open these files."""
    import gigatoken

    tokenizer: Any
    if (folder / RANKS_NAME).exists():
        pattern = (folder / PATTERN_NAME).read_text(encoding="utf-8")
        tokenizer = gigatoken.Tokenizer.from_tiktoken(folder / RANKS_NAME, pattern, {})
    else:
        tokenizer = gigatoken.Tokenizer.from_json((folder / DOCUMENT_NAME).read_bytes())
    return Runner(
        version=f"gigatoken {version('gigatoken')}",
        encode=tokenizer.encode,
        encode_batch=lambda texts, threads: tokenizer.encode_batch(texts, parallel=threads != 1),
        batch_ids=lambda encoded: encoded.to_list(),
        threads="one or all",
    )
