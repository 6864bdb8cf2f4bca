"""Tests for column titles, from wide to narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tokbench.core.tokens import SpecialPolicy
from tokbench.play.columns import encode_columns
from tokbench.play.token_pane import fitted_title, title_figures

if TYPE_CHECKING:
    from tokbench.play.columns import OpenTokenizer


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (50, ("letters", "8 tokens +166.7 % · 7 differ")),
        (34, ("letters", "8 tokens +167% · 7 differ")),
        (30, ("letters", "8 +167% · 7 differ")),
        (26, ("letters", "8 tokens +167%")),
        (20, ("letters", "8 +167%")),
        (10, ("letters", "8")),
        (6, ("le…", "8")),
    ],
)
def test_narrow_title_omits_whole_figures(
    lower: OpenTokenizer, letters: OpenTokenizer, width: int, shown: tuple[str, str]
) -> None:
    _, column = encode_columns([lower, letters], "low lower", special=SpecialPolicy.TEXT)
    assert fitted_title("letters", title_figures(column, fewest=3, has_others=True), width=width) == shown


def test_title_of_a_single_column_has_bytes_per_token(lower: OpenTokenizer) -> None:
    [column] = encode_columns([lower], "low lower", special=SpecialPolicy.TEXT)
    assert title_figures(column, fewest=3, has_others=False) == ["3 tokens · 3.00 bytes/token", "3 tokens"]
    [nothing] = encode_columns([lower], "", special=SpecialPolicy.TEXT)
    assert title_figures(nothing, fewest=0, has_others=False) == ["0 tokens"]


def test_name_of_wide_characters_is_truncated_between_characters() -> None:
    assert fitted_title("日本語の辞書", ["12 tokens"], width=20) == ("日本語の…", "12 tokens")
