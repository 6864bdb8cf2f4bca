"""Tests for columns of tokens: their ids are those of `encode`, and their differences follow the definition."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from support.texts import texts

from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError
from tokbench.play import token_details
from tokbench.play.columns import LONGEST_BLOCK, Column, OpenTokenizer, encode_columns
from tokbench.play.token_details import explain_token
from tokbench.play.token_rows import Place, TokenLayout

TEXT = SpecialPolicy.TEXT


def column_of(tokenizer: OpenTokenizer, text: str) -> Column:
    [column] = encode_columns([tokenizer], text, special=TEXT)
    return column


@given(text=texts)
def test_ids_equal_those_of_encode_and_differences_those_of_spans(
    lower: OpenTokenizer, letters: OpenTokenizer, text: str
) -> None:
    columns = encode_columns([lower, letters], text, special=TEXT)
    spans = [
        {token.span for token in view_column.tokenizer.segment(text).tokens}
        for view_column in (lower, letters)
    ]
    for column in columns:
        tokens = [column.token(index) for index in range(len(column))]
        assert column.ids.tolist() == column.source.tokenizer.encode(text)
        assert tuple(tokens) == column.source.tokenizer.segment(text).tokens
        shared = [token.span in spans[0] and token.span in spans[1] for token in tokens]
        assert column.differs.tolist() == [not is_shared for is_shared in shared]


def test_policy_encodes_special_tokens(lower: OpenTokenizer) -> None:
    [column] = encode_columns([lower], "low lower", special=SpecialPolicy.ENCODE)
    assert column.ids.tolist() == lower.tokenizer.encode("low lower", special=SpecialPolicy.ENCODE)


def test_token_is_found_by_byte_offset(lower: OpenTokenizer) -> None:
    column = column_of(lower, "low lower")
    assert [column.index_at(byte) for byte in (0, 2, 3, 6, 7, 9, 99)] == [0, 0, 1, 1, 2, 2, 2]
    assert column_of(lower, "").index_at(0) == 0


def layout_of(column: Column, width: int) -> TokenLayout:
    return TokenLayout(column, width=width, has_separators=False)


@given(text=texts)
def test_every_token_is_laid_out_once(lower: OpenTokenizer, text: str) -> None:
    column = column_of(lower, text * 40)
    layout = layout_of(column, 30)
    rows = [row for block in range(layout.blocks) for row in layout.rows(block)]
    seen = [cell.token for row in rows for cell in row]
    assert list(dict.fromkeys(seen)) == list(range(len(column)))
    assert all(sum(cell.width for cell in row) <= 30 for row in rows)
    place = Place(0, 0)
    for row in rows[1:]:
        place = layout.moved(place, 1)
        assert layout.row(place) == row
    assert layout.moved(place, -len(rows)) == Place(0, 0)
    for token in range(0, len(column), 97):
        assert token in [cell.token for cell in layout.row(layout.place_of(token))]


@pytest.mark.parametrize("text", ["x" * 3_000, "日" * 1_500, "line\n" * 1_500, "\n" * 3_000])
def test_blocks_are_bounded_and_begin_with_whole_characters(lower: OpenTokenizer, text: str) -> None:
    column = column_of(lower, text)
    edges = column.blocks
    assert edges[0] == 0
    assert edges[-1] == len(column)
    sizes = [stop - start for start, stop in itertools.pairwise(edges)]
    assert len(sizes) > 3
    assert max(sizes) <= LONGEST_BLOCK + 3
    for edge in edges[:-1]:
        column.data[int(column.starts[edge]) :].decode()
    if "line" in text:
        assert all(column.data[int(column.starts[edge]) - 1] == ord("\n") for edge in edges[1:-1])


def test_rows_end_at_line_ends(lower: OpenTokenizer) -> None:
    rows = layout_of(column_of(lower, "low\nlow"), 30).rows(0)
    assert ["".join(glyph.text for cell in row for glyph in cell.glyphs) for row in rows] == ["low⏎", "low"]


def test_token_of_a_long_text_is_explained_by_an_excerpt(
    lower: OpenTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_details, "REACHES", (40, 80))
    whole = column_of(lower, "low lower newer " * 200)
    index = len(whole) // 2
    explained = explain_token(whole, index, special=TEXT)
    assert len(explained.result.explanation.text) < 100
    assert explained.step.trace.tokens
    assert int(whole.ids[index]) in [symbol.id for symbol in explained.step.trace.tokens]


def test_excerpt_with_other_tokens_is_not_explained(
    lower: OpenTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one byte of context on either side the excerpt cuts words, so that its tokens differ."""
    monkeypatch.setattr(token_details, "REACHES", (1,))
    column = column_of(lower, "low lower newer low")
    with pytest.raises(ConfigError, match="different tokens when it is encoded alone"):
        explain_token(column, 2, special=TEXT)
