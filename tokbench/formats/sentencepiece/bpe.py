"""Convert a `tokenizer.json` with a BPE over characters, such as Llama 2's, to a SentencePiece model.

The inverse of `tokenizer_json`: a list of merges becomes scores. SentencePiece merges any two neighbours whose
concatenation is a piece, the best score first; so the score of each piece is the negated rank of the merge that
produces it, and pairs that are not listed make no difference (see `tokbench.formats.merges`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.errors import ConversionError
from tokbench.formats.merges import last_pair
from tokbench.formats.sentencepiece.model import SPACE, ModelType, dump_model, role_ids
from tokbench.formats.sentencepiece.pieces import BYTE_PIECES, ModelPiece, PieceType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PREPEND = {"type": "Prepend", "prepend": SPACE}
_SPACES = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
_MOST_RANKS = 1 << 24


def model_of_bpe(document: Mapping[str, Any], *, merges: Sequence[tuple[str, str]]) -> bytes:
    """Return the serialized `ModelProto` of a `tokenizer.json`.

    Args:
        document: the parsed file; its model is a BPE.
        merges: the merges of its model, as pairs.

    Raises:
        ConversionError: SentencePiece cannot represent the tokenizer.
    """
    model = document["model"]
    has_prefix = _has_prefix(document)
    _check_model(model)
    texts = _texts(model["vocab"], document["added_tokens"])
    kinds = _kinds(texts, document)
    ranks = _ranks(merges)
    _check_pieces(texts, kinds, ranks, merges)
    pieces = [
        ModelPiece(text, -float(ranks.get(text, len(merges))) if kind is PieceType.NORMAL else 0.0, kind)
        for text, kind in zip(texts, kinds, strict=True)
    ]
    normalizer = {
        "name": "identity",
        "add_dummy_prefix": has_prefix,
        "remove_extra_whitespaces": False,
        "escape_whitespaces": True,
    }
    trainer = {
        "model_type": int(ModelType.BPE),
        "vocab_size": len(texts),
        "byte_fallback": PieceType.BYTE in kinds,
        "unk_id": texts.index(model["unk_token"]),
        "unk_piece": model["unk_token"],
        **role_ids(pieces),
    }
    return dump_model(pieces, trainer=trainer, normalizer=normalizer)


def _check_model(model: Mapping[str, Any]) -> None:
    for option in ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"):
        if model.get(option):
            raise ConversionError(
                f"its model has {option} = {model[option]!r}, which SentencePiece does not have"
            )
    if model.get("unk_token") not in model["vocab"]:
        raise ConversionError("SentencePiece needs an unknown piece, and this model has none")
    if not model.get("byte_fallback") and not model.get("fuse_unk"):
        raise ConversionError(
            "SentencePiece joins neighbouring unknown characters into one token, and this model does not"
        )


def _has_prefix(document: Mapping[str, Any]) -> bool:
    """Whether a space is prepended to each text; besides that, only ▁ for spaces is allowed as normalization."""
    normalizer = document.get("normalizer") or {}
    steps = normalizer["normalizers"] if normalizer.get("type") == "Sequence" else [normalizer]
    if document.get("pre_tokenizer") is not None or steps not in ([_SPACES], [_PREPEND, _SPACES]):
        raise ConversionError(
            "SentencePiece merges whole texts, their spaces written as ▁, and this tokenizer.json prepares or "
            "splits them in another way"
        )
    return len(steps) > 1


def _texts(vocab: Mapping[str, int], added: Sequence[Mapping[str, Any]]) -> list[str]:
    by_id = {id: text for text, id in vocab.items()} | {token["id"]: token["content"] for token in added}
    if sorted(by_id) != list(range(len(by_id))):
        raise ConversionError("the ids have a gap, and a SentencePiece model has a piece for each")
    return [by_id[id] for id in range(len(by_id))]


def _kinds(texts: Sequence[str], document: Mapping[str, Any]) -> list[PieceType]:
    special = {token["content"]: bool(token.get("special")) for token in document["added_tokens"]}
    unknown = document["model"]["unk_token"]
    spellings = BYTE_PIECES if document["model"].get("byte_fallback") else ()
    if not set(texts).issuperset(spellings):
        raise ConversionError("SentencePiece falls back to all 256 bytes or to none")
    kinds = []
    for text in texts:
        if text == unknown:
            kinds.append(PieceType.UNKNOWN)
        elif special.get(text):
            kinds.append(PieceType.CONTROL)
        elif text in special:
            raise ConversionError(
                f"{text!r} is an added token that is not special; SentencePiece matches such tokens before it "
                "puts a space before the text, tokenizers after it"
            )
        else:
            kinds.append(PieceType.BYTE if text in spellings else PieceType.NORMAL)
    return kinds


def _ranks(merges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Map each piece to the rank of its first merge; the merges that produce a piece must be adjacent."""
    if len(merges) >= _MOST_RANKS:
        raise ConversionError("there are more merges than single precision can number")
    ranks: dict[str, int] = {}
    before = None
    for rank, (left, right) in enumerate(merges):
        merged = left + right
        if merged != before and merged in ranks:
            raise ConversionError(
                f"the merges that make {merged!r} have different ranks, and a piece has one score"
            )
        ranks.setdefault(merged, rank)
        before = merged
    return ranks


def _check_pieces(
    texts: Sequence[str],
    kinds: Sequence[PieceType],
    ranks: Mapping[str, int],
    merges: Sequence[tuple[str, str]],
) -> None:
    normal = {text for text, kind in zip(texts, kinds, strict=True) if kind is PieceType.NORMAL}
    listed = set(merges)
    for text in normal:
        if len(text) > 1 and last_pair(text, ranks) not in listed:
            raise ConversionError(f"with scores alone, the piece {text!r} would be merged differently")
    for text in ranks:
        if text not in normal:
            raise ConversionError(f"a merge makes {text!r}, which is not an ordinary piece")
