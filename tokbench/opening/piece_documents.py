"""Rewrite SentencePiece models whose class changes a text first as the equivalent `tokenizer.json`.

ALBERT, XLNet and FNet collapse white space, replace `` and '' by ", and may remove accents and case; they never use a
piece that is a number with a comma. Versions of the classes differ at the ends of a text, after such numbers, and in
Hangul: this implements what most of them do.

Source: their `tokenization_*.py` and `AlbertConverter` in transformers 4.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

from tokbench.formats.post_processors import dump_post_processing
from tokbench.formats.sentencepiece.model import ModelType
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.tokenizer_config.fields import AddedToken
from tokbench.opening.piece_classes import class_of_folder
from tokbench.opening.sentencepiece_classes import Declared, class_pipeline
from tokbench.opening.tokenizer_classes import json_beside
from tokbench.opening.vocab_txt import dumped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.descriptions import PostProcessing
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.formats.sentencepiece.pieces import ModelPiece
    from tokbench.opening.recognition import Source

_DEFAULTS = {
    "AlbertTokenizer": {"do_lower_case": True, "keep_accents": False},
    "XLNetTokenizer": {"do_lower_case": False, "keep_accents": False},
    "FNetTokenizer": {"do_lower_case": False, "keep_accents": True},
}
_MASKS = ("[MASK]", "<mask>")
_COMMA_COSTS = 100
"""Subtracted from the score of a number with a comma, which makes it worse than its parts."""


def document_of_class(source: Source, model: SentencePieceFile, *, around: PostProcessing) -> bytes | None:
    """Return the `tokenizer.json` of a model; None if its class does not change texts, or it is not a Unigram.

    Args:
        source: the path that the user gave; a single file is the model alone.
        model: the parsed model.
        around: the template.
    """
    defaults = _DEFAULTS.get(class_of_folder(source) or "")
    settings_beside = json_beside(source.files[0].parent / "tokenizer_config.json")
    if defaults is None or not _can_be_done(model, settings_beside):
        return None
    table = model.normalizer["precompiled_charsmap"]
    rules = {"type": "Precompiled", "precompiled_charsmap": b64encode(table).decode()} if table else None
    settings = {key: settings_beside.get(key, value) for key, value in defaults.items()}
    pipeline = class_pipeline("Albert", Declared(rules=rules, config=settings))
    assert pipeline is not None
    flags = {token.content: token.flags() for token in source.config.added_tokens}
    return dumped(
        {
            "version": "1.0",
            "added_tokens": [
                _added_token(id, piece, flags.get(piece.text, {}))
                for id, piece in enumerate(model.pieces)
                if piece.type is not PieceType.NORMAL
            ],
            **pipeline.parts(),
            **dump_post_processing(around),
            "model": {
                "type": "Unigram",
                "unk_id": model.trainer["unk_id"],
                "vocab": [[piece.text, _score(piece)] for piece in model.pieces],
                "byte_fallback": False,
            },
        }
    )


def _can_be_done(model: SentencePieceFile, settings: Mapping[str, Any]) -> bool:
    return model.model_type is ModelType.UNIGRAM and settings.get("remove_space") is not False


def changes_left_out(source: Source, model: SentencePieceFile) -> Iterator[str]:
    """Yield a sentence if the class of a folder changes texts in a way that is not done for its model.

    Args:
        source: the path that the user gave.
        model: the parsed model.
    """
    name = class_of_folder(source)
    settings = json_beside(source.files[0].parent / "tokenizer_config.json")
    if name in _DEFAULTS and not _can_be_done(model, settings):
        yield (
            f"an {name} first changes a text, as its quotes, accents and case, which is only done here for a "
            "Unigram model and with remove_space: it gives different ids for such texts"
        )


def versions_differ(source: Source, pieces: Sequence[ModelPiece]) -> Iterator[str]:
    """Yield a sentence about the symbols of a model after which versions of its class differ in the spaces.

    Args:
        source: the path that the user gave.
        pieces: the pieces of the model.
    """
    symbols = [
        piece.text for piece in pieces if piece.type is PieceType.USER_DEFINED and piece.text not in _MASKS
    ]
    if symbols:
        yield (
            f"versions of a {class_of_folder(source)} differ in the spaces around the symbols of the model, as "
            f"{symbols[0]!r}: its class in Python puts none after them, and here there is one, as in its fast classes"
        )


def _added_token(id: int, piece: ModelPiece, flags: Mapping[str, bool]) -> Mapping[str, Any]:
    token = AddedToken(id=id, content=piece.text, special=piece.type is not PieceType.USER_DEFINED)
    return {**token.listed(), **flags}


def _score(piece: ModelPiece) -> float:
    is_comma = len(piece.text) > 1 and piece.text[-1] == "," and piece.text[-2].isdigit()
    return piece.score - _COMMA_COSTS * is_comma
