"""The pieces of a Unigram with their scores, and the choice of those to remove: `reference.prune_pieces` with a heap.

Pieces are chosen by a text's loss of likelihood. The loss of a piece can only rise while others are removed: its
frequency grows by those of the pieces that it replaces, and the score of its best alternative segmentation falls. So a
piece waits in the heap with its last known loss, and is pushed again if its loss turns out to have risen when it is
popped.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.formats.sentencepiece.model import SPACE
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.surgery.leaves import Remaining
from tokbench.surgery.proofs import wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

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


class Spelling(NamedTuple):
    """The best segmentation of a piece into other pieces: the sum of their scores, and the pieces."""

    score: float
    pieces: tuple[str, ...]


def best_spelling(text: str, scores: Mapping[str, float], *, longest: int) -> Spelling | None:
    """Return the best segmentation of a text into pieces other than itself; ties go to longer last pieces.

    Args:
        text: the text of a piece.
        scores: piece → score.
        longest: length of the longest piece in characters.

    >>> best_spelling("abc", {"a": -1.0, "bc": -3.0, "ab": -3.0, "c": -1.0, "abc": 0.0}, longest=3)
    Spelling(score=-4.0, pieces=('a', 'bc'))
    >>> best_spelling("abd", {"a": -1.0, "b": -1.0, "abd": 0.0}, longest=3) is None
    True
    """
    size = len(text)
    sums: list[float | None] = [0.0, *[None] * size]
    starts = [0] * (size + 1)
    for start in range(size):
        if (before := sums[start]) is None:
            continue
        for stop in range(start + 1, min(start + longest, size) + 1):
            score = scores.get(text[start:stop])
            if score is None or stop - start == size:
                continue
            known = sums[stop]
            if known is None or before + score > known:
                sums[stop], starts[stop] = before + score, start
    total = sums[size]
    if total is None:
        return None
    pieces, stop = [], size
    while stop:
        pieces.append(text[starts[stop] : stop])
        stop = starts[stop]
    return Spelling(total, tuple(reversed(pieces)))


class PieceLosses(Remaining):
    """A Unigram from which pieces are removed, those of least loss first; a piece that no others spell remains.

    Args:
        vocabulary: the pieces with their scores.
        frequencies: id → token occurrences; 0 for missing ids.
    """

    def __init__(self, vocabulary: ScoredPieces, frequencies: Mapping[int, int] | None = None) -> None:
        super().__init__(vocabulary.ids, vocabulary.kept, frequencies)
        self._vocabulary = vocabulary
        self._scores = {vocabulary.texts[id]: score for id, score in vocabulary.scores.items()}
        self._ids = {text: id for id, text in vocabulary.texts.items()}
        self._longest = max(map(len, self._scores), default=0)
        self._spellings: dict[int, Spelling | None] = {}

    def remove(self, may_go: Callable[[int], bool], *, most: int = 0) -> None:
        """Remove pieces that satisfy `may_go`, in order of ascending loss, while more than `most` tokens remain."""
        waiting = [(0.0, -id) for id in self.ids - self._vocabulary.kept if may_go(id)]
        heapq.heapify(waiting)
        while waiting and len(self.ids) > most:
            known, negative = waiting[0]
            id = -negative
            loss = self._loss(id) if may_go(id) else None
            if loss is None:
                heapq.heappop(waiting)
            elif loss > known:
                heapq.heapreplace(waiting, (loss, negative))
            else:
                heapq.heappop(waiting)
                self._remove(id)

    def _loss(self, id: int) -> float | None:
        """Return the decrease of the text's log-likelihood; None for a piece that no others spell."""
        frequency = self.frequencies[id]
        if not frequency and all(character in self._scores for character in self._vocabulary.texts[id]):
            return 0.0  # a shortcut for most pieces of a large vocabulary, whose other segmentation does not matter
        found = self._spelling(id)
        return None if found is None else frequency * max(0.0, self._vocabulary.scores[id] - found.score)

    def _spelling(self, id: int) -> Spelling | None:
        known = self._spellings.get(id)
        if known is None or not all(piece in self._scores for piece in known.pieces):
            known = best_spelling(self._vocabulary.texts[id], self._scores, longest=self._longest)
            self._spellings[id] = known
        return known

    def _remove(self, id: int) -> None:
        frequency = self.frequencies.pop(id, 0)
        if frequency and (found := self._spelling(id)) is not None:
            for piece in found.pieces:
                self.frequencies[self._ids[piece]] += frequency
        self._spellings.pop(id, None)
        del self._scores[self._vocabulary.texts[id]]
        self.ids.remove(id)
        self.removed.append(id)
