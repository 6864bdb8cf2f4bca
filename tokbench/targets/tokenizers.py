"""To tokenizers: a `tokenizer.json`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tokbench.formats.proof import Peer
from tokbench.models import ByteLevelBpe, HuggingFaceModel, SentencePieceModel
from tokbench.targets import Product, Source, undescribed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SPECIAL_NOTE = (
    "tokenizers makes special tokens of their texts in every text; set encode_special_tokens = True "
    "(transformers: split_special_tokens=True) for texts that you did not write yourself"
)


def make(source: Source) -> Product:
    """A `tokenizer.json`. Raises `ConversionError`."""
    document = document_of(source)
    return Product(
        files={"": document},
        open=lambda path: restricted(opened(path), source),
        notes=(SPECIAL_NOTE,) if source.special_tokens else (),
        caution=caution_of(source),
    )


def document_of(source: Source) -> bytes:
    """The `tokenizer.json` of any description. Raises `ConversionError`."""
    match source.description:
        case HuggingFaceModel(document=document):
            return document
        case ByteLevelBpe() as description:
            return _byte_level(description)
        case SentencePieceModel(proto=proto):
            from tokbench.formats.sentencepiece_json import dump_sentencepiece
            from tokbench.formats.sentencepiece_model import parse_model

            return dump_sentencepiece(parse_model(proto))
        case None:
            raise undescribed(source)


def caution_of(source: Source) -> str | None:
    """Why a Unigram model of SentencePiece may segment some text otherwise: nobody can say it beforehand."""
    if not isinstance(source.description, SentencePieceModel):
        return None
    from tokbench.formats.sentencepiece_model import ModelType, parse_model

    if parse_model(source.description.proto).model_type is not ModelType.UNIGRAM:
        return None
    return (
        "SentencePiece adds up the scores of a Unigram in single precision and tokenizers in double, so that "
        "of segmentations that are equally probable each may take another one; --to sentencepiece is exact"
    )


def restricted(peer: Peer, source: Source) -> Peer:
    """The library's tokenizer, as far as it can be asked to do what ours does.

    Special tokens and the unknown piece it decodes in its own way. And where special tokens are
    pieces of the vocabulary, as in a Unigram or a WordLevel that was not made by us, it finds them in
    every text, whatever is set.
    """
    peer = replace(peer, undecoded=undecoded_ids(source))
    if isinstance(source.description, HuggingFaceModel) and peer.encode is not None:
        encode = peer.encode
        if any(id in encode(text) for text, id in source.special_tokens.items()):
            return replace(peer, encode=None, domain="what spells a special token always becomes it there")
    return peer


def opened(path: Path) -> Peer:
    """A `tokenizer.json` as tokenizers opens it, once with special tokens and once without."""
    import tokenizers

    ordinary, special = _library_opens(path), _library_opens(path)
    ordinary.encode_special_tokens = True

    def decode(ids: Sequence[int]) -> str:
        text: str = ordinary.decode(list(ids), skip_special_tokens=False)
        return text

    return Peer(
        name=f"tokenizers {tokenizers.__version__}",
        encode=lambda text: ordinary.encode(text, add_special_tokens=False).ids,
        encode_special=lambda text: special.encode(text, add_special_tokens=False).ids,
        decode=decode,
    )


def undecoded_ids(source: Source) -> frozenset[int]:
    """The ids that libraries decode each in its own way: special tokens and the unknown piece."""
    special = frozenset(source.special_tokens.values())
    match source.description:
        case SentencePieceModel(proto=proto):
            from tokbench.formats.sentencepiece_model import PieceType, parse_model

            pieces = parse_model(proto).pieces
            return special | {id for id, piece in enumerate(pieces) if piece.type is PieceType.UNKNOWN}
        case _:
            return special


def _library_opens(path: Path) -> Any:
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _byte_level(description: ByteLevelBpe) -> bytes:
    from tokbench.formats.byte_level import listed_merges, needs_whole_tokens_first, ordinary_tokens
    from tokbench.formats.tokenizer_json import dump_byte_level_bpe, for_oniguruma

    merges = listed_merges(description)
    return dump_byte_level_bpe(
        tokens=ordinary_tokens(description),
        merges=[(left, right) for left, right, _ in merges],
        special_tokens=description.special_tokens,
        pattern=None if description.pattern is None else for_oniguruma(description.pattern),
        normalization=description.normalization,
        whole_tokens_first=needs_whole_tokens_first(description, merges),
    )
