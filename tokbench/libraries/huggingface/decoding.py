"""How a `tokenizer.json` decodes: where that is joining the bytes of the pieces, and where it is more than that.

The library hands the spellings of the pieces to the steps of the decoder, one after another. A step may
rewrite each piece by itself; from the first on that looks at several of them, only the library knows the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any

from tokbench.core.base import BaseTokenizer
from tokbench.core.capabilities import Decoding
from tokbench.formats.tokenizer_json import from_byte_level
from tokbench.libraries.huggingface.engines import library_errors
from tokbench.libraries.huggingface.tokenizer_json import byte_of, steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from tokbench.libraries.huggingface.engines import Engines


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

    Joining keeps bytes that are not whole characters; the library would put U+FFFD there.
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
    return writes_pieces_alone(document) or joined_pieces(document) is not None


class PlacedPieces:
    """A decoder that writes each piece by itself, and the first one in another way than those after it.

    Args:
        decode: the text of some spellings, as the library's decoder makes it.
        spellings: id → what the decoder is handed.
    """

    def __init__(self, decode: Callable[[list[str]], str], spellings: Mapping[int, str]) -> None:
        before = decode([_BEFORE])
        self._first = _ByNeed(lambda one: decode([spellings[one]]).encode())
        self._others = _ByNeed(lambda one: decode([_BEFORE, spellings[one]])[len(before) :].encode())

    def decode(self, ids: Sequence[int]) -> bytes:
        """The text of one id or more. Raises KeyError for one that there is not."""
        first, *others = map(index, ids)
        return b"".join([self._first[first], *map(self._others.__getitem__, others)])


_BEFORE = "a"
"""A piece that no decoder changes, with another one after it or without."""


class _ByNeed(dict[int, bytes]):
    """What an id adds to a text, made when it is first asked for."""

    def __init__(self, make: Callable[[int], bytes]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, id: int) -> bytes:
        made = self[id] = self._make(id)
        return made


def writes_pieces_alone(document: Mapping[str, Any]) -> bool:
    """Whether what a piece adds to a text depends on nothing but whether it is the first.

    So it is without a decoder, where spaces join the pieces, and in those of WordPiece and Metaspace: the library's
    `decode_chain` of both looks at a piece and at its number.
    """
    return [step.get("type") for step in steps(document.get("decoder"))] in ([], ["WordPiece"], ["Metaspace"])


class DecodesDocument(BaseTokenizer):
    """The part of a tokenizer that decodes; the other part sets these attributes.

    Attributes:
        _parsed: the `tokenizer.json` as it runs.
        _engines: the copies of the library that run it.
        _source: what error messages call the file.
        _spelled: how each token is spelled in the file → its id.
    """

    _parsed: dict[str, Any]
    _engines: Engines
    _source: Path | str
    _spelled: Mapping[str, int]

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """The bytes of ids; where the file's decoder does more than join pieces, of the text it makes.

        Raises:
            UnknownIdError: an id that the vocabulary does not have.
        """
        if self._written_alone is not None:
            try:
                return self._written_alone.decode(ids) if len(ids) else b""
            except KeyError:
                self._pieces_of(ids)  # which tells of the id
                raise
        pieces = self._pieces_of(ids)
        if self._joined is not None:
            rewritten = self._rewritten
            if not rewritten.keys().isdisjoint(ids):
                pieces = [rewritten.get(id, piece) for id, piece in zip(ids, pieces, strict=True)]
            return self._joined.decode(b"".join(pieces))
        if not pieces:
            return b""  # some steps of the library want something to work on
        with library_errors(self._source):
            text: str = self._engines.with_specials.decode(list(map(int, ids)), skip_special_tokens=False)
        return text.encode()

    @cached_property
    def _rewritten(self) -> dict[int, bytes]:
        """What ids add to a text where that is not what their tokens are: id → bytes.

        Added tokens have their texts for tokens, and go through the decoder all the same: under Llama 2's,
        "▁" in one becomes a space. One that is matched in the normalized text is spelled as it is found there.
        """
        assert self._joined is not None
        decoded = {id: self._joined.bytes_of(spelling) for id, spelling in self._decoded_spellings.items()}
        return {id: piece for id, piece in decoded.items() if piece != self._known[id]}

    @cached_property
    def _decoded_spellings(self) -> dict[int, str]:
        """What the library hands to the decoder for each id."""
        spellings = {id: text for text, id in self._spelled.items()}
        normalized = [token for token in self._parsed["added_tokens"] if token.get("normalized")]
        if normalized and self._parsed.get("normalizer") is not None:
            for id in [self._spelled[token["content"]] for token in normalized]:
                spellings[id] = self._engines.with_specials.id_to_token(id) or spellings[id]
        return spellings

    @cached_property
    def decoding(self) -> Decoding:
        """What the text of a token depends on, as far as the file's decoder is known."""
        is_known = decodes_from_left(self._parsed, self._decoded_spellings.values())
        return Decoding.FROM_LEFT if is_known else Decoding.WHOLE

    @cached_property
    def _written_alone(self) -> PlacedPieces | None:
        if not writes_pieces_alone(self._parsed):
            return None
        decoder = self._engines.with_specials.decoder
        decode = " ".join if decoder is None else decoder.decode
        return PlacedPieces(decode, self._decoded_spellings)

    @cached_property
    def _joined(self) -> JoinedPieces | None:
        return joined_pieces(self._parsed)
