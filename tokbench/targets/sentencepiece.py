"""To sentencepiece: the `.model` of a tokenizer that was one, or that merges characters as one does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.errors import ConversionError
from tokbench.formats.proof import Peer
from tokbench.formats.sentencepiece_model import PieceType, parse_model
from tokbench.models import ByteLevelBpe, HuggingFaceModel, SentencePieceModel
from tokbench.targets import Product, Source, undescribed

if TYPE_CHECKING:
    from pathlib import Path


def make(source: Source) -> Product:
    """A `.model` file. Raises `ConversionError`."""
    proto = proto_of(source)
    pieces = parse_model(proto).pieces
    unknown = frozenset(id for id, piece in enumerate(pieces) if piece.type is PieceType.UNKNOWN)

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


def proto_of(source: Source) -> bytes:
    """The serialised `ModelProto` of a description. Raises `ConversionError` where there is none."""
    match source.description:
        case SentencePieceModel(proto=proto):
            return proto
        case HuggingFaceModel(document=data):
            return _of_document(data, name=source.tokenizer.info.name)
        case ByteLevelBpe():
            raise ConversionError(
                "SentencePiece merges characters and knows no split pattern; a byte-level BPE merges bytes, "
                "also parts of characters, inside pre-tokens"
            )
        case None:
            raise undescribed(source)


def _of_document(data: bytes, *, name: str) -> bytes:
    from tokbench.adapters.huggingface_document import model_type, parse_document
    from tokbench.formats.sentencepiece_bpe import model_of_document
    from tokbench.opening.provable import merge_pairs

    document = parse_document(data, source=name)
    if (kind := model_type(document)) != "BPE":
        raise ConversionError(f"of a tokenizer.json only a BPE can become a .model, and this is {kind}")
    return model_of_document(document, merges=merge_pairs(document["model"], path=name))
