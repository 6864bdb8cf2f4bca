"""How a `tokenizer.json` decodes: where that is joining the bytes of the pieces, and where it is more than that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.adapters.huggingface_document import steps

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class JoinedPieces:
    """How bytes are decoded where that is joining the pieces: what is taken off the beginning.

    Attributes:
        strip: one byte, taken away from the beginning.
        times: how often at most.
    """

    strip: bytes = b""
    times: int = 0

    def decode(self, pieces: bytes) -> bytes:
        """The text of joined pieces.

        >>> JoinedPieces(strip=b" ", times=1).decode(b"  a")
        b' a'
        """
        for _ in range(self.times):
            if not pieces.startswith(self.strip):
                break
            pieces = pieces[len(self.strip) :]
        return pieces


def joined_pieces(document: Mapping[str, Any]) -> JoinedPieces | None:
    """The way in which a decoder joins pieces, or None where it does more than that.

    Joining keeps bytes that are no whole characters; the library would put U+FFFD there.
    """
    decoders = steps(document.get("decoder"))
    kinds = [step.get("type") for step in decoders]
    if kinds == ["ByteLevel"]:
        return None if document["model"].get("end_of_word_suffix") else JoinedPieces()
    if "ByteFallback" not in kinds or not set(kinds) <= {"Replace", "ByteFallback", "Fuse", "Strip"}:
        return None
    if "Strip" not in kinds:
        return JoinedPieces()
    step = decoders[-1]
    if kinds.count("Strip") > 1 or kinds[-2:] != ["Fuse", "Strip"] or step.get("stop"):
        return None
    return JoinedPieces(str(step.get("content", "")).encode(), int(step.get("start") or 0))


def decodes_from_left(document: Mapping[str, Any]) -> bool:
    """Whether what an id adds to a text can only depend on the ids before it; False where that is not known."""
    kinds = [step.get("type") for step in steps(document.get("decoder"))]
    return joined_pieces(document) is not None or kinds in ([], ["WordPiece"], ["Metaspace"], ["BPEDecoder"])
