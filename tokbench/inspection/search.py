"""Search a vocabulary for tokens."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.errors import ConfigError
from tokbench.inspection.token_merges import NoTokenMerges
from tokbench.inspection.vocabulary_tokens import text_of_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    import regex

    from tokbench.inspection.vocabulary_tokens import VocabularyTokens

_SECONDS = 10.0
_SECONDS_OF_ONE = 2.0
"""Time limits for a user's expression, on all texts and on each text: some expressions would never finish."""
_RANKS = re.compile(r"([0-9]{0,12})(:?)([0-9]{0,12})")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenQuery:
    """The conditions of a search; a token is found if it satisfies all of them.

    Attributes:
        find: a regular expression of the `regex` package that matches somewhere in the token's text; None for any.
        ids: the ids to choose from; None for any.
        data: bytes that the token contains; None for any.
        script: the Unicode script of most letters of the text; None for any.
        ranks: the range of ranks at which merging makes it, excluding the second; None for any.
    """

    find: str | None = None
    ids: frozenset[int] | None = None
    data: bytes | None = None
    script: str | None = None
    ranks: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class FoundTokens:
    """The result of a search.

    Attributes:
        ids: the ids of the tokens found, in order.
        without_text: the number of tokens skipped because the query is about text and they are not whole characters.
    """

    ids: tuple[int, ...]
    without_text: int = 0


def search(vocabulary: VocabularyTokens, query: TokenQuery) -> FoundTokens:
    """Return the tokens of a vocabulary that match a query.

    Raises:
        ConfigError: the expression is invalid or takes too long, there is no such script, an id has no token, or ranks
            are given and the algorithm does not merge.
    """
    ids: Collection[int] = vocabulary.tokens.keys()
    if query.ids is not None:
        ids = _known_ids(vocabulary, query.ids)
    if query.ranks is not None:
        ids = _ranked_ids(vocabulary, query.ranks, ids)
    tokens = vocabulary.tokens
    if query.data is not None:
        ids = [id for id in ids if query.data in tokens[id]]
    if query.find is None and query.script is None:
        return FoundTokens(tuple(ids))
    texts = {id: text for id in ids if (text := text_of_bytes(tokens[id])) is not None}
    without_text = sum(1 for id in ids if id not in texts)
    found: Iterable[int] = texts
    if query.find is not None:
        found = _matching(query.find, texts)
    if query.script is not None:
        from tokbench.corpus.scripts import COMMON, SCRIPTS, script_named

        found = _in_script(script_named(query.script, (*SCRIPTS, COMMON)), texts, found)
    return FoundTokens(tuple(found), without_text)


def longest_first(vocabulary: VocabularyTokens, ids: Iterable[int]) -> list[int]:
    """Sort ids by the length of their tokens in bytes, longest first; ties by id."""
    return sorted(ids, key=lambda token_id: (-len(vocabulary.tokens[token_id]), token_id))


def parse_ranks(text: str) -> tuple[float, float]:
    """Parse a range of ranks as given to --rank: from the first to below the second; either may be omitted.

    Raises:
        ConfigError: it is not a range of ranks.

    >>> parse_ranks("300:400"), parse_ranks("7"), parse_ranks(":10")
    ((300, 400), (7, 8), (0, 10))
    """
    parts = _RANKS.fullmatch(text)
    if parts is None or not text.strip(":"):
        raise ConfigError(f"{text!r} is not a range of ranks", hint="--rank takes 300:400, 300:, :400 or 300")
    first, colon, last = parts.groups()
    start = int(first or 0)
    stop: float = int(last) if last else float("inf") if colon else start + 1
    if stop <= start:
        raise ConfigError(f"the range of ranks {text} is empty", hint="the first must be below the second")
    return start, stop


def parse_bytes_of_token(text: str) -> bytes:
    """Parse hexadecimal bytes as given to --bytes; spaces between them are allowed. Raises `ConfigError`."""
    digits = "".join(text.split()).removeprefix("0x")
    if not _HEX.fullmatch(digits):
        raise ConfigError(
            f"{text!r} is not bytes in hexadecimal", hint="--bytes takes two digits per byte, such as E282AC"
        )
    return bytes.fromhex(digits)


def _known_ids(vocabulary: VocabularyTokens, ids: frozenset[int]) -> list[int]:
    for id in sorted(ids):
        if id not in vocabulary.tokens:
            gaps = ", and some have none" if len(vocabulary.tokens) <= max(vocabulary.tokens) else ""
            raise ConfigError(
                f"no token has the id {id}", hint=f"ids run from 0 to {max(vocabulary.tokens)}{gaps}"
            )
    return sorted(ids)


def _ranked_ids(vocabulary: VocabularyTokens, ranks: tuple[float, float], ids: Iterable[int]) -> list[int]:
    if isinstance(vocabulary.merges, NoTokenMerges):
        raise ConfigError(
            f"--rank does not apply: {vocabulary.merges}", hint="--id takes the number of a token"
        )
    first, stop = ranks
    allowed = set(ids)
    found = sorted(
        (rank, id) for id, rank in vocabulary.ranks.items() if first <= rank < stop and id in allowed
    )
    return [id for _, id in found]


def _matching(expression: str, texts: Mapping[int, str]) -> list[int]:
    """Return the ids whose texts match an expression. Raises `ConfigError`."""
    find, until, timeout = _compiled(expression).search, time.monotonic() + _SECONDS, _SECONDS_OF_ONE
    found: list[int] = []
    try:
        for id, text in texts.items():
            if find(text, timeout=timeout) is not None:
                found.append(id)
            if time.monotonic() > until:
                raise TimeoutError
    except TimeoutError:
        raise ConfigError(
            f"the search for {expression!r} took too long",
            hint="nested repetitions such as (a+)+ match in too many ways: leave out the inner one",
        ) from None
    return found


def _compiled(expression: str) -> regex.Pattern[str]:
    import regex

    try:
        return regex.compile(expression)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        raise ConfigError(
            f"{expression!r} is not a regular expression: {error}",
            hint=r"a literal character may need a backslash, as \( or \.",
        ) from None


def _in_script(script: str, texts: Mapping[int, str], ids: Iterable[int]) -> list[int]:
    from tokbench.corpus.scripts import COMMON, script_of

    is_ascii = script in ("Latin", COMMON)  # ASCII letters are of no other script
    return [id for id in ids if (is_ascii or not texts[id].isascii()) and script_of(texts[id]) == script]
