"""Added tokens of a `tokenizer.json` as our kernel searches for them (native/encoding/added_tokens.hpp).

They are found as `AddedVocabulary` in tokenizer/added_vocabulary.rs of `tokenizers` finds them; the reference is the
library itself, which also takes the texts that are in doubt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.core.wording import counted
from tokbench.formats.sentencepiece.model import SPACE
from tokbench.libraries.huggingface.engines import engine_with
from tokbench.opening.tokenizer_json_tokens import NotNativeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_LSTRIP, _RSTRIP, _SINGLE_WORD = 1, 2, 4


class FoundToken(NamedTuple):
    """An added token and how to find it.

    Attributes:
        content: the token as the document lists it.
        text: the text to search for; for a token matched in normalized text, its normalized form.
        id: its id.
        lstrip: whether it takes the white space before it.
        rstrip: whether it takes the white space after it.
        single_word: whether it is found only where no letter, digit or underscore is adjacent.
        in_normalized: whether it is matched in the normalized text, after the other tokens.
        is_special: whether it is found only where special tokens are searched.
    """

    content: str
    text: str
    id: int
    lstrip: bool
    rstrip: bool
    single_word: bool
    in_normalized: bool
    is_special: bool

    @property
    def row(self) -> tuple[bytes, int, int]:
        """Text, id and flags, in the kernel's format."""
        flags = _LSTRIP * self.lstrip | _RSTRIP * self.rstrip | _SINGLE_WORD * self.single_word
        return self.text.encode(), self.id, flags


def rows_of(
    added: Sequence[FoundToken], *, specials: bool
) -> tuple[list[tuple[bytes, int, int]], list[tuple[bytes, int, int]]]:
    """Return the tokens to find in the raw text, and those to find in the normalized text.

    Args:
        added: all added tokens of a document.
        specials: whether special tokens are included.
    """
    found = [token for token in added if specials or not token.is_special]
    return (
        [token.row for token in found if not token.in_normalized],
        [token.row for token in found if token.in_normalized],
    )


def found_tokens(
    listed: Sequence[Mapping[str, Any]], ids: Mapping[str, int], *, normalization: Callable[[str], str]
) -> tuple[FoundToken, ...]:
    """Return the added tokens of a document, with the texts to search for.

    Args:
        listed: the tokens as the document lists them.
        ids: the library's id for each of its tokens.
        normalization: applies the document's normalizers to a text.

    Raises:
        NotNativeError: a token has no id or no text, or which token is found depends on more than their texts.
    """
    tokens: list[FoundToken] = []
    for token in listed:
        content = token["content"]
        if not content or content not in ids:
            raise NotNativeError(f"its added token {content!r} has no id, or is empty")
        in_normalized = bool(token.get("normalized"))
        text = normalization(content) if in_normalized else content
        if not text:
            raise NotNativeError(f"its added token {content!r} is empty after normalization")
        flags = {flag: bool(token.get(flag)) for flag in ("lstrip", "rstrip", "single_word")}
        tokens.append(
            FoundToken(
                content,
                text,
                ids[content],
                in_normalized=in_normalized,
                is_special=bool(token.get("special")),
                **flags,
            )
        )
    _check_apart(tokens, listed)
    return tuple(tokens)


def indistinct_tokens(document: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the groups of added tokens that a `tokenizer.json` searches for by the same normalized text.

    The library finds one of them, by the order of a hash table with a random seed: ids differ from run to run.

    >>> tokens = [{"id": 1, "content": "Go", "normalized": True}, {"id": 2, "content": "go", "normalized": True}]
    >>> indistinct_tokens({"normalizer": {"type": "Lowercase"}, "added_tokens": tokens})
    [('Go', 'go')]
    """
    listed = document.get("added_tokens") or []
    contents = dict.fromkeys(token["content"] for token in listed if token.get("normalized"))
    normalizer = document.get("normalizer")
    if normalizer is None or len(contents) < 2:
        return []
    normalization = engine_with(normalizer=normalizer).normalizer.normalize_str
    groups: dict[str, list[str]] = {}
    for content in contents:
        groups.setdefault(normalization(content), []).append(content)
    return [tuple(group) for text, group in groups.items() if text and len(group) > 1]


def indistinct_warnings(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each group of `indistinct_tokens`."""
    for first, second, *others in indistinct_tokens(document):
        more = f" (and {counted(len(others), 'more added token')})" if others else ""
        yield (
            f"the added tokens {first!r} and {second!r}{more} have the same normalized text: tokenizers finds either, "
            "and ids differ from run to run"
        )


class WholeWords:
    """The added tokens that are found only where no letter is adjacent (single_word).

    The kernel knows letters beyond ASCII only as far as split patterns need, so texts with both go to the library.

    Args:
        added: all added tokens of a document.
        normalization: applies the document's normalizers to a text.
    """

    def __init__(self, added: Iterable[FoundToken], *, normalization: Callable[[str], str]) -> None:
        self._normalization = normalization
        self._spellings = frozenset(
            text for token in added if token.single_word for text in (token.content, token.text)
        )

    def __bool__(self) -> bool:
        return bool(self._spellings)

    def may_be_beside_letters(self, text: str) -> bool:
        """Whether such a token may occur in a text, or in its normalized form, beside letters beyond ASCII."""
        if not self._spellings:
            return False
        normal = self._normalization(text)
        if text.isascii() and normal.replace(SPACE, "").isascii():
            return False
        return any(spelling in text or spelling in normal for spelling in self._spellings)


def _check_apart(tokens: Sequence[FoundToken], listed: Sequence[Mapping[str, Any]]) -> None:
    """Refuse tokens whose matching depends on more than their texts: duplicates, and tokens that strip others' ends."""
    if len({token["content"] for token in listed}) != len(listed):
        raise NotNativeError("one of its added tokens is listed twice")
    by_text: dict[str, str] = {}
    for token in tokens:
        if token.text in by_text:
            both = f"{by_text[token.text]!r} and {token.content!r}"
            raise NotNativeError(f"its added tokens {both} are searched for by the same text")
        by_text[token.text] = token.content
    for in_normalized in (False, True):
        together = [token for token in tokens if token.in_normalized is in_normalized]
        strips = any(token.lstrip or token.rstrip for token in together)
        if strips and any(token.text != token.text.strip() for token in together):
            raise NotNativeError("one added token strips white space that another begins or ends with")
