"""The pieces of a BPE over characters, such as SentencePiece's, and the parts that each is merged from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.errors import SurgeryError
from tokbench.formats.merges import last_pair
from tokbench.formats.sentencepiece.model import SPACE
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.opening.native_bpe import merge_pairs
from tokbench.surgery.leaves import MergeParts, last_merge
from tokbench.surgery.proofs import wrong

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.surgery.id_map import IdMap


@dataclass(frozen=True, slots=True)
class CharacterMerges:
    """The tokens of a BPE over characters.

    Attributes:
        texts: id → text of the pieces that take part in merging, with ▁ for a space.
        parts: the parts of each piece. Kept are single characters, all other tokens (special, unknown, user-defined and
            byte pieces), unused pieces, and pieces with a part that is not a piece by itself.
    """

    texts: Mapping[int, str]
    parts: MergeParts

    @property
    def kept(self) -> frozenset[int]:
        """The ids that are never removed."""
        return self.parts.kept

    @property
    def token_bytes(self) -> dict[int, bytes]:
        """Id → bytes of the pieces that take part in merging."""
        return {id: text.replace(SPACE, " ").encode() for id, text in self.texts.items()}


def merges_of_model(model: SentencePieceFile) -> CharacterMerges:
    """Read the pieces of a SentencePiece model, in which adjacent pieces that form a piece merge, the best score first.

    >>> from tokbench.formats.sentencepiece.model import ModelPiece, SentencePieceFile
    >>> texts = {"<unk>": PieceType.UNKNOWN, "a": PieceType.NORMAL, "b": PieceType.NORMAL, "ab": PieceType.NORMAL}
    >>> pieces = tuple(ModelPiece(text, 0.0, type) for text, type in texts.items())
    >>> found = merges_of_model(SentencePieceFile(pieces, {}, {}, {}))
    >>> dict(found.parts.parts), sorted(found.parts.kept)
    ({3: (1, 2)}, [0, 1, 2])
    """
    merged = {
        id: piece
        for id, piece in enumerate(model.pieces)
        if piece.type in (PieceType.NORMAL, PieceType.UNUSED)
    }
    ranks = {piece.text: -piece.score for piece in merged.values()}
    pairs = {id: last_pair(piece.text, ranks) for id, piece in merged.items() if len(piece.text) > 1}
    return _merges_of(
        {id: piece.text for id, piece in merged.items()},
        {id: pair for id, pair in pairs.items() if pair is not None},
        ids=range(len(model.pieces)),
        kept=(id for id, piece in merged.items() if piece.type is PieceType.UNUSED),
    )


def merges_of_document(document: Mapping[str, Any], *, path: Path | str) -> CharacterMerges:
    """Read the pieces of a `tokenizer.json` whose BPE merges characters, such as Llama 2's.

    Args:
        document: the parsed `tokenizer.json`.
        path: its path for error messages.

    Raises:
        SurgeryError: its pieces have a prefix or a suffix, or whole pre-tokens become tokens without merging.
        ModelFormatError: its merges are not a list of pairs.
    """
    texts = merged_texts(document)
    added = document.get("added_tokens") or []
    ranks = {pair: rank for rank, pair in enumerate(merge_pairs(document["model"], path=path))}
    pairs = {id: pair for id, text in texts.items() if (pair := last_merge(text, ranks)) is not None}
    ids = [*document["model"]["vocab"].values(), *(token["id"] for token in added)]
    return _merges_of(texts, pairs, ids=ids)


def merged_texts(document: Mapping[str, Any]) -> dict[int, str]:
    """Return id → text of the pieces of a `tokenizer.json` that take part in merging.

    Raises:
        SurgeryError: its pieces have a prefix or a suffix, or whole pre-tokens become tokens without merging.
    """
    model = document["model"]
    for option in ("continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"):
        if model.get(option):
            raise SurgeryError(f"its model has {option} = {model[option]!r}, and is not of plain characters")
    others = {token["content"] for token in document.get("added_tokens") or []} | {model.get("unk_token")}
    if model.get("byte_fallback"):
        others |= {f"<0x{byte:02X}>" for byte in range(256)}
    return {id: text for text, id in model["vocab"].items() if text not in others}


def check_merges(old: CharacterMerges, new: CharacterMerges, id_map: IdMap) -> int:
    """Check that pieces are merged from the same two pieces as before, and return the number of merged pieces.

    Raises:
        SurgeryError: a piece is merged from other pieces, or no longer merged.
    """
    for id, text in new.texts.items():
        before = old.parts.parts.get(id_map.new_to_old[id])
        mapped = None if before is None else tuple(id_map.new(part) for part in before)
        if new.parts.parts.get(id) != mapped:
            raise wrong(f"the piece {text!r} would be merged from other parts than before")
    return len(new.parts.parts)


def _merges_of(
    texts: Mapping[int, str],
    pairs: Mapping[int, tuple[str, str]],
    *,
    ids: Iterable[int],
    kept: Iterable[int] = (),
) -> CharacterMerges:
    by_text = {text: id for id, text in texts.items()}
    parts = {
        id: (by_text[left], by_text[right])
        for id, (left, right) in pairs.items()
        if left in by_text and right in by_text
    }
    every = frozenset(ids)
    fixed = {id for id, text in texts.items() if len(text) == 1 or (id in pairs and id not in parts)}
    return CharacterMerges(
        texts, MergeParts(every, parts, {}, frozenset({*kept, *fixed, *(every - texts.keys())}))
    )
