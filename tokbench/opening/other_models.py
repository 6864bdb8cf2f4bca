"""Find a SentencePiece model beside a `tokenizer.json` with other ids: one of the two is out of date."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokbench.errors import TokbenchError
from tokbench.formats.sentencepiece.model import looks_like_model, parse_model
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.opening.files import read_file
from tokbench.opening.piece_order import piece_order
from tokbench.opening.vocabulary_beside import is_renumbered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.formats.sentencepiece.pieces import ModelPiece
    from tokbench.opening.recognition import Source

_NAMES = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model")


def other_models(document: Mapping[str, Any], source: Source) -> Iterator[str]:
    """Yield a sentence for each model beside a `tokenizer.json` in which a piece has another id.

    Args:
        document: the parsed `tokenizer.json`.
        source: its file, and the path that the user gave.
    """
    ids = _ids(document["model"]["vocab"])
    for path in (source.files[0].parent / name for name in _NAMES):
        try:
            data = read_file(path) if path.is_file() else b""
            pieces = parse_model(data, path=path).pieces if looks_like_model(data) else []
        except TokbenchError:
            continue
        if _is_reordered(source, pieces):
            continue
        for id, piece in enumerate(pieces):
            other = ids.get(piece.text, id)
            if piece.type is PieceType.NORMAL and other != id:
                yield (
                    f"{path.name} says that {piece.text!r} is {id}, and {source.files[0].name} {other}, which is used: "
                    "the two files are not of one tokenizer"
                )
                break


def _ids(vocab: Any) -> Mapping[str, int]:
    if isinstance(vocab, dict):
        return vocab
    return {piece: id for id, (piece, _) in enumerate(vocab)}


def _is_reordered(source: Source, pieces: Sequence[ModelPiece]) -> bool:
    """Whether the class of a folder gives the pieces of its model other ids."""
    folder = replace(source, path=source.files[0].parent)
    return is_renumbered(folder) or piece_order(folder, [piece.text for piece in pieces]) is not None
