"""Toy tokenizers with predictable tokens: the longest matching piece of a table, from left to right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tokbench.core.base import BaseTokenizer
from tokbench.core.interfaces import TokenizerInfo
from tokbench.core.tokens import Span, Token, TokenKind
from tokbench.corpus import Document
from tokbench.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

UNKNOWN = "<unk>"


class Toy(BaseTokenizer):
    """A tokenizer that takes the longest piece that matches at each position.

    Ids: 0 is `<unk>`, then the pieces in their order, then, with otherwise="bytes", the 256 bytes.

    Args:
        pieces: the tokens.
        otherwise: the tokens of a character at which no piece matches: one unknown token, its bytes (byte fallback),
            or none.
    """

    def __init__(
        self,
        *pieces: str | bytes,
        name: str = "toy",
        otherwise: Literal["unknown", "bytes", "nothing"] = "unknown",
    ) -> None:
        self._pieces = [piece.encode() if isinstance(piece, str) else piece for piece in pieces]
        self._otherwise = otherwise
        self._tokens = [b"", *self._pieces]
        if otherwise == "bytes":
            self._tokens += [bytes([byte]) for byte in range(256)]
        super().__init__(
            TokenizerInfo(
                name=name,
                backend="toy",
                vocab_size=len(self._tokens),
                special_tokens={UNKNOWN: 0},
                lossless=otherwise == "bytes",
                kernel="python",
            )
        )

    def segment_ordinary(self, text: str) -> Iterator[Token]:
        data, start = text.encode(), 0
        while start < len(data):
            fitting = [piece for piece in self._pieces if data.startswith(piece, start)]
            if fitting:
                piece = max(fitting, key=len)
                yield self._token(1 + self._pieces.index(piece), start, len(piece), TokenKind.NORMAL)
                start += len(piece)
                continue
            stop = start + 1
            while stop < len(data) and 0x80 <= data[stop] < 0xC0:
                stop += 1
            if self._otherwise == "unknown":
                yield self._token(0, start, stop - start, TokenKind.UNKNOWN)
            elif self._otherwise == "bytes":
                for place in range(start, stop):
                    yield self._token(1 + len(self._pieces) + data[place], place, 1, TokenKind.BYTE)
            start = stop

    def _token(self, id: int, start: int, size: int, kind: TokenKind) -> Token:
        return Token(id, self.token_bytes(id), Span(start, start + size), kind)

    def ordinary_bytes(self, id: int) -> bytes | None:
        return self._tokens[id]

    def token_id(self, piece: bytes) -> int | None:
        return 1 + self._pieces.index(piece) if piece in self._pieces else None

    def save(self, directory: Path | str, *, overwrite: bool = False) -> None:
        raise StoreError("a toy is not saved")


def documents_of(*texts: str, group: str = "all", is_code: bool = False) -> list[Document]:
    """Return texts as the documents of one group."""
    return [
        Document(text, group, f"{group}.txt:{number}", is_code=is_code)
        for number, text in enumerate(texts, start=1)
    ]


def parallel_documents(**languages: Sequence[str]) -> list[Document]:
    """Return the lines of several languages, a document for each language."""
    return [
        Document("".join(f"{line}\n" for line in lines), language, f"parallel/{language}.txt")
        for language, lines in languages.items()
    ]
