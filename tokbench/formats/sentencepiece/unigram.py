"""Convert a `tokenizer.json` with a Unigram model to a SentencePiece model.

The output of `tokenizer_json` converts back unchanged. Files like those of T5 and XLM-RoBERTa also convert: a
normalization table (`Precompiled`) and `Metaspace`, with white space split or stripped. Their library replaces whole
grapheme clusters where SentencePiece replaces the longest key of the table: characters that join others are excluded
from the equivalence.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from tokbench.errors import ConversionError
from tokbench.files.untrusted import first_repeated
from tokbench.formats.sentencepiece.charsmap import rules_of
from tokbench.formats.sentencepiece.model import SPACE, ModelType, dump_model, parse_model, role_ids
from tokbench.formats.sentencepiece.pieces import BYTE_PIECES, ModelPiece, PieceType
from tokbench.formats.sentencepiece.tokenizer_json import preparation_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_WHITE = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)
_JOINING = r"[\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}\p{GCB=V}\p{GCB=T}\p{GCB=Prepend}\r]"
_UNSUPPORTED = "it prepares or splits texts in a way that SentencePiece does not support"


@dataclass(frozen=True, slots=True)
class UnigramModel:
    """A `.model`, and where it differs from its source.

    Attributes:
        proto: the serialized `ModelProto`.
        pieces: the pieces by id, with the scores of the `tokenizer.json`.
        excluded: the characters that the two normalize differently.
    """

    proto: bytes
    pieces: tuple[ModelPiece, ...]
    excluded: str


def model_of_unigram(document: Mapping[str, Any]) -> UnigramModel:
    """Return the SentencePiece model of a `tokenizer.json` whose model is a Unigram.

    Raises:
        ConversionError: SentencePiece cannot represent the tokenizer.
    """
    pieces = _pieces(document)
    if (again := first_repeated([piece.text for piece in pieces])) is not None:
        raise ConversionError(f"the piece {again!a} is listed twice, and SentencePiece takes each piece once")
    unknown = next(id for id, piece in enumerate(pieces) if piece.type is PieceType.UNKNOWN)
    trainer = {
        "model_type": int(ModelType.UNIGRAM),
        "vocab_size": len(pieces),
        "byte_fallback": bool(document["model"].get("byte_fallback")),
        "unk_id": unknown,
        "unk_piece": pieces[unknown].text,
        **role_ids(pieces),
    }
    charsmap = _charsmap(document)
    for prefix, extra in product((True, False), repeat=2):
        proto = dump_model(
            pieces, trainer=trainer, normalizer=_normalizer(charsmap, prefix=prefix, extra=extra)
        )
        if _converts_to(proto, document):
            return UnigramModel(proto, pieces, excluded="")
    proto = dump_model(pieces, trainer=trainer, normalizer=_normalizer(charsmap, prefix=True, extra=True))
    return UnigramModel(proto, pieces, excluded=_excluded(document, pieces, charsmap))


def _normalizer(charsmap: bytes, *, prefix: bool, extra: bool) -> dict[str, Any]:
    return {
        "name": "" if charsmap else "identity",
        **({"precompiled_charsmap": charsmap} if charsmap else {}),
        "add_dummy_prefix": prefix,
        "remove_extra_whitespaces": extra,
        "escape_whitespaces": True,
    }


# --- pieces -----------------------------------------------------------------------------------


def _pieces(document: Mapping[str, Any]) -> tuple[ModelPiece, ...]:
    model = document["model"]
    unknown = model.get("unk_id")
    if unknown is None:
        raise ConversionError("SentencePiece needs an unknown piece, and this model has none")
    entries = {id: (text, float(score)) for id, (text, score) in enumerate(model["vocab"])}
    special = set()
    for token in document["added_tokens"]:
        if not token.get("special"):
            raise ConversionError(
                f"{token['content']!r} is an added token that is not special; SentencePiece matches such tokens "
                "before it prepends a space to the text, tokenizers after it"
            )
        special.add(token["id"])
        if entries.setdefault(token["id"], (token["content"], 0.0))[0] != token["content"]:
            raise ConversionError(f"{token['content']!r} has the id of another piece")
    if sorted(entries) != list(range(len(entries))):
        raise ConversionError("the ids have a gap, and a SentencePiece model has a piece for each")
    spellings = BYTE_PIECES if model.get("byte_fallback") else ()
    if not {text for text, _ in entries.values()}.issuperset(spellings):
        raise ConversionError("SentencePiece falls back to all 256 bytes or to none")
    pieces = []
    for id in range(len(entries)):
        text, score = entries[id]
        if id == unknown:
            type = PieceType.UNKNOWN
        elif id in special:
            type = PieceType.CONTROL
        else:
            type = PieceType.BYTE if text in spellings else PieceType.NORMAL
        pieces.append(ModelPiece(text, score if type is PieceType.NORMAL else 0.0, type))
    lowest = min((piece.score for piece in pieces if piece.type is PieceType.NORMAL), default=0.0)
    if min(score for _, score in entries.values()) < lowest or lowest > 0:
        raise ConversionError(
            "a special piece has the lowest score, from which the score of unknown characters is computed"
        )
    return tuple(pieces)


# --- how texts are prepared -------------------------------------------------------------------


def _steps(part: Mapping[str, Any] | None, several: str) -> Iterator[Mapping[str, Any]]:
    if part is None:
        return
    if part.get("type") == "Sequence":
        for step in part[several]:
            yield from _steps(step, several)
    else:
        yield part


def _charsmap(document: Mapping[str, Any]) -> bytes:
    tables = [
        step["precompiled_charsmap"]
        for step in _steps(document.get("normalizer"), "normalizers")
        if step["type"] == "Precompiled"
    ]
    if len(tables) > 1:
        raise ConversionError("it has several normalization tables, and SentencePiece takes one")
    try:
        return base64.b64decode(tables[0]) if tables and tables[0] else b""
    except (binascii.Error, TypeError, ValueError):
        raise ConversionError("its normalization table is not base64") from None


def _converts_to(proto: bytes, document: Mapping[str, Any]) -> bool:
    """Whether a model would convert to the normalizers and the pre-tokenizer of this document."""
    try:
        normalizers, pre_tokenizer = preparation_of(parse_model(proto))
    except ConversionError:
        return False
    steps = list(_steps(document.get("normalizer"), "normalizers"))
    return (normalizers, pre_tokenizer) == (steps, document.get("pre_tokenizer"))


def _excluded(document: Mapping[str, Any], pieces: Sequence[ModelPiece], charsmap: bytes) -> str:
    """Return the characters that a file like T5's normalizes differently. Raises `ConversionError`."""
    normalizers = [
        step for step in _steps(document.get("normalizer"), "normalizers") if step["type"] != "Precompiled"
    ]
    splitters = list(_steps(document.get("pre_tokenizer"), "pretokenizers"))
    kinds = [step["type"] for step in splitters]
    strips = any(step["type"] == "Strip" and step.get("strip_right") for step in normalizers)
    folds = any(
        step["type"] == "Replace"
        and step["pattern"] == {"Regex": " {2,}"}
        and step["content"] in (" ", SPACE)
        for step in normalizers
    )
    odd = [step["type"] for step in normalizers if step["type"] not in ("Strip", "Replace")]
    words = kinds == ["WhitespaceSplit", "Metaspace"] and not normalizers
    folded = kinds == ["Metaspace"] and strips and folds and len(normalizers) == 2
    if not (words or folded) or not _has_prefix(splitters[-1]):
        by = f": {odd[0]}" if odd else ""
        raise ConversionError(f"{_UNSUPPORTED}{by}")
    special = {token["id"] for token in document["added_tokens"]}
    for id, piece in enumerate(pieces):
        if piece.type is not PieceType.NORMAL and id not in special:
            raise ConversionError(
                f"the source encodes the text {piece.text!r} as that piece, and SentencePiece never does"
            )
    if any(SPACE in piece.text[1:] for piece in pieces if piece.type is PieceType.NORMAL):
        raise ConversionError("it splits at spaces, and a piece contains one")
    if not any(piece.text == SPACE and piece.type is PieceType.NORMAL for piece in pieces):
        raise ConversionError(f"{SPACE} is no piece, and unknown characters would be joined across spaces")
    rules = rules_of(charsmap) if charsmap else {}
    splitting = {white for white in _WHITE if set(rules.get(white, white)) & set(_WHITE) - {" "}}
    if splitting & set("\t\n\r"):
        raise ConversionError(f"{_UNSUPPORTED}: it splits at line ends, too")
    joining = {*_joining_characters(), *(character for key in rules for character in key[1:])}
    return "".join(sorted(joining | splitting | (set() if rules.get(SPACE) == " " else {SPACE})))


def _has_prefix(metaspace: Mapping[str, Any]) -> bool:
    scheme = metaspace.get("prepend_scheme") or ("always" if metaspace.get("add_prefix_space") else "never")
    return (
        scheme == "always"
        and metaspace.get("replacement") == SPACE
        and metaspace.get("str_rep", SPACE) == SPACE
        and bool(metaspace.get("split", True))
    )


def _joining_characters() -> Iterator[str]:
    """Yield the characters that can form a grapheme cluster with a neighbour."""
    import regex

    characters = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    return (match[0] for match in regex.finditer(_JOINING, characters))
