"""SentencePiece's table of replacements in a `tokenizer.json`, applied as its library does it (Precompiled).

The library looks up what readers see as one character, where that has fewer than six bytes, and else each character by
itself: `Precompiled` in normalizers/precompiled.rs of `tokenizers`, and the crate spm_precompiled. Here a text is made
of what it makes of each character where none can be one with another; all else is done by the library.
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
    """What the table makes of a text; the agreement is on characters that stand alone in every text.

    Args:
        charsmap: the table, as SentencePiece writes it.
    """

    def __init__(self, charsmap: bytes) -> None:
        from tokenizers.normalizers import Precompiled

        from tokbench.native import _bpe

        self._library = Precompiled(charsmap)
        self._alone = EachCharacter(self._library.normalize_str)
        super().__init__(bytearray(NUM_CODE_POINTS), unmarked=_bpe.unmarked)

    def __call__(self, text: str) -> str:
        """The text with its replacements. Raises `UnicodeEncodeError` for lone surrogates."""
        if "\r\n" not in text and self.covers(text):
            return self._alone.of(text)
        made: str = self._library.normalize_str(text)
        return made

    def disputed_among(self, characters: set[str]) -> set[str]:
        """Those that may be one with a character beside them."""
        return {each for each in characters if joining()[ord(each)]}


def table_of(step: Mapping[str, Any]) -> bytes:
    """The table of a normalizer `Precompiled`. Raises `NotNativeError`."""
    try:
        return base64.b64decode(step.get("precompiled_charsmap") or "", validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise NotNativeError("its table of replacements is not base64") from None


def texts_written(charsmap: bytes) -> str:
    """All that a table may write, one after another: what stands after its tree, whose size it begins with."""
    size = int.from_bytes(charsmap[:4], "little")
    return charsmap[4 + size :].decode(errors="ignore")
