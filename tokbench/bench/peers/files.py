"""Files that several libraries open."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.core.descriptions import ByteLevelBpe
from tokbench.errors import ConversionError

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.convert.conversion import Source

RANKS_NAME = "ranks.tiktoken"
DOCUMENT_NAME = "tokenizer.json"
PATTERN_NAME = "pattern.txt"


def without_special(source: Source) -> Source:
    """Remove special tokens, which are not timed and which some libraries find in every text."""
    description = source.description
    if isinstance(description, ByteLevelBpe):
        return replace(
            source, description=replace(description, special_tokens={}, tokens=_ordinary_tokens(description))
        )
    return source


def write_ranks(source: Source, folder: Path) -> ByteLevelBpe:
    """Write a rank file. Raises `ConversionError` if ranks cannot express the tokenizer."""
    from tokbench.formats.merges import ranks_of
    from tokbench.formats.tiktoken import dump_ranked

    description = source.description
    if not isinstance(description, ByteLevelBpe):
        raise ConversionError("it runs byte-level BPE only, and this is another kind of tokenizer")
    if description.normalization is not None:
        raise ConversionError(f"it does not normalize text to {description.normalization.upper()} first")
    (folder / RANKS_NAME).write_bytes(dump_ranked(ranks_of(description)))
    return description


def write_document(source: Source, folder: Path) -> None:
    """Write a `tokenizer.json`. Raises `ConversionError`."""
    from tokbench.convert.targets.tokenizers import tokenizer_json_of

    (folder / DOCUMENT_NAME).write_bytes(tokenizer_json_of(without_special(source)))


def _ordinary_tokens(description: ByteLevelBpe) -> tuple[bytes | None, ...]:
    special = set(description.special_tokens.values())
    tokens = [None if id in special else token for id, token in enumerate(description.tokens)]
    while tokens and tokens[-1] is None:
        tokens.pop()
    return tuple(tokens)
