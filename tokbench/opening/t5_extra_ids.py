"""The sentinel tokens of T5: special tokens after the pieces of its model, of which files only give the number.

Source: `T5Tokenizer` of transformers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.formats.tokenizer_config.fields import AddedToken
from tokbench.opening.piece_classes import class_of_pieces
from tokbench.opening.tokenizer_classes import json_beside

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from tokbench.formats.tokenizer_config.fields import TokenizerConfig

_CLASS = "T5Tokenizer"
_USUAL = 100
"""Default number of sentinels."""
_MOST = 10_000


def with_extra_ids(config: TokenizerConfig, *, folder: Path, pieces: Collection[str]) -> TokenizerConfig:
    """Add T5's sentinels `<extra_id_0>` … to the configuration beside a SentencePiece model, as added tokens.

    Their numbers count down to 0 at the last id, as in transformers. The configuration is unchanged if files list the
    added tokens, if the model has such pieces, and for other classes.

    Args:
        config: the configuration already read from the folder.
        folder: the folder of the model.
        pieces: the pieces of the model.
    """
    count = _count(config, folder)
    texts = [f"<extra_id_{number}>" for number in reversed(range(count))]
    listed = {token.content for token in config.added_tokens}
    if not texts or listed.intersection(texts) or any(text in pieces for text in texts):
        return config
    first = max([len(pieces), *(token.id + 1 for token in config.added_tokens)])
    added = tuple(AddedToken(id=first + place, content=text) for place, text in enumerate(texts))
    return replace(config, added_tokens=(*config.added_tokens, *added))


def _count(config: TokenizerConfig, folder: Path) -> int:
    """Return the number of sentinels; 0 for other classes than T5's, and for an invalid number."""
    settings = json_beside(folder / "tokenizer_config.json")
    if class_of_pieces(folder, config) != _CLASS or "added_tokens_decoder" in settings:
        return 0
    count = settings.get("extra_ids", _USUAL)
    return count if type(count) is int and 0 <= count <= _MOST else 0
