"""Unigram of a `tokenizer.json` as data of `unigram_document.js`."""

from __future__ import annotations

import unicodedata
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import orjson

from tokbench.errors import PageError
from tokbench.opening.tokenizer_json_tokens import NotNativeError
from tokbench.opening.unigram_document import UnigramDocument
from tokbench.play_page.added_tokens import added_fields, cannot_run
from tokbench.play_page.regexes import code_points, ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokbench.core.interfaces import Tokenizer

_BLOCK_SIZE = 1 << 8
_SEPARATOR = "\tzxz\t"
_NORMALIZED_SEPARATOR = " zxz "
_DECOMPOSED, _COMPOSED, _MARK = "a\u0301", "\u00e1", "\u0301"
_MOST_JOINED = 10_000


def unigram_document_data(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the fields of a Unigram.

    Args:
        tokenizer: a tokenizer from a `tokenizer.json`.

    Raises:
        PageError: the encoder does not support the document.
    """
    if not isinstance(tokenizer, UnigramDocument):
        raise cannot_run(
            "Unigram", "it does not split by WhitespaceSplit, or prepares texts in more steps than a table"
        )
    try:
        described = tokenizer.described
    except NotNativeError as error:
        raise cannot_run("Unigram", str(error)) from None
    if described.only_spaces:
        raise cannot_run("Unigram", "it does not split by WhitespaceSplit")
    if described.normalization:
        raise cannot_run("Unigram", f"it normalizes by {', '.join(described.normalization.kinds)}")
    spelled = tokenizer.spelled_ids
    pieces: list[str | None] = [None] * tokenizer.info.vocab_size
    for piece, id in spelled.items():
        pieces[id] = piece
    return {
        "model": "unigram_document",
        "pieces": pieces,
        "scores": [[id, described.scores[id]] for id in described.pieces.values()],
        "special_scores": [[id, described.scores[id]] for id in described.special_pieces.values()],
        "unknown": described.unknown,
        "unknown_score": described.unknown_score,
        "reset": None,
        "is_double": True,
        "bytes": described.byte_ids,
        "charsmap": b64encode(described.charsmap).decode(),
        "joined": joined_characters(described.charsmap),
        "special": added_fields(orjson.loads(tokenizer.document), spelled),
    }


def joined_characters(charsmap: bytes) -> dict[str, list[int]]:
    """Return ranges of characters that join the one before, that join the one after, and that never join.

    The normalizer looks up each short cluster of joined characters as a whole. Which characters join depends on the
    library's version of Unicode, so the installed library is queried: each character is normalized next to a sequence
    that the table composes.

    Args:
        charsmap: the table of replacements; empty for none.

    Raises:
        PageError: the table does not compose or does not turn tabs into spaces, so the queries would not work.
    """
    if not charsmap:
        return {"joining": [], "prepended": [], "controls": []}
    from tokenizers.normalizers import Precompiled

    normalize: Callable[[str], str] = Precompiled(charsmap).normalize_str
    if normalize(f"{_DECOMPOSED}{_SEPARATOR}") != f"{_COMPOSED}{_NORMALIZED_SEPARATOR}":
        raise cannot_run("Unigram", "its table of replacements is not one of NFKC")
    found: dict[str, list[int]] = {"joining": [], "prepended": [], "controls": []}
    all_codes = list(code_points())
    for start in range(0, len(all_codes), _BLOCK_SIZE):
        block = all_codes[start : start + _BLOCK_SIZE]
        if not _is_plain(normalize, block):
            _sort_by_joining(normalize, block, found)
    if len(found["joining"]) > _MOST_JOINED:
        raise PageError("the page cannot run this Unigram: its table of replacements is unusual")
    return {name: ranges(codes) for name, codes in found.items()}


def _is_short(code: int) -> bool:
    """Whether a character plus mark is short enough to be looked up as a whole; of others only controls are known."""
    return code < 0x10000 or unicodedata.category(chr(code)) == "Cf"


def _is_plain(normalize: Callable[[str], str], codes: Sequence[int]) -> bool:
    """Whether no character is replaced or joins a neighbour, as in most blocks; one text tells it of all of them."""
    characters = list(map(chr, codes))
    between = f"{_DECOMPOSED}{_DECOMPOSED.join(characters)}{_DECOMPOSED}"
    return normalize(between) == f"{_COMPOSED}{_COMPOSED.join(characters)}{_COMPOSED}"


def _sort_by_joining(
    normalize: Callable[[str], str], codes: Sequence[int], found: Mapping[str, list[int]]
) -> None:
    """Add each of these characters to those that it belongs to, if any."""
    forms = ("{}", _DECOMPOSED + "{}", "{}" + _DECOMPOSED, "{}" + _MARK)
    normalized = (_normalize_each(normalize, form, codes) for form in forms)
    for code, own, after, prior, with_mark in zip(codes, *normalized, strict=True):
        if after != _COMPOSED + own:
            found["joining"].append(code)
        elif prior != own + _COMPOSED:
            found["prepended"].append(code)
        elif own != chr(code) and with_mark == own + _MARK and _is_short(code):
            found["controls"].append(code)


def _normalize_each(normalize: Callable[[str], str], form: str, codes: Sequence[int]) -> list[str]:
    text = _SEPARATOR.join(form.format(chr(code)) for code in codes)
    return normalize(text).split(_NORMALIZED_SEPARATOR)
