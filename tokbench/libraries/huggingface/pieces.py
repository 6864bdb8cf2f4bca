"""The spelling of pieces in a `tokenizer.json`, and the bytes, kind and position in words of each id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.tokens import TokenKind
from tokbench.formats.tokenizer_json import all_from_byte_level, decoded_bytes
from tokbench.libraries.huggingface.tokenizer_json import byte_of, fallback_bytes, steps

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Set


@dataclass(frozen=True, slots=True)
class PieceSpelling:
    """The conventions by which the pieces of a vocabulary spell bytes.

    Attributes:
        byte_level: whether each character is a byte of the text, in GPT-2's alphabet.
        byte_fallback: whether a piece such as `<0x41>` is a byte.
        replacements: pairs of a text and its replacement by the decoder, as ("▁", " ").
        prefix: the prefix of pieces inside words, as "##"; or "".
        suffix: the suffix of pieces at the end of words, as "</w>"; or "".
    """

    byte_level: bool
    byte_fallback: bool
    replacements: tuple[tuple[str, str], ...]
    prefix: str
    suffix: str

    def bytes_of(self, spelling: str) -> bytes:
        """Return the bytes of a piece.

        >>> PieceSpelling(False, True, (("▁", " "),), "", "").bytes_of("▁the")
        b' the'
        """
        if self.byte_fallback and (byte := byte_of(spelling)) is not None:
            return byte
        spelling = self._stem_of(spelling)
        if self.byte_level:
            return decoded_bytes(spelling)
        for text, replacement in self.replacements:
            spelling = spelling.replace(text, replacement)
        return spelling.encode()

    def bytes_of_all(self, spellings: Collection[str]) -> list[bytes]:
        r"""Return the bytes of many pieces, as `bytes_of` does; fast for a large vocabulary.

        >>> PieceSpelling(False, True, (("▁", " "),), "", "").bytes_of_all(["▁the", "<0x0A>"])
        [b' the', b'\n']
        """
        has_affix = self.prefix or self.suffix
        stems = list(map(self._stem_of, spellings)) if has_affix else list(spellings)
        found = all_from_byte_level(stems) if self.byte_level else [None] * len(stems)
        if not self.byte_level:
            for text, replacement in self.replacements:
                stems = [stem.replace(text, replacement) for stem in stems]
        data = [stem.encode() if own is None else own for stem, own in zip(stems, found, strict=True)]
        if self.byte_fallback:
            bytes_spelled = map(byte_of, spellings)
            data = [own if byte is None else byte for own, byte in zip(data, bytes_spelled, strict=True)]
        return data

    def _stem_of(self, spelling: str) -> str:
        if self.prefix and spelling != self.prefix:
            spelling = spelling.removeprefix(self.prefix)
        if self.suffix and spelling != self.suffix:
            spelling = spelling.removesuffix(self.suffix)
        return spelling

    def is_byte(self, spelling: str) -> bool:
        """Return whether a piece is a byte of byte fallback."""
        return self.byte_fallback and byte_of(spelling) is not None


def piece_spelling(document: Mapping[str, Any]) -> PieceSpelling:
    """Return the spelling of a document's pieces, from its decoder, its other components and its model."""
    model = document["model"]
    parts = [
        step for part in ("normalizer", "pre_tokenizer", "decoder") for step in steps(document.get(part))
    ]
    decoders = steps(document.get("decoder"))
    return PieceSpelling(
        byte_level=any(step.get("type") == "ByteLevel" for step in parts),
        byte_fallback=bool(model.get("byte_fallback")),
        replacements=tuple(_replacements(parts, decoders)),
        prefix=_affix(decoders, "WordPiece", "prefix") or _text(model, "continuing_subword_prefix"),
        suffix=_affix(decoders, "BPEDecoder", "suffix") or _text(model, "end_of_word_suffix"),
    )


def _replacements(
    parts: list[Mapping[str, Any]], decoders: list[Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    for step in parts:
        if step.get("type") == "Metaspace" and isinstance(step.get("replacement"), str):
            yield step["replacement"], " "
    for step in decoders:
        pattern = step.get("pattern")
        if step.get("type") == "Replace" and isinstance(pattern, dict) and "String" in pattern:
            yield str(pattern["String"]), str(step.get("content", ""))


def _affix(decoders: list[Mapping[str, Any]], kind: str, field: str) -> str:
    return next((_text(step, field) for step in decoders if step.get("type") == kind), "")


def _text(values: Mapping[str, Any], field: str) -> str:
    value = values.get(field)
    return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True)
class EntryLayout:
    """The tokens of a document by their ids.

    Attributes:
        pieces: id → the bytes of the token.
        inside_words: the ids of tokens that never begin a word.
        kinds: id → kind, of byte tokens and the unknown token; special tokens are not included.
    """

    pieces: Mapping[int, bytes]
    inside_words: Set[int]
    kinds: Mapping[int, TokenKind]


def laid_out(
    document: Mapping[str, Any], vocabulary: Mapping[str, int], *, unknown: str | None
) -> EntryLayout:
    """Return the tokens of a document.

    Args:
        document: a parsed `tokenizer.json`.
        vocabulary: the spelling of every token in the file, added tokens included → its id.
        unknown: the spelling of the unknown token, or None.
    """
    spelling = piece_spelling(document)
    added = {token["content"] for token in document["added_tokens"]} - fallback_bytes(document)
    entries = entries_of(document, vocabulary)
    kinds = {id: TokenKind.BYTE for id, text in entries if spelling.is_byte(text) and text not in added}
    if unknown is not None and unknown in vocabulary:
        kinds[document["model"].get("unk_id", vocabulary[unknown])] = TokenKind.UNKNOWN
    prefix = spelling.prefix
    return EntryLayout(
        pieces={
            id: text.encode() if text in added else data
            for (id, text), data in zip(
                entries, spelling.bytes_of_all([text for _, text in entries]), strict=True
            )
        },
        inside_words={id for id, text in entries if prefix and text.startswith(prefix)},
        kinds=kinds,
    )


def entries_of(document: Mapping[str, Any], vocabulary: Mapping[str, int]) -> list[tuple[int, str]]:
    """Return the ids with their spellings, including ids of a Unigram whose piece is listed again further below.

    Of these, only that of the unknown token comes from texts; all can be decoded.
    """
    entries = [(id, text) for text, id in vocabulary.items()]
    listed = document["model"].get("vocab")
    if isinstance(listed, list) and len({text for text, _ in listed}) < len(listed):
        held = set(vocabulary.values())
        entries += [(id, text) for id, (text, _) in enumerate(listed) if id not in held]
    return entries
