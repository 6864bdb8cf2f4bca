"""Decode ids to text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.argument_types import check_errors
from tokbench.core.result_json import tokenizer_fields
from tokbench.core.streaming import stop_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokbench.core.interfaces import Tokenizer, TokenizerInfo


@dataclass(frozen=True, slots=True)
class DecodeResult:
    """The decoded bytes of a sequence of ids.

    Attributes:
        info: the tokenizer.
        tokens: number of decoded ids, up to the id that ended the text.
        data: the bytes.
        stop_id: the id that ended the text; None if no id did.
    """

    info: TokenizerInfo
    tokens: int
    data: bytes
    stop_id: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON document that `--json` prints."""
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
    """Decode ids to bytes.

    Args:
        tokenizer: any tokenizer.
        ids: the ids.
        errors: "strict" raises on bytes that are not whole characters; "replace" returns the bytes as they are.
        stop: ids, and roles of tokens, before which the text ends.
        skip_special: whether to skip special tokens.

    Raises:
        ConfigError: unknown `errors`, a role in `stop` is unknown, or no token has it.
        UnknownIdError: the vocabulary does not have an id.
        DecodeError: under "strict", the bytes are not whole characters.
    """
    check_errors(errors)
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
