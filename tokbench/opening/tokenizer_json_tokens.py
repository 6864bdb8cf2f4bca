"""The added tokens of a `tokenizer.json`: which are special, which are found in every text, and how.

It mirrors `AddedVocabulary` in tokenizer/added_vocabulary.rs of `tokenizers`: `add_tokens` gives ids,
`refresh_added_tokens` keeps tokens that are looked for in the normalized text apart from the others, and
`extract_and_normalize` looks for the others first: two passes. `find_matches` heeds single_word, lstrip and
rstrip.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from tokbench.core.descriptions import TokenFlags
from tokbench.libraries.huggingface.decoding import JoinedPieces

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


_MADE_BY_NFC = frozenset(";K`")
"""The characters of ASCII that NFC makes of others."""


class NotNativeError(Exception):
    """Why a document is left to its library."""


@dataclass(frozen=True, slots=True)
class AddedTokens:
    """What a document adds to the vocabulary of its model, by the ids that the library gives.

    Attributes:
        special: text → id of those that are special.
        everywhere: text → id of the others, which are found in every text.
        flags: text → how it is found, where that is not the ordinary way.
        in_two_passes: whether some are looked for before the others.
    """

    special: Mapping[str, int] = field(default_factory=dict)
    everywhere: Mapping[str, int] = field(default_factory=dict)
    flags: Mapping[str, TokenFlags] = field(default_factory=dict)
    in_two_passes: bool = False

    @property
    def all(self) -> dict[str, int]:
        """Every one, text → id."""
        return {**self.special, **self.everywhere}

    def check_found(self) -> None:
        """Raise `NotNativeError` unless all are special, and found as our kernel finds them."""
        if self.in_two_passes:
            raise NotNativeError("it searches for added tokens in two passes")
        for text in self.everywhere:
            raise NotNativeError(f"it finds the added token {text!r} in every text")
        for text, flags in self.flags.items():
            if flags.single_word:
                raise NotNativeError(f"its added token {text!r} has the flag single_word")
        strips = any(flags.lstrip or flags.rstrip for flags in self.flags.values())
        if strips and any(text != text.strip() for text in self.all):
            raise NotNativeError("one added token strips white space that another begins or ends with")


def is_hidden(content: str, *, normalizers: Sequence[str]) -> bool:
    """Whether no text that lacks a token, in which it was looked for, is spelled like it when it is normalized.

    Args:
        content: the token.
        normalizers: the kinds of the steps that come after the search.

    >>> is_hidden("<s>", normalizers=["NFC"]), is_hidden("a;", normalizers=["NFC"])  # of which U+037E makes one
    (True, False)
    """
    if not normalizers:
        return True
    return set(normalizers) == {"NFC"} and content.isascii() and _MADE_BY_NFC.isdisjoint(content)


def added_tokens(
    added: Sequence[Mapping[str, Any]], vocab: Mapping[str, int], *, normalization: str | None
) -> AddedTokens:
    """The added tokens of a document.

    Args:
        added: as the document lists them.
        vocab: piece → id of its model.
        normalization: what is done to a text before, or None.

    Raises:
        NotNativeError: their ids, or where they are found, are not what the list says.
    """
    ids: dict[str, int] = {}
    for token in added:
        content = token["content"]
        if normalization is not None and token.get("normalized"):
            raise NotNativeError(f"its added token {content!r} is matched in the normalized text")
        if content in ids or len(content) < 2:
            raise NotNativeError(f"its added token {content!r} occurs twice, or is a single letter")
        if JoinedPieces(byte_level=True).bytes_of(content) != content.encode():
            raise NotNativeError(f"its added token {content!r} is decoded as other bytes")
        given = _given_id(content, vocab, ids)
        if token["id"] != given:
            raise NotNativeError(
                f"its added token {content!r} says the id {token['id']}, and the library gives it {given}"
            )
        ids[content] = given
    special = {token["content"] for token in added if token.get("special")}
    flags = {
        token["content"]: TokenFlags(**{flag.name: bool(token.get(flag.name)) for flag in fields(TokenFlags)})
        for token in added
    }
    return AddedTokens(
        special={text: id for text, id in ids.items() if text in special},
        everywhere={text: id for text, id in ids.items() if text not in special},
        flags={text: each for text, each in flags.items() if each != TokenFlags()},
        in_two_passes=len({bool(token.get("normalized")) for token in added}) > 1,
    )


def overlapping(texts: Collection[str]) -> tuple[str, str] | None:
    """Two texts that can share characters of a third: one is in the other, or begins as the other ends.

    Without such two it makes no difference in which order they are looked for.

    >>> overlapping(["<|a|>", "<|b|>"]), overlapping(["<a>", "<a><b>"]), overlapping(["ab", "bc"])
    (None, ('<a>', '<a><b>'), ('ab', 'bc'))
    """
    known = set(texts)
    beginnings: dict[str, set[str]] = {}
    for text in known:
        for size in range(1, len(text)):
            beginnings.setdefault(text[:size], set()).add(text)
    for text in texts:
        parts = {text[start:stop] for start in range(len(text)) for stop in range(start + 1, len(text) + 1)}
        if inside := parts & known - {text}:
            return min(inside), text
        for start in range(1, len(text)):
            if others := beginnings.get(text[start:], set()) - {text}:
                return text, min(others)
    return None


def _given_id(content: str, vocab: Mapping[str, int], before: Mapping[str, int]) -> int:
    """The id of an added token: that of the vocabulary, else the next one that the library counts to."""
    if content in vocab:
        return vocab[content]
    highest = max(before.values(), default=-1)
    return highest + 1 if highest >= len(vocab) else len(vocab)
