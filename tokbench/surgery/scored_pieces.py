"""The pieces of a Unigram with their scores, and the ones that pruning never removes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.formats.sentencepiece.model import SPACE
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.surgery.proofs import wrong

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.surgery.id_map import IdMap


@dataclass(frozen=True, slots=True)
class ScoredPieces:
    """The tokens of a Unigram.

    Attributes:
        ids: every id that has a token.
        texts: id → text of the ordinary pieces, with ▁ for a space.
        scores: id → score of the ordinary pieces.
        kept: ids that are never removed: all other tokens (special, unknown, user-defined and byte pieces), single
            characters, and one piece with the lowest score, from which the score of unknown characters is derived.
    """

    ids: frozenset[int]
    texts: Mapping[int, str]
    scores: Mapping[int, float]
    kept: frozenset[int]

    @property
    def token_bytes(self) -> dict[int, bytes]:
        """Id → bytes of the ordinary pieces."""
        return {id: text.replace(SPACE, " ").encode() for id, text in self.texts.items()}

    @property
    def lowest(self) -> float | None:
        """The lowest score, from which the score of unknown characters is derived; None if there are no pieces."""
        return min(self.scores.values(), default=None)


def pieces_of_model(model: SentencePieceFile) -> ScoredPieces:
    """Read the pieces of a SentencePiece model.

    >>> from tokbench.formats.sentencepiece.model import ModelPiece, SentencePieceFile
    >>> pieces = (ModelPiece("<unk>", 0.0, PieceType.UNKNOWN), ModelPiece("▁", -1.0, PieceType.NORMAL))
    >>> found = pieces_of_model(SentencePieceFile(pieces, {}, {}, {}))
    >>> dict(found.texts), sorted(found.kept)
    ({1: '▁'}, [0, 1])
    """
    normal = ((id, piece) for id, piece in enumerate(model.pieces) if piece.type is PieceType.NORMAL)
    return _scored({id: (piece.text, piece.score) for id, piece in normal}, ids=range(len(model.pieces)))


def pieces_of_document(document: Mapping[str, Any]) -> ScoredPieces:
    """Read the pieces of a `tokenizer.json` whose model is a Unigram.

    >>> model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0], ["ab", -2.0]]}
    >>> found = pieces_of_document({"model": model, "added_tokens": [{"id": 3, "content": "</s>"}]})
    >>> sorted(found.ids), dict(found.texts), sorted(found.kept)
    ([0, 1, 2, 3], {1: 'a', 2: 'ab'}, [0, 1, 2, 3])
    """
    model = document["model"]
    added = document.get("added_tokens") or []
    others = {token["content"] for token in added}
    if model.get("byte_fallback"):
        others |= {f"<0x{byte:02X}>" for byte in range(256)}
    vocab = dict(enumerate(model["vocab"]))
    normal = {
        id: (text, float(score))
        for id, (text, score) in vocab.items()
        if text not in others and id != model.get("unk_id")
    }
    return _scored(normal, ids=[*vocab, *(token["id"] for token in added)])


def check_scores(old: ScoredPieces, new: ScoredPieces, id_map: IdMap) -> int:
    """Check that the remaining pieces keep their texts and scores, and return their number.

    That suffices: a best segmentation into all pieces is also the best into the remaining ones.

    Raises:
        SurgeryError: a piece has another text or score, or the lowest score has changed.
    """
    for id, text in new.texts.items():
        before = id_map.new_to_old[id]
        if (old.texts.get(before), old.scores.get(before)) != (text, new.scores[id]):
            raise wrong(f"the piece {text!r} would have another score, or be another")
    if new.lowest != old.lowest:
        raise wrong("unknown characters would get a different score")
    return len(new.texts)


def _scored(normal: Mapping[int, tuple[str, float]], *, ids: Iterable[int]) -> ScoredPieces:
    texts = {id: text for id, (text, _) in normal.items()}
    scores = {id: score for id, (_, score) in normal.items()}
    lowest = [min(scores, key=lambda piece: (scores[piece], piece))] if scores else []
    every = frozenset(ids)
    single = {id for id, text in texts.items() if len(text) == 1}
    return ScoredPieces(every, texts, scores, (every - texts.keys()) | single | frozenset(lowest))
