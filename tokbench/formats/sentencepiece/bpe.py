"""Convert a `tokenizer.json` with a BPE over characters, such as Llama 2's, to a SentencePiece model.

The inverse of `tokenizer_json`: a list of merges becomes scores. SentencePiece merges any two neighbours whose
concatenation is a piece, the best score first; so the score of each piece is the negated rank of the merge that
produces it, and pairs that are not listed make no difference (see `tokbench.formats.merges`).

Added tokens that are not special, such as `<table>` and runs of line ends in Gemma, become user-defined symbols: both
are isolated, the leftmost first and the longest at each position. If spaces are written as ▁ only after tokens are
matched, an added token with ▁ is found only in texts that contain this character, and stays an ordinary piece here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from tokbench.errors import ConversionError
from tokbench.formats.merges import last_pair, merged_parts
from tokbench.formats.sentencepiece.model import SPACE, ModelType, dump_model, parse_model, role_ids
from tokbench.formats.sentencepiece.pieces import BYTE_PIECES, ModelPiece, PieceType
from tokbench.formats.sentencepiece.symbols import isolated_symbols, overlap, pattern_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PREPEND = {"type": "Prepend", "prepend": SPACE}
_SPACES = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
_AT_SPACES = {"type": "Split", "pattern": {"String": " "}, "invert": False}
_BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
_FLAGS = ("lstrip", "rstrip", "single_word")
_MOST_RANKS = 1 << 24


@dataclass(frozen=True, slots=True)
class BpeModel:
    """A `.model`, and where it differs from its source.

    Attributes:
        proto: the serialized `ModelProto`.
        excluded: the characters of texts that the two may encode differently.
    """

    proto: bytes
    excluded: str


def model_of_bpe(document: Mapping[str, Any], *, merges: Sequence[tuple[str, str]]) -> BpeModel:
    """Return the SentencePiece model of a `tokenizer.json` whose model is a BPE.

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
    found = _found_tokens(document["added_tokens"], has_prefix=has_prefix)
    kinds = _kinds(texts, document)
    symbol = _any_symbol(texts, kinds)
    merges = _last_merges([(left, right) for left, right in merges if not symbol.search(left + right)])
    ranks = _ranks(merges)
    normal = [text for text, kind in zip(texts, kinds, strict=True) if kind is PieceType.NORMAL]
    _check_pieces([text for text in normal if not symbol.search(text)], ranks, merges)
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
    proto = dump_model(pieces, trainer=trainer, normalizer=normalizer)
    isolated_symbols(parse_model(proto))
    is_spelled = not set(normal).isdisjoint(found)
    return BpeModel(proto, excluded=SPACE if is_spelled else "")


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
    """Whether a space is prepended to each text; besides that, only ▁ for spaces is allowed as normalization.

    Splitting at spaces does nothing, as the text has none then.
    """
    normalizer = document.get("normalizer") or {}
    steps = normalizer["normalizers"] if normalizer.get("type") == "Sequence" else [normalizer]
    splits = document.get("pre_tokenizer") not in (
        None,
        *({**_AT_SPACES, "behavior": way} for way in _BEHAVIORS),
    )
    if splits or steps not in ([_SPACES], [_PREPEND, _SPACES]):
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


def _found_tokens(added: Sequence[Mapping[str, Any]], *, has_prefix: bool) -> list[str]:
    """Return the added tokens that are found in every text. Raises `ConversionError` if SentencePiece finds others."""
    found = [token for token in added if not token.get("special")]
    for token in found:
        text = token["content"]
        if has_prefix:
            raise ConversionError(
                f"{text!r} is an added token that is not special; SentencePiece matches such tokens before it "
                "puts a space before the text, tokenizers after it"
            )
        if flags := [flag for flag in _FLAGS if token.get(flag)]:
            raise ConversionError(f"the added token {text!r} has the flag {flags[0]}")
        if " " in text:
            raise ConversionError(
                f"the added token {text!r} contains a space, which SentencePiece writes as ▁"
            )
        for special in added:
            # The library passes over the whole text of a special token that it is told to ignore.
            if special.get("special") and overlap(special["content"], text):
                raise ConversionError(
                    f"the added token {text!r} may begin inside the text of {special['content']!r}, where "
                    "SentencePiece finds it, and tokenizers does not"
                )
    if len({bool(token.get("normalized")) for token in found}) > 1:
        raise ConversionError("some added tokens are found before the text is normalized and some after it")
    return [token["content"] for token in found]


def _kinds(texts: Sequence[str], document: Mapping[str, Any]) -> list[PieceType]:
    added = {token["content"]: token for token in document["added_tokens"]}
    unknown = document["model"]["unk_token"]
    spellings = BYTE_PIECES if document["model"].get("byte_fallback") else ()
    if not set(texts).issuperset(spellings):
        raise ConversionError("SentencePiece falls back to all 256 bytes or to none")
    kinds = []
    for text in texts:
        if text == unknown:
            kinds.append(PieceType.UNKNOWN)
        elif text in added and added[text].get("special"):
            kinds.append(PieceType.CONTROL)
        elif text in added and (SPACE not in text or added[text].get("normalized")):
            kinds.append(PieceType.USER_DEFINED)
        else:
            kinds.append(PieceType.BYTE if text in spellings else PieceType.NORMAL)
    return kinds


def _any_symbol(texts: Sequence[str], kinds: Sequence[PieceType]) -> re.Pattern[str]:
    """Return a pattern of the user-defined symbols, none of which is in what is between two of them."""
    symbols = [text for text, kind in zip(texts, kinds, strict=True) if kind is PieceType.USER_DEFINED]
    return re.compile(pattern_of(symbols) if symbols else "(?!)")


def _last_merges(merges: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Leave out merges that never happen, where several with different ranks produce the same piece.

    As for scores, only the last merge of a piece alone produces it in a text.
    """
    makers: dict[str, list[int]] = {}
    for rank, (left, right) in enumerate(merges):
        makers.setdefault(left + right, []).append(rank)
    several = {text for text, ranks in makers.items() if ranks[-1] - ranks[0] >= len(ranks)}
    if not several:
        return list(merges)
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    last = {_last_listed(text, ranks) for text in several}
    return [
        pair
        for rank, pair in enumerate(merges)
        if pair[0] + pair[1] not in several or (pair in last and ranks[pair] == rank)
    ]


def _ranks(merges: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Map each piece to the rank of its first merge."""
    if len(merges) >= _MOST_RANKS:
        raise ConversionError("there are more merges than single precision can number")
    ranks: dict[str, int] = {}
    for rank, (left, right) in enumerate(merges):
        ranks.setdefault(left + right, rank)
    return ranks


def _last_listed(piece: str, ranks: Mapping[tuple[str, str], int]) -> tuple[str, str] | None:
    """Return the pair whose merge produces a piece, or None if none does; ranks are those of pairs."""
    parts = merged_parts(list(piece), lambda left, right: ranks.get((left, right), inf), fewest=2)
    return (parts[0], parts[1]) if len(parts) == 2 and (parts[0], parts[1]) in ranks else None


def _check_pieces(normal: Sequence[str], ranks: Mapping[str, int], merges: Sequence[tuple[str, str]]) -> None:
    listed = {pair: rank for rank, pair in enumerate(merges)}
    for text in normal:
        if len(text) == 1 or (last := last_pair(text, ranks)) in listed:
            continue
        if last is not None or _last_listed(text, listed) is not None:
            raise ConversionError(f"with scores alone, the piece {text!r} would be merged differently")
    for text in ranks.keys() - set(normal):
        raise ConversionError(f"a merge makes {text!r}, which is not an ordinary piece")
