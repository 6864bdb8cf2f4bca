"""Added tokens of a `tokenizer.json` as our kernel looks for them (native/encoding/added_tokens.hpp).

They are found as `AddedVocabulary` in tokenizer/added_vocabulary.rs of `tokenizers` finds them; the definition here is
the library itself, which runs beside the kernel and takes what is in doubt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.formats.sentencepiece.model import SPACE
from tokbench.opening.tokenizer_json_tokens import NotNativeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_LSTRIP, _RSTRIP, _SINGLE_WORD = 1, 2, 4


class FoundToken(NamedTuple):
    """An added token, as it is looked for.

    Attributes:
        content: as the document has it.
        text: what is looked for; of one that is matched in the normalized text, its normal form.
        id: the id.
        lstrip: it takes the white space before it.
        rstrip: it takes the white space after it.
        single_word: it is found only where no letter, digit or underscore touches it.
        in_normalized: it is matched in the normalized text, after the others.
        is_special: whether it is found only where special tokens are.
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
        """Text, id and flags as the kernel takes them."""
        flags = _LSTRIP * self.lstrip | _RSTRIP * self.rstrip | _SINGLE_WORD * self.single_word
        return self.text.encode(), self.id, flags


def rows_of(
    added: Sequence[FoundToken], *, specials: bool
) -> tuple[list[tuple[bytes, int, int]], list[tuple[bytes, int, int]]]:
    """The tokens that are found in the text as it is, and those found in the normalized text.

    Args:
        added: all of a document.
        specials: whether special tokens are among them.
    """
    found = [token for token in added if specials or not token.is_special]
    return (
        [token.row for token in found if not token.in_normalized],
        [token.row for token in found if token.in_normalized],
    )


def found_tokens(
    listed: Sequence[Mapping[str, Any]], ids: Mapping[str, int], *, normalization: Callable[[str], str]
) -> tuple[FoundToken, ...]:
    """The added tokens of a document.

    Args:
        listed: as the document has them.
        ids: the id that the library gives each of its tokens.
        normalization: what the document does to a text.

    Raises:
        NotNativeError: which of them is found depends on more than their texts.
    """
    made: list[FoundToken] = []
    for token in listed:
        content = token["content"]
        if not content or content not in ids:
            raise NotNativeError(f"its added token {content!r} has no id, or is empty")
        in_normalized = bool(token.get("normalized"))
        text = normalization(content) if in_normalized else content
        if not text:
            raise NotNativeError(f"nothing is left of its added token {content!r} when it is normalized")
        flags = {flag: bool(token.get(flag)) for flag in ("lstrip", "rstrip", "single_word")}
        made.append(
            FoundToken(
                content,
                text,
                ids[content],
                in_normalized=in_normalized,
                is_special=bool(token.get("special")),
                **flags,
            )
        )
    _check_apart(made, listed)
    return tuple(made)


class WholeWords:
    """The added tokens that are found only where no letter touches them.

    Of letters beyond ASCII the kernel knows only what split patterns need: texts with both are for the library.

    Args:
        added: all added tokens of a document.
        normalization: what the document does to a text.
    """

    def __init__(self, added: Iterable[FoundToken], *, normalization: Callable[[str], str]) -> None:
        self._normalization = normalization
        self._spellings = frozenset(
            text for token in added if token.single_word for text in (token.content, token.text)
        )

    def __bool__(self) -> bool:
        return bool(self._spellings)

    def may_be_beside_letters(self, text: str) -> bool:
        """Whether one may be in a text, or in what that becomes, with letters beyond ASCII beside it."""
        if not self._spellings:
            return False
        normal = self._normalization(text)
        if text.isascii() and normal.replace(SPACE, "").isascii():
            return False
        return any(each in text or each in normal for each in self._spellings)


def _check_apart(made: Sequence[FoundToken], listed: Sequence[Mapping[str, Any]]) -> None:
    """Refuse tokens of which it depends on more than their texts which of them is found."""
    contents = [token["content"] for token in listed]
    texts = [token.text for token in made]
    if len(set(contents)) != len(contents) or len(set(texts)) != len(texts):
        raise NotNativeError("one of its added tokens is listed twice")
    for in_normalized in (False, True):
        together = [token for token in made if token.in_normalized is in_normalized]
        strips = any(token.lstrip or token.rstrip for token in together)
        if strips and any(token.text != token.text.strip() for token in together):
            raise NotNativeError("one added token strips white space that another begins or ends with")
