"""Small files of other tools: tiktoken's ranks, and a tokenizer.json of the same vocabulary."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from tokbench.formats.tokenizer_json import dump_byte_level_bpe
from tokbench.opening.open import open_found
from tokbench.opening.patterns import known_pattern
from tokbench.opening.recognition import recognize
from tokbench.opening.request import OpenRequest

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.opening.request import Opened

BYTES = [bytes([byte]) for byte in range(256)]
TOKENS = [*BYTES, b"lo", b"low", b" low"]
MERGES = [(0x6C, 0x6F), (256, 0x77), (0x20, 257)]


def rank_file(tokens: list[bytes | None]) -> bytes:
    """Return a rank file; None is a gap."""
    return b"".join(
        base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens) if token is not None
    )


def ranks(folder: Path, tokens: list[Any] = TOKENS, *, name: str = "mine.tiktoken") -> Path:
    """Write a rank file into a folder."""
    path = folder / name
    path.write_bytes(rank_file(tokens))
    return path


def document(**changes: Any) -> dict[str, Any]:
    """Return a tokenizer.json of these merges, with some fields changed."""
    fields: dict[str, Any] = json.loads(
        dump_byte_level_bpe(
            tokens=TOKENS, merges=MERGES, special_tokens={"<|end|>": 259}, pattern=known_pattern("llama3")[1]
        )
    )
    return fields | changes


def document_file(folder: Path, fields: dict[str, Any], *, name: str = "tokenizer.json") -> Path:
    """Write a tokenizer.json into a folder."""
    path = folder / name
    path.write_text(json.dumps(fields), encoding="utf-8")
    return path


def opened(path: Path, **options: Any) -> Opened:
    """Open a file of any kind."""
    return open_found(recognize(path), OpenRequest(**options))
