"""Searches of a vocabulary while the user types, and the display of their results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.text import Text

from tokbench.inspection.search import TokenQuery, parse_bytes_of_token
from tokbench.play.merge_tree import merge_tree
from tokbench.render.glyphs import glyphs_of, text_of
from tokbench.workbench.search_vocabulary import search_vocabulary

if TYPE_CHECKING:
    from tokbench.inspection.vocabulary_tokens import VocabularyToken, VocabularyTokens
    from tokbench.workbench.search_vocabulary import SearchResult

MOST_SHOWN = 200
"""Maximum number of tokens listed."""
_ID = re.compile(r"#([0-9]{1,12})")
_EXPRESSION = re.compile(r"/(.+)/", re.DOTALL)


def query_of(asked: str) -> TokenQuery:
    r"""Parse a search: tokens that contain the text, match the expression, have the id, or contain the bytes.

    Raises:
        ConfigError: the bytes are invalid.

    >>> query_of("low").data, query_of("/^low/").find, query_of("#7").ids, query_of("0xe2 82").data
    (b'low', '^low', frozenset({7}), b'\xe2\x82')
    """
    if (found := _ID.fullmatch(asked)) is not None:
        return TokenQuery(ids=frozenset({int(found[1])}))
    if (found := _EXPRESSION.fullmatch(asked)) is not None:
        return TokenQuery(find=found[1])
    if asked.startswith("0x"):
        return TokenQuery(data=parse_bytes_of_token(asked))
    return TokenQuery(data=asked.encode(errors="replace"))


def search_tokens(vocabulary: VocabularyTokens, asked: str) -> SearchResult:
    """Search for tokens. Raises as `query_of` and `tokbench.inspection.search.search`."""
    return search_vocabulary(vocabulary, query_of(asked), top=MOST_SHOWN)


def found_line(token: VocabularyToken) -> Text:
    """Format a found token as a line."""
    shown = text_of(glyphs_of(token.data)) or "⟨empty⟩"
    kind = "" if token.kind.value == "normal" else f"  {token.kind.value}"
    return Text.assemble((f"{token.id:>8,}  ", "dim"), shown, (kind, "dim"))


def token_tree(vocabulary: VocabularyTokens, id: int, *, width: int) -> Text:
    """Draw the merges of a token, or explain why they are not drawn."""
    [details] = search_vocabulary(vocabulary, TokenQuery(ids=frozenset({id}))).details
    if details.derivation is None:
        return Text(details.not_applicable or "", "dim")
    rows = merge_tree(details.derivation, width=width)
    return Text("\n".join(rows)) if rows else Text("its merges are too wide to be drawn here", "dim")
