"""WordPiece as the data of `wordpiece.js`, with the table of its normalizer as the installed `tokenizers` has it."""

from __future__ import annotations

import unicodedata
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

from tokbench.errors import PageError
from tokbench.opening.described_models import described_wordpiece
from tokbench.opening.tokenizer_json_tokens import NotNativeError
from tokbench.play_page.added_tokens import added_fields
from tokbench.play_page.code_points import code_points, ranges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_BLOCK = 1 << 8
_BETWEEN = "zxz"
"""No character becomes that."""


def wordpiece_data(document: Mapping[str, Any], *, ids: Mapping[str, int]) -> dict[str, Any]:
    """The fields of a WordPiece.

    Args:
        document: a `tokenizer.json`.
        ids: the id of each token as it spells it.

    Raises:
        PageError: it does something that the encoder does not.
    """
    try:
        described = described_wordpiece(document)
    except NotNativeError as error:
        raise PageError(
            f"the page cannot run this WordPiece: {error}",
            hint="`tokbench play` in the terminal can",
        ) from None
    pieces: list[str | None] = [None] * (max(described.pieces.values(), default=-1) + 1)
    for piece, id in described.pieces.items():
        pieces[id] = piece
    return {
        "model": "wordpiece",
        "pieces": pieces,
        "prefix": described.prefix,
        "unknown": described.unknown,
        "most_characters": described.max_characters_per_word,
        "characters": bert_characters(**asdict(described.rules)),
        "special": added_fields(document, ids),
    }


@cache
def bert_characters(
    *, clean_text: bool, handle_chinese_chars: bool, strip_accents: bool, lowercase: bool
) -> dict[str, Any]:
    """The fields of `bert_characters.js`: what becomes nothing, a bound, a word, or something else.

    Each character is normalized by itself: what becomes of a text is what becomes of its characters. So a block of
    which all stays, or nothing, is asked about as a whole, as most of Unicode's are. Marks that stay where accents are
    stripped change places with others next to them; they are listed, so that the encoder can order them.

    Args:
        clean_text: whether controls go, and white space of all kinds is a space.
        handle_chinese_chars: whether each ideograph is a word.
        strip_accents: whether texts are decomposed, and marks go.
        lowercase: whether capitals go.
    """
    changed = _changed(clean_text, handle_chinese_chars, strip_accents, lowercase)
    kept = [chr(code) for code in code_points() if code not in changed]
    spaces, alone = _bounds([*kept, *sorted({each for inside in changed.values() for each in inside})])
    found: dict[str, list[int]] = {"gone": [], "spaces": [], "alone": []}
    others: dict[str, str] = {}
    for character in (spaces | alone).difference(map(chr, changed)):
        found["spaces" if character in spaces else "alone"].append(ord(character))
    for code, inside in changed.items():
        written = "".join(
            f" {each} " if each in alone else " " if each in spaces else each for each in inside
        )
        match written.split():
            case []:
                found["spaces" if written else "gone"].append(code)
            case [each] if each == chr(code) and written == f" {each} ":
                found["alone"].append(code)
            case _:
                others[chr(code)] = written
    moving = [ord(each) for each in kept if unicodedata.combining(each)]
    moving += [code for code, inside in changed.items() if any(map(unicodedata.combining, inside))]
    cleaned = _changed(clean_text, False, False, False)  # noqa: FBT003
    return {
        **{name: ranges(sorted(codes)) for name, codes in found.items()},
        "others": others,
        "moving": ranges(sorted(moving)) if strip_accents else [],
        "cleaned": ranges(code for code, inside in cleaned.items() if not inside),
    }


@cache
def _changed(*options: bool) -> dict[int, str]:
    """What the normalizer makes of each character inside a word that does not stay as it is, in order."""
    from tokenizers.normalizers import BertNormalizer

    names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    normalize = BertNormalizer(**dict(zip(names, options, strict=True))).normalize_str
    changed: dict[int, str] = {}
    for block in _blocks([chr(code) for code in code_points()]):
        made = normalize(f"a{block}b")[1:-1]
        if made == block:
            continue
        if made == "":
            changed |= dict.fromkeys(map(ord, block), "")
            continue
        each = normalize(_BETWEEN.join(f"a{character}b" for character in block)).split(_BETWEEN)
        pairs = zip(block, each, strict=True)
        changed |= {ord(one): inside[1:-1] for one, inside in pairs if inside[1:-1] != one}
    return changed


def _bounds(characters: Sequence[str]) -> tuple[set[str], set[str]]:
    """Of some characters those that are between words, and those that are words by themselves."""
    from tokenizers.pre_tokenizers import BertPreTokenizer

    split = BertPreTokenizer().pre_tokenize_str
    spaces: set[str] = set()
    alone: set[str] = set()
    for block in _blocks(characters):
        if len(split(f"a{block}a")) == 1:
            continue
        words = [word for word, _ in split(f"aa{'aa'.join(block)}aa")]
        alone.update(word for word in words if len(word) == 1)
        spaces.update(set(block).difference(*words))
    return spaces, alone


def _blocks(characters: Sequence[str]) -> Iterator[str]:
    return ("".join(characters[start : start + _BLOCK]) for start in range(0, len(characters), _BLOCK))
