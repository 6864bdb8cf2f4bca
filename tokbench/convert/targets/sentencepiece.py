"""Convert to a SentencePiece `.model`, from such a model or from a tokenizer that merges characters like one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.convert.conversion import Product, Source, undescribed
from tokbench.convert.post_processing import lost, post_processing_of
from tokbench.convert.proof import Peer
from tokbench.convert.score_rounding import no_rounding, rounding_of
from tokbench.core.descriptions import ByteLevelBpe, HuggingFaceModel, SentencePieceModel
from tokbench.errors import ConversionError
from tokbench.formats.protobuf import length_field
from tokbench.formats.sentencepiece.bpe import BpeModel, model_of_bpe
from tokbench.formats.sentencepiece.model import parse_model

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.formats.sentencepiece.unigram import UnigramModel

_REMARK = 200
"""The first field number of `ModelProto` reserved for extensions, which nothing reads."""

_JOINING = (
    "texts without characters that join others (marks, joiners, jamo) or split words unseen (such as U+0085): there "
    "tokenizers normalizes whole grapheme clusters, and SentencePiece the longest key of its table"
)

_SPELLED = (
    "texts without U+2581: tokenizers finds added tokens that contain it before it writes spaces as U+2581"
)


def make(source: Source) -> Product:
    """Convert a source to a `.model` file. Raises `ConversionError`, `ConfigError`."""
    unigram = _unigram(source)
    rounding = rounding_of(unigram.pieces, source) if unigram else no_rounding(source)
    made = unigram or bpe_model_of(source)
    proto = made.proto
    if rounding.accepted:
        proto += length_field(_REMARK, rounding.accepted.encode())
    unknown = frozenset([parse_model(proto).unknown_id])

    def opened(path: Path) -> Peer:
        import sentencepiece

        processor = sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
        peer = Peer(
            name=f"sentencepiece {sentencepiece.__version__}",
            encode=lambda text: processor.encode(text, out_type=int),
            decode=lambda ids: processor.decode(list(ids)),
            undecoded=unknown,
            excluded=made.excluded,
            domain=None if not made.excluded else _JOINING if unigram else _SPELLED,
        )
        return rounding.tolerant(peer)

    return Product(
        files={"": proto},
        open=opened,
        notes=lost(post_processing_of(source.description), who="a .model"),
        limits=rounding.limits,
        rounding=rounding.accepted,
    )


def _unigram(source: Source) -> UnigramModel | None:
    """Return the model for a `tokenizer.json` with a Unigram; None for any other source."""
    if not isinstance(source.description, HuggingFaceModel):
        return None
    from tokbench.formats.sentencepiece.unigram import model_of_unigram
    from tokbench.libraries.huggingface.tokenizer_json import model_type, parse_tokenizer_json

    document = parse_tokenizer_json(source.description.document, source=source.tokenizer.info.name)
    return model_of_unigram(document) if model_type(document) == "Unigram" else None


def bpe_model_of(source: Source) -> BpeModel:
    """Return the model of a description, or of a BPE `tokenizer.json`. Raises `ConversionError`."""
    match source.description:
        case SentencePieceModel(proto=proto):
            return BpeModel(proto, excluded="")
        case HuggingFaceModel(document=data):
            return _model_of_document(data, name=source.tokenizer.info.name)
        case ByteLevelBpe():
            raise ConversionError(
                "SentencePiece merges characters and has no split pattern; a byte-level BPE merges bytes, "
                "even parts of characters, inside pre-tokens"
            )
        case None:
            raise undescribed(source)


def _model_of_document(data: bytes, *, name: str) -> BpeModel:
    from tokbench.libraries.huggingface.tokenizer_json import model_type, parse_tokenizer_json
    from tokbench.opening.native_bpe import merge_pairs

    document = parse_tokenizer_json(data, source=name)
    if (kind := model_type(document)) == "Unigram":
        raise ConversionError("it is a Unigram model, which has scores and no merges")
    if kind != "BPE":
        raise ConversionError(f"only a BPE or Unigram tokenizer.json can become a .model, and this is {kind}")
    return model_of_bpe(document, merges=merge_pairs(document["model"], path=name))
