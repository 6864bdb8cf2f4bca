"""SentencePiece models whose class changes a text first, as the `tokenizer.json` that does the same.

ALBERT, XLNet and FNet join white space, take `` and '' for ", and may drop accents and case; a piece that is a number
with a comma is no piece to them. Versions of the classes differ at the ends of a text, after such numbers, and in
Hangul: this is what most of them do.

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
    from collections.abc import Mapping

    from tokbench.core.descriptions import PostProcessing
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.formats.sentencepiece.pieces import ModelPiece
    from tokbench.opening.recognition import Source

_DEFAULTS = {
    "AlbertTokenizer": {"do_lower_case": True, "keep_accents": False},
    "XLNetTokenizer": {"do_lower_case": False, "keep_accents": False},
    "FNetTokenizer": {"do_lower_case": False, "keep_accents": True},
}
_COMMA_COSTS = 100
"""What is taken from the score of a number with a comma: it is then worse than its parts."""


def document_of_class(source: Source, model: SentencePieceFile, *, around: PostProcessing) -> bytes | None:
    """The `tokenizer.json` of a model; None for a class that takes a text as it is, or a model that is no Unigram.

    Args:
        source: what the user named: a file by its name is the model alone.
        model: the model.
        around: the template.
    """
    defaults = _DEFAULTS.get(class_of_folder(source) or "")
    said = json_beside(source.files[0].parent / "tokenizer_config.json")
    if defaults is None or model.model_type is not ModelType.UNIGRAM or said.get("remove_space") is False:
        return None
    table = model.normalizer["precompiled_charsmap"]
    rules = {"type": "Precompiled", "precompiled_charsmap": b64encode(table).decode()} if table else None
    settings = {key: said.get(key, value) for key, value in defaults.items()}
    pipeline = class_pipeline("Albert", Declared(rules=rules, config=settings))
    assert pipeline is not None
    flags = {token.content: token.flags() for token in source.config.added_tokens}
    return dumped(
        {
            "version": "1.0",
            "added_tokens": [
                _added(id, piece, flags.get(piece.text, {}))
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


def _added(id: int, piece: ModelPiece, said: Mapping[str, bool]) -> Mapping[str, Any]:
    token = AddedToken(id=id, content=piece.text, special=piece.type is not PieceType.USER_DEFINED)
    return {"id": id, "content": piece.text, **token.flags(), **said}


def _score(piece: ModelPiece) -> float:
    is_comma = len(piece.text) > 1 and piece.text[-1] == "," and piece.text[-2].isdigit()
    return piece.score - _COMMA_COSTS * is_comma
