"""The sentinels of T5: special tokens after the pieces of its model that no file lists, only a number of them.

Source: `T5Tokenizer` of transformers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.formats.tokenizer_config.fields import AddedToken
from tokbench.opening.tokenizer_classes import json_beside

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

_CLASS = "T5Tokenizer"
_USUAL = 100
"""How many there are where the configuration of a T5 does not say."""
_MOST = 10_000


def with_extra_ids(config: TokenizerConfig, *, folder: Path, pieces: Collection[str]) -> TokenizerConfig:
    """The configuration beside a SentencePiece model, with T5's `<extra_id_0>` … as added tokens.

    They count down to the last id, as transformers gives them. Files that list their added tokens, models that
    have such pieces, and other classes are left as they are.

    Args:
        config: what was read from the folder.
        folder: where the model is.
        pieces: those of the model.
    """
    count = _count(config, folder)
    texts = [f"<extra_id_{number}>" for number in reversed(range(count))]
    listed = {token.content for token in config.added_tokens}
    if not texts or listed.intersection(texts) or any(text in pieces for text in texts):
        return config
    first = max([len(pieces), *(token.id + 1 for token in config.added_tokens)])
    made = tuple(AddedToken(id=first + place, content=text) for place, text in enumerate(texts))
    return replace(config, added_tokens=(*config.added_tokens, *made))


def _count(config: TokenizerConfig, folder: Path) -> int:
    """How many sentinels there are; 0 for what is not a T5, or says nothing that can be."""
    model = json_beside(folder / "config.json")
    name = config.tokenizer_class or model.get("tokenizer_class")
    is_t5 = name.removesuffix("Fast") == _CLASS if isinstance(name, str) else model.get("model_type") == "t5"
    said = json_beside(folder / "tokenizer_config.json")
    if not is_t5 or "added_tokens_decoder" in said:
        return 0
    count = said.get("extra_ids", _USUAL)
    return count if type(count) is int and 0 <= count <= _MOST else 0
