"""Turn ids back into text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.result_json import tokenizer_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.core.interfaces import Tokenizer, TokenizerInfo


@dataclass(frozen=True, slots=True)
class DecodeResult:
    """The bytes that ids stand for."""

    info: TokenizerInfo
    tokens: int
    data: bytes

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "schema": "tokbench.decode/1",
            **tokenizer_fields(self.info),
            "tokens": self.tokens,
            "bytes": len(self.data),
            "text": self.data.decode(errors="replace"),
        }


def decode_ids(tokenizer: Tokenizer, ids: Sequence[int], *, errors: str = "replace") -> DecodeResult:
    """The bytes of ids, as they are under "replace".

    Raises:
        UnknownIdError: an id that the vocabulary does not have.
        DecodeError: bytes that are no whole characters, under "strict".
    """
    data = (
        tokenizer.decode(ids, errors="strict").encode() if errors == "strict" else tokenizer.decode_bytes(ids)
    )
    return DecodeResult(info=tokenizer.info, tokens=len(ids), data=data)
