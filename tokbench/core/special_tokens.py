"""Special tokens: validation of a set of them, and splitting a text at them."""

from __future__ import annotations

import re
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tokbench.core.alternatives import longest_first
from tokbench.core.tokens import Span, SpecialPolicy
from tokbench.errors import ConfigError, SpecialTokenError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tokbench.core.descriptions import TokenFlags


class TextPart(NamedTuple):
    """A part of a text: ordinary text, or a special token.

    Attributes:
        text: the part, including the white space that a special token absorbs.
        token: the special token; None for ordinary text.
    """

    text: str
    token: str | None = None

    @property
    def is_special(self) -> bool:
        """Whether the part is a special token."""
        return self.token is not None


def check_special_tokens(special_tokens: Sequence[str]) -> None:
    """Reject sets for which a text could be split in more than one way.

    Raises:
        ConfigError: a token is empty, has no UTF-8 form, occurs twice, or is part of another.

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
            other = next(longer for longer in special_tokens if token != longer and token in longer)
            raise ConfigError(
                f"the special token {token!r} is part of the special token {other!r}",
                hint="a text with the longer one could be read in two ways: rename one of them",
            )


def contained_texts(texts: Iterable[str]) -> set[str]:
    """Return the texts that occur within a longer text of the same set.

    Uses the automaton of Aho and Corasick, "Efficient string matching" (1975): a trie of all texts in which each node
    has a link to its longest proper suffix that is a node, too.

    Args:
        texts: texts of at least one character.

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

    # A text is within a longer one if its node has children, or is the longest suffix of some node. Shorter suffixes
    # need no check: they are the longest suffixes of suffixes, which are nodes themselves.
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
    """Raise `ConfigError` unless the argument is a `SpecialPolicy`; the name of one is rejected, too."""
    if not isinstance(special, SpecialPolicy):
        choices = ", ".join(f"SpecialPolicy.{policy.name}" for policy in SpecialPolicy)
        raise ConfigError(
            f"special is {special!r:.40}, where a SpecialPolicy is needed", hint=f"choose {choices}"
        )


class SpecialTokenFinder:
    """Splits texts at special tokens: the leftmost first, and of several that start together the longest.

    Args:
        special_tokens: the texts of the tokens.
        flags: special token → its flags. White space between two tokens that absorb it goes to the first.
    """

    def __init__(
        self, special_tokens: Iterable[str], *, flags: Mapping[str, TokenFlags] | None = None
    ) -> None:
        self._special_tokens = tuple(special_tokens)
        self.flags = dict(flags or {})
        self._lstrip_tokens = {text for text, token_flags in (flags or {}).items() if token_flags.lstrip}
        self._rstrip_tokens = {text for text, token_flags in (flags or {}).items() if token_flags.rstrip}

    def cut(self, text: str, *, special: SpecialPolicy) -> Iterator[TextPart]:
        """Yield the parts of a text; under `SpecialPolicy.TEXT` one ordinary part.

        Raises:
            SpecialTokenError: the text holds one under `SpecialPolicy.RAISE`.
        """
        check_policy(special)
        position = 0
        if self._special_tokens and special is not SpecialPolicy.TEXT:
            for match in self._pattern.finditer(text):
                if special is SpecialPolicy.RAISE:
                    start = len(text[: match.start()].encode(errors="surrogatepass"))
                    raise SpecialTokenError(match.group(), Span(start, start + len(match.group().encode())))
                start, stop = self._span_with_white_space(match, text, position)
                if position < start:
                    yield TextPart(text[position:start])
                yield TextPart(text[start:stop], match.group())
                position = stop
        if position < len(text):
            yield TextPart(text[position:])

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Matches the longest special token; compiled where it is needed, as that takes long for thousands of them."""
        return re.compile(longest_first(self._special_tokens))

    def _span_with_white_space(self, match: re.Match[str], text: str, position: int) -> tuple[int, int]:
        """Return start and stop of a special token with the white space that it absorbs, not before `position`."""
        start, stop = match.span()
        if match.group() in self._lstrip_tokens:
            while start > position and text[start - 1] in WHITE_SPACE:
                start -= 1
        if match.group() in self._rstrip_tokens:
            while stop < len(text) and text[stop] in WHITE_SPACE:
                stop += 1
        return start, stop


WHITE_SPACE = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Characters with Unicode's property White_Space, stable for years; `str.isspace` accepts four more controls."""
