"""Reading of a WordPiece from a `tokenizer.json`, if our kernel gives the same ids as the library.

Our kernel implements `BertNormalizer`, `BertPreTokenizer` and `WordPiece`. A document with any other component that
could change an id is left to its library. The checks mirror these files of Hugging Face's `tokenizers`, below
`tokenizers/src`: normalizers/bert.rs, models/wordpiece/mod.rs, tokenizer/added_vocabulary.rs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.libraries.huggingface.tokenizer_json import model_type, special_contents, steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MOST_EVERYWHERE = 16
"""The largest number of added tokens for which each text is searched."""
_MOST_CHARACTERS = 1 << 31


class LeftToLibraryError(Exception):
    """The reason why a document is left to its library."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BertRules:
    """The normalization of a text before it is split into words, with the fields of `tokenizers`' BertNormalizer."""

    clean_text: bool
    handle_chinese_chars: bool
    strip_accents: bool
    lowercase: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPieceDescription:
    """A WordPiece for our kernel, which treats special tokens as ordinary text.

    Attributes:
        pieces: each piece that a text can contain, as the vocabulary spells it → its id.
        prefix: the prefix of pieces inside words.
        unknown: the id of the unknown token.
        max_characters_per_word: the largest length of a word; longer words are unknown.
        rules: the normalization of the text.
        everywhere: added tokens that the library matches in every text; a text that contains one is left to the
            library.
        specials: the special tokens, which the library matches on request; None if it may match them in other
            spellings, so that no search of the text can rule them out.
    """

    pieces: Mapping[str, int]
    prefix: str
    unknown: int
    max_characters_per_word: int
    rules: BertRules
    everywhere: tuple[str, ...]
    specials: tuple[str, ...] | None


def wordpiece_description(document: Mapping[str, Any]) -> WordPieceDescription:
    """Return the description of a document for our kernel.

    Args:
        document: a `tokenizer.json` that its library accepts.

    Raises:
        LeftToLibraryError: the document has a component or an option that our kernel does not support.
    """
    if model_type(document) != "WordPiece":
        raise LeftToLibraryError(f"its model is {model_type(document)}")
    rules = _rules(document)
    splitters = [step.get("type") for step in steps(document.get("pre_tokenizer"))]
    if splitters != ["BertPreTokenizer"]:
        raise LeftToLibraryError(f"it splits by {_named(splitters)}, not by BertPreTokenizer alone")
    model = document["model"]
    unknown, prefix, most = (
        model.get(name) for name in ("unk_token", "continuing_subword_prefix", "max_input_chars_per_word")
    )
    if not isinstance(unknown, str) or not isinstance(prefix, str) or type(most) is not int:
        raise LeftToLibraryError("it lacks an unknown token or a prefix for pieces inside words")
    vocabulary: Mapping[str, int] = model["vocab"]
    if unknown not in vocabulary:
        raise LeftToLibraryError(f"its unknown token {unknown!r} is not in its vocabulary")
    everywhere, specials = _added(document["added_tokens"])
    not_pieces = {"", *special_contents(document)}
    return WordPieceDescription(
        pieces={piece: id for piece, id in vocabulary.items() if piece not in not_pieces},
        prefix=prefix,
        unknown=vocabulary[unknown],
        max_characters_per_word=min(most, _MOST_CHARACTERS),
        rules=rules,
        everywhere=everywhere,
        specials=specials,
    )


def _rules(document: Mapping[str, Any]) -> BertRules:
    normalizers = steps(document.get("normalizer"))
    kinds = [step.get("type") for step in normalizers]
    if kinds != ["BertNormalizer"]:
        raise LeftToLibraryError(f"it normalizes by {_named(kinds)}, not by BertNormalizer alone")
    [fields] = normalizers
    clean, ideographs, lower = (
        fields.get(name) for name in ("clean_text", "handle_chinese_chars", "lowercase")
    )
    strip = fields.get("strip_accents")
    strip = lower if strip is None else strip
    if not all(isinstance(value, bool) for value in (clean, ideographs, lower, strip)):
        raise LeftToLibraryError("its BertNormalizer lacks an option")
    return BertRules(
        clean_text=bool(clean),
        handle_chinese_chars=bool(ideographs),
        strip_accents=bool(strip),
        lowercase=bool(lower),
    )


def _added(added: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Return the added tokens that the library matches in every text, and the special tokens."""
    special = [token for token in added if token.get("special")]
    everywhere = [token for token in added if not token.get("special")]
    for token in everywhere:
        if token.get("normalized", True) or not token["content"]:
            raise LeftToLibraryError(
                f"its added token {token['content']!r} is matched in the normalized text"
            )
    if len(everywhere) > _MOST_EVERYWHERE:
        raise LeftToLibraryError(
            f"it matches {len(everywhere)} added tokens in every text, more than {_MOST_EVERYWHERE}"
        )
    as_spelled = not any(token.get("normalized", True) or not token["content"] for token in special)
    return (
        tuple(token["content"] for token in everywhere),
        tuple(token["content"] for token in special) if as_spelled else None,
    )


def _named(kinds: Sequence[object]) -> str:
    return ", ".join(map(str, kinds)) or "nothing"
