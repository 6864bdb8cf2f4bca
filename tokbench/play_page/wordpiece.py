"""WordPiece as data of `wordpiece.js`, with the normalizer's character table from the installed `tokenizers`."""

from __future__ import annotations

import unicodedata
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, Any

from tokbench.opening.kernel_document import described_wordpiece
from tokbench.opening.tokenizer_json_tokens import NotNativeError
from tokbench.play_page.added_tokens import added_fields, cannot_run
from tokbench.play_page.regexes import code_points, ranges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_BLOCK = 1 << 8
_SEPARATOR = "zxz"
"""No character is normalized to this."""


def wordpiece_data(document: Mapping[str, Any], *, ids: Mapping[str, int]) -> dict[str, Any]:
    """Return the fields of a WordPiece.

    Args:
        document: a parsed `tokenizer.json`.
        ids: the id of each token by its spelling.

    Raises:
        PageError: the encoder does not support the document.
    """
    try:
        described = described_wordpiece(document)
    except NotNativeError as error:
        raise cannot_run("WordPiece", str(error)) from None
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
    """Return the fields of `bert_characters.js`: characters that are removed, separators, single words, or replaced.

    The normalizer treats each character by itself, so a block that stays unchanged or is removed as a whole, as most of
    Unicode's blocks do, needs only one query. Marks that stay when accents are stripped are reordered among each other;
    they are listed so that the encoder can order them.

    Args:
        clean_text: whether control characters are removed, and all white space becomes spaces.
        handle_chinese_chars: whether each ideograph is a word.
        strip_accents: whether texts are decomposed and marks removed.
        lowercase: whether texts are lower-cased.
    """
    changed = _changed(clean_text, handle_chinese_chars, strip_accents, lowercase)
    spaces, alone = _separators_and_single_words()
    by_kind: dict[str, list[int]] = {"gone": [], "spaces": [], "alone": []}
    others: dict[str, str] = {}
    for character in (spaces | alone).difference(map(chr, changed)):
        by_kind["spaces" if character in spaces else "alone"].append(ord(character))
    for code, inside in changed.items():
        written = "".join(
            f" {character} " if character in alone else " " if character in spaces else character
            for character in inside
        )
        match written.split():
            case []:
                by_kind["spaces" if written else "gone"].append(code)
            case [each] if each == chr(code) and written == f" {each} ":
                by_kind["alone"].append(code)
            case _:
                others[chr(code)] = written
    moving = [code for code in _combining() if code not in changed]
    moving += [code for code, inside in changed.items() if any(map(unicodedata.combining, inside))]
    cleaned = _changed(clean_text, False, False, False)  # noqa: FBT003
    return {
        **{name: ranges(sorted(codes)) for name, codes in by_kind.items()},
        "others": others,
        "moving": ranges(sorted(moving)) if strip_accents else [],
        "cleaned": ranges(code for code, inside in cleaned.items() if not inside),
    }


@cache
def _changed(*options: bool) -> dict[int, str]:
    """Map each character that changes inside a word to its normalized form, in code point order."""
    from tokenizers.normalizers import BertNormalizer

    names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    normalize = BertNormalizer(**dict(zip(names, options, strict=True))).normalize_str
    changed: dict[int, str] = {}
    for block in _blocks([chr(code) for code in code_points()]):
        normalized = normalize(f"a{block}b")[1:-1]
        if normalized == block:
            continue
        if normalized == "":
            changed |= dict.fromkeys(map(ord, block), "")
            continue
        results = normalize(_SEPARATOR.join(f"a{character}b" for character in block)).split(_SEPARATOR)
        pairs = zip(block, results, strict=True)
        changed |= {ord(character): inside[1:-1] for character, inside in pairs if inside[1:-1] != character}
    return changed


@cache
def _combining() -> tuple[int, ...]:
    return tuple(code for code in code_points() if unicodedata.combining(chr(code)))


@cache
def _separators_and_single_words() -> tuple[frozenset[str], frozenset[str]]:
    """Return the characters that separate words, and those that are words by themselves."""
    from tokenizers.pre_tokenizers import BertPreTokenizer

    split = BertPreTokenizer().pre_tokenize_str
    spaces: set[str] = set()
    alone: set[str] = set()
    for block in _blocks([chr(code) for code in code_points()]):
        if len(split(f"a{block}a")) == 1:
            continue
        words = [word for word, _ in split(f"aa{'aa'.join(block)}aa")]
        alone.update(word for word in words if len(word) == 1)
        spaces.update(set(block).difference(*words))
    return frozenset(spaces), frozenset(alone)


def _blocks(characters: Sequence[str]) -> Iterator[str]:
    return ("".join(characters[start : start + _BLOCK]) for start in range(0, len(characters), _BLOCK))
