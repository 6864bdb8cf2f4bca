"""Decoding with a `tokenizer.json`: without the library if the decoder works piece by piece, else with it.

The library passes the spellings of the pieces through the steps of the decoder, one after another. Steps that
rewrite each piece independently are computed here; from the first step that looks at several pieces on, only
the library knows the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any

from tokbench.core.capabilities import Decoding
from tokbench.formats.tokenizer_json import decoded_bytes
from tokbench.libraries.huggingface.engines import RunsDocument, library_errors
from tokbench.libraries.huggingface.pieces import entries_of
from tokbench.libraries.huggingface.tokenizer_json import byte_of, steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class JoinedPieces:
    """A decoder that joins the bytes of its pieces, and strips a prefix from the result.

    Attributes:
        byte_level: whether each character of a piece is a byte, in GPT-2's alphabet.
        byte_fallback: whether a piece such as `<0x41>` is a byte.
        replacements: pairs of a text and its replacement, applied to each piece in order, as ("▁", " ").
        strip: the prefix to strip from the joined bytes.
        times: the largest number of times that the prefix is stripped.
    """

    byte_level: bool = False
    byte_fallback: bool = False
    replacements: tuple[tuple[str, str], ...] = ()
    strip: bytes = b""
    times: int = 0

    def bytes_of(self, spelling: str) -> bytes:
        """Return the bytes that a piece adds to the text.

        >>> JoinedPieces(byte_fallback=True, replacements=(("▁", " "),)).bytes_of("▁<s>")
        b' <s>'
        """
        if self.byte_level:
            return decoded_bytes(spelling)
        for text, replacement in self.replacements:
            spelling = spelling.replace(text, replacement)
        byte = byte_of(spelling) if self.byte_fallback else None
        return spelling.encode() if byte is None else byte

    def decode(self, pieces: bytes) -> bytes:
        """Return the bytes of the text from the joined pieces.

        >>> JoinedPieces(strip=b" ", times=1).decode(b"  a")
        b' a'
        """
        for _ in range(self.times):
            if not pieces.startswith(self.strip):
                break
            pieces = pieces[len(self.strip) :]
        return pieces


def joined_pieces(document: Mapping[str, Any]) -> JoinedPieces | None:
    """Return the decoder as joining of pieces, or None if it does more than that.

    Joining keeps bytes that are not whole characters, where the library writes U+FFFD.
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
"""The steps that may follow replacements; without "Fuse", "Strip" would strip each piece."""


def _replacement(step: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the text that a step replaces and its replacement; None for a step of another type."""
    pattern = step.get("pattern")
    if step.get("type") != "Replace" or not isinstance(pattern, dict) or not pattern.get("String"):
        return None
    return str(pattern["String"]), str(step.get("content", ""))


def end_of_words(document: Mapping[str, Any]) -> str:
    """Return the mark at the end of a word, if all that the decoder does is to replace it; else the empty text."""
    decoders = steps(document.get("decoder"))
    is_known = [step.get("type") for step in decoders] == ["BPEDecoder"]
    return str(decoders[0].get("suffix", "")) if is_known else ""


def decodes_from_left(document: Mapping[str, Any], spellings: Iterable[str]) -> bool:
    """Return whether the text that an id adds certainly depends only on the ids before it.

    Args:
        document: the whole `tokenizer.json`.
        spellings: the spellings of its pieces, as passed to the decoder.
    """
    if suffix := end_of_words(document):  # it becomes a space as soon as another piece follows
        return all(suffix not in spelling.removesuffix(suffix) for spelling in spellings)
    return writes_pieces_alone(document) or joined_pieces(document) is not None


class PlacedPieces:
    """A decoder that decodes each piece independently, except that the first piece may differ from later ones.

    Args:
        decode: the library's decoder: spellings → text.
        spellings: id → the spelling that is passed to the decoder.
    """

    def __init__(self, decode: Callable[[list[str]], str], spellings: Mapping[int, str]) -> None:
        before = decode([_BEFORE])
        self._first = _LazyBytes(lambda token_id: decode([spellings[token_id]]).encode())
        self._others = _LazyBytes(
            lambda token_id: decode([_BEFORE, spellings[token_id]])[len(before) :].encode()
        )

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of the text of one or more ids. Raises KeyError for an unknown id."""
        first, *others = map(index, ids)
        return b"".join([self._first[first], *map(self._others.__getitem__, others)])


_BEFORE = "a"
"""A piece that no decoder changes, whether or not another piece follows."""


class WordEndPieces:
    """A decoder that replaces the mark at the end of a word by a space, and leaves it out in the last piece.

    Args:
        suffix: the mark.
        spellings: id → the spelling that is passed to the decoder.

    >>> WordEndPieces("</w>", {0: "a", 1: "b</w>"}).decode([0, 1, 1])
    b'ab b'
    """

    def __init__(self, suffix: str, spellings: Mapping[int, str]) -> None:
        self._last = _LazyBytes(lambda token_id: spellings[token_id].replace(suffix, "").encode())
        self._others = _LazyBytes(lambda token_id: spellings[token_id].replace(suffix, " ").encode())

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of the text of one or more ids. Raises KeyError for an unknown id."""
        *others, last = map(index, ids)
        return b"".join([*map(self._others.__getitem__, others), self._last[last]])


class _LazyBytes(dict[int, bytes]):
    """A lazily filled map from each id to the bytes that it adds to a text."""

    def __init__(self, compute: Callable[[int], bytes]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, id: int) -> bytes:
        data = self[id] = self._compute(id)
        return data


def writes_pieces_alone(document: Mapping[str, Any]) -> bool:
    """Return whether the text that a piece adds depends only on the piece and on whether it is the first.

    This holds without a decoder, when spaces join the pieces, and for the decoders WordPiece and Metaspace, whose
    `decode_chain` in the library looks only at a piece and its position.
    """
    return [step.get("type") for step in steps(document.get("decoder"))] in ([], ["WordPiece"], ["Metaspace"])


class DecodesDocument(RunsDocument):
    """The decoding of a tokenizer, as a mixin."""

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids, or of the library's text if the file's decoder does more than join pieces.

        Raises:
            UnknownIdError: an id is not in the vocabulary.
        """
        if self._placed_pieces is not None:
            try:
                return self._placed_pieces.decode(ids) if len(ids) else b""
            except KeyError:
                self._pieces_of(ids)  # raises UnknownIdError
                raise
        pieces = self._pieces_of(ids)
        if self._joined is not None:
            rewritten = self._rewritten
            if not rewritten.keys().isdisjoint(ids):
                pieces = [rewritten.get(id, piece) for id, piece in zip(ids, pieces, strict=True)]
            return self._joined.decode(b"".join(pieces))
        if not pieces:
            return b""  # some steps of the library fail on an empty list
        with library_errors(self._source):
            text: str = self._engines.with_specials.decode(list(map(int, ids)), skip_special_tokens=False)
        return text.encode()

    @cached_property
    def _rewritten(self) -> dict[int, bytes]:
        """The bytes that ids add to a text, for the ids where they differ from the token bytes: id → bytes.

        The token bytes of an added token are its text, but the library passes that through the decoder, too: with
        Llama 2's decoder a "▁" in it becomes a space. An added token that is matched in the normalized text has
        the spelling with which it is found there.
        """
        assert self._joined is not None
        decoded = {id: self._joined.bytes_of(spelling) for id, spelling in self._decoded_spellings.items()}
        return {id: piece for id, piece in decoded.items() if piece != self._known[id]}

    @cached_property
    def _decoded_spellings(self) -> dict[int, str]:
        """The spelling that the library passes to the decoder for each id."""
        spellings = dict(entries_of(self._parsed, self._spelled))
        normalized = [token for token in self._parsed["added_tokens"] if token.get("normalized")]
        if normalized and self._parsed.get("normalizer") is not None:
            for id in [self._spelled[token["content"]] for token in normalized]:
                spellings[id] = self._engines.with_specials.id_to_token(id) or spellings[id]
        return spellings

    @cached_property
    def decoding(self) -> Decoding:
        """How the text of a token depends on other tokens, as far as the file's decoder is known."""
        is_known = decodes_from_left(self._parsed, self._decoded_spellings.values())
        return Decoding.FROM_LEFT if is_known else Decoding.WHOLE

    @cached_property
    def _placed_pieces(self) -> PlacedPieces | WordEndPieces | None:
        if suffix := end_of_words(self._parsed):
            return WordEndPieces(suffix, self._decoded_spellings)
        if not writes_pieces_alone(self._parsed):
            return None
        decoder = self._engines.with_specials.decoder
        decode = " ".join if decoder is None else decoder.decode
        return PlacedPieces(decode, self._decoded_spellings)

    @cached_property
    def _joined(self) -> JoinedPieces | None:
        return joined_pieces(self._parsed)
