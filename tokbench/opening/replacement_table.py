"""Apply SentencePiece's table of replacements in a `tokenizer.json` as its library does (Precompiled).

The library looks up each grapheme cluster of fewer than six bytes as a whole, and otherwise its characters one by one:
`Precompiled` in normalizers/precompiled.rs of `tokenizers`, and the crate spm_precompiled. Here a text is
normalized character by character if none of its characters can join others in a cluster; the library does all other
texts.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from tokbench.core.character_agreement import NUM_CODE_POINTS, CharacterAgreement
from tokbench.opening.each_character import EachCharacter
from tokbench.opening.joined_characters import joining
from tokbench.opening.tokenizer_json_tokens import NotNativeError

if TYPE_CHECKING:
    from collections.abc import Mapping


class ReplacementTable(CharacterAgreement):
    """The table, applied to texts; the agreement is on characters that never join others in a cluster.

    Args:
        charsmap: the table in SentencePiece's format.
    """

    def __init__(self, charsmap: bytes) -> None:
        from tokenizers.normalizers import Precompiled

        from tokbench.native import _bpe

        self._library = Precompiled(charsmap)
        self._alone = EachCharacter(self._library.normalize_str)
        super().__init__(bytearray(NUM_CODE_POINTS), unmarked=_bpe.unmarked)

    def __call__(self, text: str) -> str:
        """Return the text with its replacements. Raises `UnicodeEncodeError` for lone surrogates."""
        if "\r\n" not in text and self.covers(text):
            return self._alone.of(text)
        normalized: str = self._library.normalize_str(text)
        return normalized

    def disputed_among(self, characters: set[str]) -> set[str]:
        """Return the characters that may join an adjacent one in a cluster."""
        return {character for character in characters if joining()[ord(character)]}


def table_of(step: Mapping[str, Any]) -> bytes:
    """Return the table of a `Precompiled` normalizer. Raises `NotNativeError`."""
    try:
        return base64.b64decode(step.get("precompiled_charsmap") or "", validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise NotNativeError("its table of replacements is not base64") from None


def texts_written(charsmap: bytes) -> str:
    """Return all replacement texts of a table, concatenated: they follow its trie, whose size comes first."""
    size = int.from_bytes(charsmap[:4], "little")
    return charsmap[4 + size :].decode(errors="ignore")
