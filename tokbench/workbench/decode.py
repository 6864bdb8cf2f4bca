"""Turn ids back into text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.result_json import tokenizer_fields
from tokbench.core.streaming import stop_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokbench.core.interfaces import Tokenizer, TokenizerInfo


@dataclass(frozen=True, slots=True)
class DecodeResult:
    """The bytes that ids stand for.

    Attributes:
        info: of the tokenizer.
        tokens: the ids that were decoded: none after what ended the text.
        data: the bytes.
        stop_id: the id that ended the text; None where none did.
    """

    info: TokenizerInfo
    tokens: int
    data: bytes
    stop_id: int | None = None

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "schema": "tokbench.decode/1",
            **tokenizer_fields(self.info),
            "tokens": self.tokens,
            "bytes": len(self.data),
            "text": self.data.decode(errors="replace"),
            "stop_id": self.stop_id,
        }


def decode_ids(
    tokenizer: Tokenizer,
    ids: Sequence[int],
    *,
    errors: str = "replace",
    stop: Iterable[int | str] = (),
    skip_special: bool = False,
) -> DecodeResult:
    """The bytes of ids, as they are under "replace".

    Args:
        tokenizer: any.
        ids: them.
        errors: "strict" refuses bytes that are not whole characters.
        stop: ids and roles of tokens before which the text ends.
        skip_special: whether special tokens are left out.

    Raises:
        ConfigError: an unknown role to stop at, or roles of which the tokenizer has none.
        UnknownIdError: an id that the vocabulary does not have.
        DecodeError: bytes that are not whole characters, under "strict".
    """
    ends = stop_ids(tokenizer, stop)
    place = next((place for place, id in enumerate(ids) if id in ends), len(ids))
    stop_id = ids[place] if place < len(ids) else None
    ids = ids[:place]
    tokens = len(ids)
    if skip_special:
        special = frozenset(tokenizer.info.special_tokens.values())
        ids = [id for id in ids if id not in special]
    data = (
        tokenizer.decode(ids, errors="strict").encode() if errors == "strict" else tokenizer.decode_bytes(ids)
    )
    return DecodeResult(info=tokenizer.info, tokens=tokens, data=data, stop_id=stop_id)
