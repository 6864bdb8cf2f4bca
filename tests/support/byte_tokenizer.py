"""The smallest possible tokenizer, with the manifest and files of a saved one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tokbench.core.interfaces import TokenizerInfo
from tokbench.core.tokens import Encoded, Segmentation, Span, SpecialPolicy, Token, TokenKind
from tokbench.store import Manifest, SelfTestSample, write
from tokbench.store.saveable import self_test_texts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FILES = {"ranks.tiktoken": b"YQ== 0\n", "tokenizer.json": b"{}\n"}


@dataclass(frozen=True)
class ByteTokenizer:
    """The smallest possible tokenizer: the ids of a text are its bytes."""

    info = TokenizerInfo("bytes", "byte", 256, {}, lossless=True, kernel="python")

    def encode(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> list[int]:
        return list(text.encode())

    def encode_batch(
        self, texts: Sequence[str], *, special: SpecialPolicy = SpecialPolicy.TEXT, threads: int | None = None
    ) -> Encoded:
        rows = [self.encode(text) for text in texts]
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return Encoded(np.array(list(chain.from_iterable(rows)), dtype=np.uint32), offsets)

    def segment(self, text: str, *, special: SpecialPolicy = SpecialPolicy.TEXT) -> Segmentation:
        bytes_with_places = enumerate(self.encode(text))
        return Segmentation(
            text,
            tuple(
                Token(byte, bytes([byte]), Span(start, start + 1), TokenKind.NORMAL)
                for start, byte in bytes_with_places
            ),
        )

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        return bytes(ids)

    def decode(self, ids: Sequence[int], *, errors: str = "replace") -> str:
        return bytes(ids).decode(errors=errors)

    def token_bytes(self, id: int) -> bytes:
        return bytes([id])

    def token_id(self, piece: bytes) -> int | None:
        return piece[0] if len(piece) == 1 else None

    def save(self, directory: Path, *, overwrite: bool = False) -> None:
        write(directory, manifest=MANIFEST, files=FILES, overwrite=overwrite)


MANIFEST = Manifest(
    name="bytes",
    backend="byte",
    kernel="python",
    vocab_size=256,
    special_tokens={},
    config={"seed": 1},
    training=None,
    versions={"tokbench": "0.1.0", "regex": "2025.9.1"},
    self_test=tuple(SelfTestSample(text, tuple(text.encode())) for text in self_test_texts(seed=1)),
)
