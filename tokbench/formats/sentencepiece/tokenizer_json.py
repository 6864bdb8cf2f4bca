"""Convert a SentencePiece model, Unigram or BPE, to a `tokenizer.json` with the same ids.

What is expressed differently:

- the dummy prefix, the removal of spaces and ▁ are normalizers, and there is no pre-tokenizer for words;
- a BPE with scores becomes a list of merges (see `formats.merges`);
- `tokenizers` matches every piece of a Unigram vocabulary in a text, even control symbols: texts that spell one are
  split inside it, at a position that no piece crosses;
- user-defined symbols are added tokens, or isolated by the pre-tokenizer (see `symbols`);
- a normalization table becomes several normalizers, as the library applies it differently (see `charsmap`).

A difference that remains: the library adds scores in double precision, SentencePiece in single precision. Unless
`unigram_scores` proves that no sum is rounded, some texts may have different ids.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tokbench.core.post_processing import NOTHING
from tokbench.errors import ConversionError
from tokbench.formats.merges import last_pair
from tokbench.formats.post_processors import dump_post_processing
from tokbench.formats.sentencepiece.charsmap import Normalization, normalization_of, replaced
from tokbench.formats.sentencepiece.model import SPACE, ModelType, iter_user_defined
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.sentencepiece.symbols import (
    are_added_tokens,
    check_whole_pieces,
    isolated_symbols,
    overlap,
    pattern_of,
    protected_symbols,
)
from tokbench.formats.sentencepiece.unigram_scores import symbol_score
from tokbench.formats.tokenizer_config.fields import AddedToken
from tokbench.formats.tokenizer_json import dump_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.core.descriptions import PostProcessing
    from tokbench.formats.sentencepiece.model import SentencePieceFile

_MANY = 2**31 - 1
_UNKNOWN_CHARACTER = "\ufdd0"
"""A noncharacter, which occurs in no piece."""


def dump_sentencepiece(
    model: SentencePieceFile, *, rounding: str | None = None, post_processing: PostProcessing = NOTHING
) -> bytes:
    """Return the `tokenizer.json` of a SentencePiece model.

    Args:
        model: the parsed file.
        rounding: a sentence on the accepted rounding of sums, which is stored in the file and ignored by the library.
        post_processing: how the ids of a text are post-processed for a model.

    Raises:
        ConversionError: `tokenizers` cannot represent the model.
    """
    _check(model)
    symbols = isolated_symbols(model)
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [token.listed() for token in _added_tokens(model, symbols)],
        "normalizer": {"type": "Sequence"}
        | ({"rounding": rounding} if rounding else {})
        | {"normalizers": _normalizers(model, symbols)},
        "pre_tokenizer": _split_step(model, symbols),
        "post_processor": dump_post_processing(post_processing)["post_processor"],
        "decoder": {"type": "Sequence", "decoders": _decoders(model)},
        "model": _unigram(model) if model.model_type is ModelType.UNIGRAM else _bpe(model, symbols),
    }
    return dump_json(document)


def preparation_of(model: SentencePieceFile) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
    """Return the normalizers and the pre-tokenizer of that `tokenizer.json`. Raises as `dump_sentencepiece`."""
    _check(model)
    symbols = isolated_symbols(model)
    return _normalizers(model, symbols), _split_step(model, symbols)


def normalization_in(model: SentencePieceFile) -> Normalization:
    """Return what normalizes texts there as the model's table does. Raises `ConversionError`."""
    charsmap, symbols = model.normalizer["precompiled_charsmap"], protected_symbols(model)
    return normalization_of(charsmap, symbols) if charsmap else Normalization((), excluded="")


def _added_tokens(model: SentencePieceFile, symbols: Sequence[str]) -> Iterator[AddedToken]:
    """Yield control symbols, and user-defined ones that are found in the normalized text."""
    found = set(symbols).difference(_split_symbols(model, symbols))
    for id, piece in enumerate(model.pieces):
        if piece.type is PieceType.CONTROL:
            yield AddedToken(id=id, content=piece.text)
        elif piece.text in found:
            yield AddedToken(id=id, content=piece.text, special=False, normalized=True)


def merge_order(model: SentencePieceFile) -> list[tuple[str, str]]:
    """Return the merges of a BPE model in the order of its scores: for each piece the pair that produces it.

    Among pieces of equal score SentencePiece merges the leftmost first. Runs of one character ("▁▁", "▁▁▁", …) are
    listed with the longest first, which is equivalent: a run grows from the left. For other pieces of equal score no
    list of merges is equivalent.

    Raises:
        ConversionError: there is no equivalent list.
    """
    scores = {piece.text: piece.score for piece in model.pieces if piece.type is PieceType.NORMAL}
    check_characters(model)
    levels = {score: rank for rank, score in enumerate(sorted(set(scores.values()), reverse=True))}
    ranks = {text: levels[score] for text, score in scores.items() if len(text) > 1}
    merges = {text: pair for text in ranks if (pair := last_pair(text, ranks)) is not None}
    parts = {part for text, pair in merges.items() for part in pair if ranks.get(part) != ranks[text]}
    ordered = sorted(merges, key=lambda text: (ranks[text], -len(text)))
    for text, next_text in pairwise(ordered):
        if ranks[text] != ranks[next_text]:
            continue
        if len(set(text + next_text)) > 1 or text in parts or next_text in parts:
            raise ConversionError(
                f"the pieces {text!r} and {next_text!r} have the same score, and merges need an order"
            )
    return [merges[text] for text in ordered]


def check_characters(model: SentencePieceFile) -> None:
    """Reject a model whose pieces contain characters that are not pieces themselves. Raises `ConversionError`."""
    normal = {piece.text for piece in model.pieces if piece.type is PieceType.NORMAL}
    known = normal.union(iter_user_defined(model))
    for text in normal:
        for character in text:
            if character not in known:
                raise ConversionError(f"{character!r} in the piece {text!r} is not a piece itself")


def _check(model: SentencePieceFile) -> None:
    if model.model_type not in (ModelType.UNIGRAM, ModelType.BPE):
        raise ConversionError(f"tokenizers has no model of the type {model.model_type.name.lower()}")
    if not model.normalizer["escape_whitespaces"]:
        raise ConversionError("the model does not write spaces as ▁")
    if model.trainer["treat_whitespace_as_suffix"]:
        raise ConversionError("the model puts spaces at the end of words, which tokenizers cannot do")
    if model.denormalizer["precompiled_charsmap"]:
        raise ConversionError("the model changes text when it decodes, and tokenizers cannot")
    if model.trainer["pretokenization_delimiter"]:
        raise ConversionError("the model splits text at a custom delimiter")
    for piece in model.pieces:
        if piece.type is PieceType.UNUSED and model.model_type is ModelType.BPE:
            raise ConversionError(
                f"{piece.text!r} is an unused piece, which SentencePiece splits into its parts again"
            )
        if piece.type not in (PieceType.NORMAL, PieceType.USER_DEFINED) and len(piece.text) == 1:
            raise ConversionError(f"{piece.text!r} is a {piece.type.name.lower()} piece of one character")


def _normalizers(model: SentencePieceFile, symbols: Sequence[str]) -> list[dict[str, Any]]:
    options = model.normalizer
    steps: list[dict[str, Any]] = []
    if options["add_dummy_prefix"] and not options["remove_extra_whitespaces"]:
        # First, so that a text that normalizes to nothing has its prefix, too. The table may change ▁, but not a space.
        steps.append({"type": "Prepend", "prepend": " " if options["precompiled_charsmap"] else SPACE})
    steps += normalization_in(model).steps
    if options["remove_extra_whitespaces"]:
        # SentencePiece removes trailing spaces after it has written them as ▁, and so removes a ▁ of the text, too.
        steps.append(replaced({"Regex": r"\A +"}, ""))
        steps.append(replaced({"Regex": f"[ {SPACE}]+\\z"}, ""))
        steps.append(replaced({"Regex": " {2,}"}, " "))
        if options["add_dummy_prefix"]:
            steps.append({"type": "Prepend", "prepend": SPACE})
    return [*steps, replaced({"String": " "}, SPACE), *_disguises(model, symbols)]


def _decoders(model: SentencePieceFile) -> list[dict[str, Any]]:
    options = model.normalizer
    steps: list[dict[str, Any]] = [replaced({"String": SPACE}, " ")]
    if model.trainer["byte_fallback"]:
        steps.append({"type": "ByteFallback"})
    steps.append({"type": "Fuse"})
    dropped = _MANY if options["remove_extra_whitespaces"] else int(options["add_dummy_prefix"])
    return [*steps, {"type": "Strip", "content": " ", "start": dropped, "stop": 0}] if dropped else steps


def _unigram(model: SentencePieceFile) -> dict[str, Any]:
    # The lowest score determines the cost of an unknown character; in SentencePiece only normal pieces count for it.
    # No text is segmented into the other pieces, so a score that is not lower is harmless.
    other = max((0.0, *(piece.score for piece in model.pieces if piece.type is PieceType.NORMAL)))
    scores = [other] * len(model.pieces)
    for id, piece in enumerate(model.pieces):
        if piece.type is PieceType.NORMAL:
            scores[id] = piece.score
        elif piece.type is PieceType.USER_DEFINED:
            scores[id] = symbol_score(piece.text)
    return {
        "type": "Unigram",
        "unk_id": model.unknown_id,
        "vocab": [[piece.text, score] for piece, score in zip(model.pieces, scores, strict=True)],
        "byte_fallback": bool(model.trainer["byte_fallback"]),
    }


def _bpe(model: SentencePieceFile, symbols: Sequence[str]) -> dict[str, Any]:
    merges, split = merge_order(model), _split_symbols(model, symbols)
    if split:
        check_whole_pieces(model, {left + right for left, right in merges}, split)
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": model.pieces[model.unknown_id].text,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": bool(model.trainer["byte_fallback"]),
        "ignore_merges": bool(split),
        "vocab": {piece.text: id for id, piece in enumerate(model.pieces)},
        "merges": merges,
    }


def _split_symbols(model: SentencePieceFile, symbols: Sequence[str]) -> Sequence[str]:
    """Return the symbols that the pre-tokenizer isolates; the others are added tokens."""
    return () if are_added_tokens(model) else symbols


def _unreachable_pieces(model: SentencePieceFile, symbols: Sequence[str]) -> list[str]:
    """Return the pieces that no text becomes, but that `tokenizers` would match in texts that spell them.

    A BPE matches only whole pre-tokens, which are parts of a text where the pre-tokenizer isolates symbols.
    """
    if model.model_type is ModelType.BPE and not _split_symbols(model, symbols):
        return []
    reachable = (PieceType.NORMAL, PieceType.USER_DEFINED)
    texts = [piece.text for piece in model.pieces if piece.type not in reachable]
    return [text for text in texts if not any(symbol in text for symbol in symbols)]


def _disguises(model: SentencePieceFile, symbols: Sequence[str]) -> list[dict[str, Any]]:
    """Replace texts that spell such a piece only in unknown characters by another unknown character.

    Without byte fallback, adjacent unknown characters are one unknown piece, whichever they are.
    """
    known = set(_characters(model))
    if model.trainer["byte_fallback"]:
        return []
    disguised = [text for text in _unreachable_pieces(model, symbols) if known.isdisjoint(text)]
    for text in disguised:
        for symbol in symbols:
            if overlap(text, symbol) or overlap(symbol, text):
                raise ConversionError(
                    f"the user-defined symbol {symbol!r} overlaps with the text of {text!r}"
                )
    return [replaced({"String": text}, _UNKNOWN_CHARACTER) for text in disguised]


def _split_step(model: SentencePieceFile, symbols: Sequence[str]) -> dict[str, Any] | None:
    """Isolate symbols, and split texts inside the spelling of such a piece, between characters that no piece joins."""
    normal = [piece.text for piece in model.pieces if piece.type is PieceType.NORMAL]
    joined = {text[index : index + 2] for text in normal for index in range(len(text) - 1)}
    known = set(_characters(model))
    places: dict[str, None] = {}
    for text in _unreachable_pieces(model, symbols):
        if model.trainer["byte_fallback"]:
            places[_pair_to_split(text, joined=joined, known=set(text))] = None
        elif not known.isdisjoint(text):
            places[_pair_to_split(text, joined=joined, known=known)] = None
    isolated = _split_symbols(model, symbols)
    parts = [pattern_of(isolated)] if isolated else []
    parts += [f"(?<={re.escape(place[0])})(?={re.escape(place[1])})" for place in places]
    if not parts:
        return None
    return {"type": "Split", "pattern": {"Regex": "|".join(parts)}, "behavior": "Isolated", "invert": False}


def _pair_to_split(text: str, *, joined: set[str], known: set[str]) -> str:
    """Return the two characters between which to split: no piece crosses them, and they are not both unknown."""
    for index in range(len(text) - 1):
        place = text[index : index + 2]
        # Adjacent unknown characters become one unknown piece, which a split would make two; with byte fallback they
        # become their bytes, and no character is unknown in that sense.
        if place not in joined and (place[0] in known or place[1] in known):
            return place
    raise ConversionError(
        f"tokenizers would find the piece {text!r} in texts that spell it, and every place in it is crossed "
        "by other pieces"
    )


def _characters(model: SentencePieceFile) -> Iterator[str]:
    """Iterate over the characters that are pieces."""
    return (piece.text for piece in model.pieces if piece.type is PieceType.NORMAL and len(piece.text) == 1)
