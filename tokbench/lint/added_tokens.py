"""The added tokens of a tokenizer with their flags, their overlaps, and their effects on the surrounding text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.core.tokens import SpecialPolicy
from tokbench.formats.tokenizer_config.fields import ADDED_TOKEN_FLAGS, is_id, is_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tokbench.lint.target import LintTarget

_LONGEST = 256
"""Maximum length of the added tokens that are checked for overlaps."""


@dataclass(frozen=True, slots=True)
class Added:
    """An added token.

    Attributes:
        id: its id.
        text: its text.
        special: whether it is a special token, which decoding may skip.
        flags: its matching flags, by their names in tokenizer.json; empty if no file has them.
    """

    id: int
    text: str
    special: bool
    flags: Mapping[str, bool]

    def has(self, *names: str) -> bool:
        """Whether any of these flags is set."""
        return any(self.flags.get(name, False) for name in names)


def added_tokens(target: LintTarget) -> tuple[Added, ...]:
    """Return special and other added tokens, by ascending id."""
    flags = {text: flags for text, _, flags in _listed(target.document)}
    special = target.tokenizer.info.special_tokens
    return tuple(
        Added(id, text, text in special, flags.get(text, {}))
        for text, id in sorted({**target.opened.added_tokens, **special}.items(), key=lambda item: item[1])
        if text
    )


def _listed(document: Mapping[str, Any] | None) -> Iterator[tuple[str, int, Mapping[str, bool]]]:
    listed = (document or {}).get("added_tokens")
    for token in listed if isinstance(listed, list) else []:
        if isinstance(token, dict) and is_text(token.get("content")) and is_id(token.get("id")):
            flags = {name: token[name] for name in ADDED_TOKEN_FLAGS if isinstance(token.get(name), bool)}
            yield token["content"], token["id"], flags


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two added tokens that match overlapping parts of a text.

    Attributes:
        first: the token that begins first.
        second: the other token.
        shared: the characters that both match.
        text: the shortest text in which both match.
    """

    first: Added
    second: Added
    shared: str
    text: str

    @property
    def is_contained(self) -> bool:
        """Whether the first token is a prefix of the second."""
        return self.text == self.second.text


def overlaps(tokens: tuple[Added, ...]) -> Iterator[Overlap]:
    """Yield the pairs in which a proper prefix of one token is a suffix of the other, or the whole other.

    Runs of one character, such as tokens for 2, 3 and 4 spaces, are skipped, as the longest match is intended.
    """
    short = [token for token in tokens if len(token.text) <= _LONGEST]
    by_prefix: dict[str, list[Added]] = {}
    for token in short:
        for size in range(1, len(token.text)):
            by_prefix.setdefault(token.text[:size], []).append(token)
    for first in short:
        for start in range(len(first.text)):
            for second in by_prefix.get(first.text[start:], ()):
                text = first.text[:start] + second.text
                if first is not second and len(set(text)) > 1:
                    yield Overlap(first, second, first.text[start:], text)


CONTEXTS = (("a", "b"), ("a ", "b"), ("a", " b"), ("a ", " b"))
"""The texts before and after an added token that are tried."""


def changes_around(target: LintTarget, token: Added) -> list[tuple[str, str]]:
    """Find the contexts in which a token is not found, or changes the text around it.

    Returns:
        (text, fault) pairs; faults are "is not found", "takes the space before it" ….
    """
    found = []
    for before, after in CONTEXTS:
        text = before + token.text + after
        wrong = _wrong_with(target, token, before=before, after=after)
        if wrong is not None:
            found.append((text, wrong))
    return found


def _wrong_with(target: LintTarget, token: Added, *, before: str, after: str) -> str | None:
    ids = target.tokenizer.encode(before + token.text + after, special=SpecialPolicy.ENCODE)
    if token.id not in ids:
        return "is not found"
    place = ids.index(token.id)
    for name, text, part in (("before", before, ids[:place]), ("after", after, ids[place + 1 :])):
        alone = target.tokenizer.decode(target.tokenizer.encode(text))
        kept = target.tokenizer.decode(part)
        if text.strip() != text and alone != kept and alone.split() == kept.split():
            return f"takes the space {name} it"
        if alone.split() != kept.split():
            return f"changes the text {name} it"
    return None
