"""The `Extension` of each supported algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.errors import SurgeryError
from tokbench.surgery.bpe_extension import BpeExtension
from tokbench.surgery.character_extension import CharacterExtension
from tokbench.surgery.contents import contents_of
from tokbench.surgery.unigram_extension import UnigramExtension
from tokbench.surgery.wordpiece_extension import WordPieceExtension

if TYPE_CHECKING:
    from tokbench.opening.request import Opened
    from tokbench.surgery.contents import Algorithm
    from tokbench.surgery.extended_tokenizer import Extension

_EXTENSIONS: dict[Algorithm, type[Extension]] = {
    extension.algorithm: extension
    for extension in (BpeExtension, CharacterExtension, UnigramExtension, WordPieceExtension)
}


def extension_of(opened: Opened) -> Extension:
    """Return the `Extension` for a tokenizer. Raises `SurgeryError` for an unsupported algorithm."""
    found = contents_of(opened)
    if found.algorithm is None:
        raise SurgeryError(f"a {found.kind} cannot learn more pieces")
    return _EXTENSIONS[found.algorithm](opened, found.content)
