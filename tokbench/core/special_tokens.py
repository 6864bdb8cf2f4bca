"""Special tokens: which sets of them are allowed, and finding them in a text."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.tokens import Span, SpecialPolicy
from tokbench.errors import ConfigError, SpecialTokenError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tokbench.core.descriptions import TokenFlags


class TextPart(NamedTuple):
    """A part of a text: ordinary text, or a special token.

    Attributes:
        text: the part; white space that a special token takes is in it.
        token: the special token that it is; None for ordinary text.
    """

    text: str
    token: str | None = None

    @property
    def is_special(self) -> bool:
        """Whether it is a special token."""
        return self.token is not None


def check_special_tokens(special_tokens: Sequence[str]) -> None:
    """Refuse sets in which a text could be cut in more than one way.

    Raises:
        ConfigError: one is empty, has no UTF-8 form, occurs twice, or is part of another.

    >>> check_special_tokens(["<|endoftext|>", "<|pad|>"])
    """
    for token in special_tokens:
        if not token:
            raise ConfigError("a special token is empty", hint="give each one a text, such as <|endoftext|>")
        try:
            token.encode()
        except UnicodeEncodeError:
            raise ConfigError(f"the special token {token!a} has no UTF-8 form") from None
    seen: set[str] = set()
    for token in special_tokens:
        if token in seen:
            raise ConfigError(f"the special token {token!r} is given twice", hint="name each one once")
        seen.add(token)
    contained = contained_texts(special_tokens)
    for token in special_tokens:
        if token in contained:
            other = next(each for each in special_tokens if token != each and token in each)
            raise ConfigError(
                f"the special token {token!r} is part of the special token {other!r}",
                hint="a text with the longer one could be read in two ways: rename one of them",
            )


def contained_texts(texts: Iterable[str]) -> set[str]:
    """The texts that occur within a longer one of the same set.

    By the automaton of Aho and Corasick, "Efficient string matching" (1975): a tree of all texts in which each node
    knows its longest proper suffix that is a node, too.

    Args:
        texts: of one character or more each.

    >>> sorted(contained_texts(["<a>", "a", "<b>", "b>"]))
    ['a', 'b>']
    """
    children: list[dict[str, int]] = [{}]
    ends: dict[int, str] = {}
    for text in texts:
        node = 0
        for character in text:
            if character not in children[node]:
                children[node][character] = len(children)
                children.append({})
            node = children[node][character]
        ends[node] = text

    # A text is within a longer one where it ends at a node that goes on, or at the longest suffix of a node. Shorter
    # suffixes need no look: they are the longest suffix of a suffix, which is a node itself.
    contained = {text for node, text in ends.items() if children[node]}
    suffixes = [0] * len(children)
    waiting = deque([0])
    while waiting:
        node = waiting.popleft()
        if suffixes[node] in ends:
            contained.add(ends[suffixes[node]])
        for character, child in children[node].items():
            waiting.append(child)
            suffix = suffixes[node]
            while suffix and character not in children[suffix]:
                suffix = suffixes[suffix]
            suffixes[child] = children[suffix].get(character, 0) if node else 0
    return contained


def check_policy(special: object) -> None:
    """Raise `ConfigError` for anything but a `SpecialPolicy`, such as the name of one."""
    if not isinstance(special, SpecialPolicy):
        choices = ", ".join(f"SpecialPolicy.{policy.name}" for policy in SpecialPolicy)
        raise ConfigError(
            f"special is {special!r:.40}, where a SpecialPolicy is needed", hint=f"choose {choices}"
        )


class SpecialTokenFinder:
    """Cuts texts at special tokens: the leftmost first, and of two that start together the longest.

    Args:
        special_tokens: their texts.
        flags: special token → how it is found. White space goes to the token that takes it, to the
            first of two that would.
    """

    def __init__(
        self, special_tokens: Iterable[str], *, flags: Mapping[str, TokenFlags] | None = None
    ) -> None:
        alternatives = sorted(special_tokens, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, alternatives))) if alternatives else None
        self.flags = dict(flags or {})
        self._takes_before = {text for text, each in (flags or {}).items() if each.lstrip}
        self._takes_after = {text for text, each in (flags or {}).items() if each.rstrip}

    def cut(self, text: str, *, special: SpecialPolicy) -> Iterator[TextPart]:
        """The pieces of a text; under `SpecialPolicy.TEXT` one ordinary piece.

        Raises:
            SpecialTokenError: the text holds one under `SpecialPolicy.RAISE`.
        """
        check_policy(special)
        position = 0
        if self._pattern is not None and special is not SpecialPolicy.TEXT:
            for match in self._pattern.finditer(text):
                if special is SpecialPolicy.RAISE:
                    start = len(text[: match.start()].encode(errors="surrogatepass"))
                    raise SpecialTokenError(match.group(), Span(start, start + len(match.group().encode())))
                start, stop = self._taken(match, text, position)
                if position < start:
                    yield TextPart(text[position:start])
                yield TextPart(text[start:stop], match.group())
                position = stop
        if position < len(text):
            yield TextPart(text[position:])

    def _taken(self, match: re.Match[str], text: str, position: int) -> tuple[int, int]:
        """Where a special token begins and ends with the white space that it takes, from a position on."""
        start, stop = match.span()
        if match.group() in self._takes_before:
            while start > position and text[start - 1] in WHITE_SPACE:
                start -= 1
        if match.group() in self._takes_after:
            while stop < len(text) and text[stop] in WHITE_SPACE:
                stop += 1
        return start, stop


WHITE_SPACE = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode's property White_Space, which has not changed for years; `str.isspace` has four controls more."""
