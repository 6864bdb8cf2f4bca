"""The added tokens of a `tokenizer.json`: which are special, which are found in every text, and how.

It mirrors `AddedVocabulary` in tokenizer/added_vocabulary.rs of `tokenizers`: `add_tokens` assigns ids;
`refresh_added_tokens` separates tokens that are matched in the normalized text from the others, and
`extract_and_normalize` searches for the others first, in a pass of its own. `find_matches` applies single_word, lstrip
and rstrip.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from tokbench.core.descriptions import TokenFlags
from tokbench.libraries.huggingface.decoding import JoinedPieces

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


_WRITTEN_BY_NFC = frozenset(";K`")
"""ASCII characters that NFC produces from other characters."""


class NotNativeError(Exception):
    """The reason why a document is left to its library."""


@dataclass(frozen=True, slots=True)
class AddedTokens:
    """Tokens that a document adds to the vocabulary of its model, with the ids that the library assigns.

    Attributes:
        special: text → id of special tokens.
        everywhere: text → id of the other tokens, which are found in every text.
        flags: text → flags that are not the default.
        in_two_passes: whether some tokens are searched in the raw text and others in the normalized text.
    """

    special: Mapping[str, int] = field(default_factory=dict)
    everywhere: Mapping[str, int] = field(default_factory=dict)
    flags: Mapping[str, TokenFlags] = field(default_factory=dict)
    in_two_passes: bool = False

    @property
    def all(self) -> dict[str, int]:
        """Text → id of all added tokens."""
        return {**self.special, **self.everywhere}

    def check_found(self) -> None:
        """Raise `NotNativeError` unless all tokens are special, and found as our kernel finds them."""
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
    """Whether a text that was searched for a token without a match cannot spell the token after normalization.

    Args:
        content: the text of the token.
        normalizers: the types of the normalizers that run after the search.

    >>> is_hidden("<s>", normalizers=["NFC"]), is_hidden("a;", normalizers=["NFC"])  # NFC turns U+037E into ;
    (True, False)
    """
    if not normalizers:
        return True
    return set(normalizers) == {"NFC"} and content.isascii() and _WRITTEN_BY_NFC.isdisjoint(content)


def added_tokens(
    added: Sequence[Mapping[str, Any]], vocab: Mapping[str, int], *, normalization: str | None
) -> AddedTokens:
    """Return the added tokens of a document.

    Args:
        added: as the document lists them.
        vocab: piece → id of its model.
        normalization: the name of the normalization that comes first, or None.

    Raises:
        NotNativeError: a token's id, or where it is found, is not what the list says.
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
        flags={
            text: flags_of_token for text, flags_of_token in flags.items() if flags_of_token != TokenFlags()
        },
        in_two_passes=len({bool(token.get("normalized")) for token in added}) > 1,
    )


def overlapping(texts: Collection[str]) -> tuple[str, str] | None:
    """Return two texts of which one contains the other, or begins as the other ends; None if no two texts overlap.

    Without such texts the order in which they are searched makes no difference.

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
    """Return the id that the library assigns to an added token: that of the vocabulary, else the next free one."""
    if content in vocab:
        return vocab[content]
    highest = max(before.values(), default=-1)
    return highest + 1 if highest >= len(vocab) else len(vocab)
