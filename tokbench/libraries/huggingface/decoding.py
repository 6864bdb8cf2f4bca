"""How a `tokenizer.json` decodes: where that is joining the bytes of the pieces, and where it is more than that.

The library hands the spellings of the pieces to the steps of the decoder, one after another. A step may
rewrite each piece by itself; from the first on that looks at several of them, only the library knows the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.formats.tokenizer_json import from_byte_level
from tokbench.libraries.huggingface.tokenizer_json import byte_of, steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class JoinedPieces:
    """A decoder that joins the bytes of its pieces, and takes something off the beginning.

    Attributes:
        byte_level: each character of a piece is a byte, in GPT-2's alphabet.
        byte_fallback: `<0x41>` is a byte.
        replacements: texts and what is put in their place in each piece, one after another, as ("▁", " ").
        strip: taken away from the beginning of the joined bytes.
        times: how often at most.
    """

    byte_level: bool = False
    byte_fallback: bool = False
    replacements: tuple[tuple[str, str], ...] = ()
    strip: bytes = b""
    times: int = 0

    def bytes_of(self, spelling: str) -> bytes:
        """What a piece adds to the text.

        >>> JoinedPieces(byte_fallback=True, replacements=(("▁", " "),)).bytes_of("▁<s>")
        b' <s>'
        """
        if self.byte_level:
            try:
                return from_byte_level(spelling)
            except ValueError:  # one character outside of the alphabet, and none is taken for a byte
                return spelling.encode()
        for text, replacement in self.replacements:
            spelling = spelling.replace(text, replacement)
        byte = byte_of(spelling) if self.byte_fallback else None
        return spelling.encode() if byte is None else byte

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
    if [step.get("type") for step in decoders] == ["ByteLevel"]:
        return JoinedPieces(byte_level=True)
    replacements: list[tuple[str, str]] = []
    while decoders and (replacement := _replacement(decoders[0])) is not None:
        replacements.append(replacement)
        decoders = decoders[1:]
    kinds = [step.get("type") for step in decoders]
    strip = decoders[-1] if kinds[-1:] == ["Strip"] else {}
    if kinds not in _JOINING or strip.get("stop"):
        return None
    return JoinedPieces(
        byte_fallback="ByteFallback" in kinds,
        replacements=tuple(replacements),
        strip=str(strip.get("content", "")).encode(),
        times=int(strip.get("start") or 0),
    )


_JOINING = (
    ["ByteFallback"],
    ["Fuse"],
    ["Fuse", "Strip"],
    ["ByteFallback", "Fuse"],
    ["ByteFallback", "Fuse", "Strip"],
)
"""The steps that may follow replacements; without "Fuse", a strip would be one of each piece."""


def _replacement(step: Mapping[str, Any]) -> tuple[str, str] | None:
    """A text and what a step puts in its place; None for a step of another kind."""
    pattern = step.get("pattern")
    if step.get("type") != "Replace" or not isinstance(pattern, dict) or not pattern.get("String"):
        return None
    return str(pattern["String"]), str(step.get("content", ""))


def decodes_from_left(document: Mapping[str, Any], spellings: Iterable[str]) -> bool:
    """Whether what an id adds to a text can only depend on the ids before it; False where that is not known.

    Args:
        document: the whole of it.
        spellings: those of its pieces, as the decoder gets them.
    """
    decoders = steps(document.get("decoder"))
    kinds = [step.get("type") for step in decoders]
    if kinds == ["BPEDecoder"]:  # the end of a word becomes a space as soon as another piece follows
        suffix = str(decoders[0].get("suffix", ""))
        return bool(suffix) and all(suffix not in spelling.removesuffix(suffix) for spelling in spellings)
    return kinds in ([], ["WordPiece"], ["Metaspace"]) or joined_pieces(document) is not None
