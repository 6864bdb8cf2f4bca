"""tiktoken: byte-level BPE by ranks, with any pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.bench.peers.files import PATTERN_NAME, RANKS_NAME, write_ranks
from tokbench.bench.runner import Runner
from tokbench.formats.tiktoken import parse_ranks, to_encoding

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.convert.conversion import Source


def prepare(source: Source, folder: Path) -> None:
    """Write the rank file and the pattern. Raises `ConversionError`."""
    description = write_ranks(source, folder)
    if description.pattern is not None:
        (folder / PATTERN_NAME).write_text(description.pattern, encoding="utf-8", newline="")


def opened(folder: Path) -> Runner:
    """Open these files."""
    import tiktoken

    path, pattern = folder / RANKS_NAME, folder / PATTERN_NAME
    encoding = to_encoding(
        "bench",
        pattern=pattern.read_bytes().decode() if pattern.exists() else None,
        ranks=parse_ranks(path.read_bytes(), path=path),
        special_tokens={},
    )
    return Runner(
        version=f"tiktoken {tiktoken.__version__}",
        encode=encoding.encode_ordinary,
        encode_batch=lambda texts, threads: encoding.encode_ordinary_batch(texts, num_threads=threads),
        token_bytes=encoding.decode_single_token_bytes,
    )
