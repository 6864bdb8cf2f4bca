"""To sentencepiece: the `.model` of a tokenizer that is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.errors import ConversionError
from tokbench.formats.proof import Peer
from tokbench.formats.sentencepiece_model import PieceType, parse_model
from tokbench.models import ByteLevelBpe, SentencePieceModel
from tokbench.targets import Product, Source

if TYPE_CHECKING:
    from pathlib import Path


def make(source: Source) -> Product:
    """The `ModelProto` as it is. Raises `ConversionError` for what was no SentencePiece model before."""
    match source.description:
        case SentencePieceModel(proto=proto):
            model = parse_model(proto)
        case ByteLevelBpe():
            raise ConversionError(
                "SentencePiece merges characters and knows no split pattern; a byte-level BPE merges bytes, "
                "also parts of characters, inside pre-tokens"
            )
        case _:
            raise ConversionError("only a tokenizer that was born in SentencePiece can become a .model again")
    unknown = frozenset(id for id, piece in enumerate(model.pieces) if piece.type is PieceType.UNKNOWN)

    def opened(path: Path) -> Peer:
        import sentencepiece

        processor = sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
        return Peer(
            name=f"sentencepiece {sentencepiece.__version__}",
            encode=lambda text: processor.encode(text, out_type=int),
            decode=lambda ids: processor.decode(list(ids)),
            undecoded=unknown,
        )

    return Product(files={"": proto}, open=opened)
