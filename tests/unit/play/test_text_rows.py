"""Tests for the rows of a text: joined they are the text, and each fits the width."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from support.texts import texts

from tokbench.play.text_rows import SECTION, TextRow, row_after, row_at, row_before

WIDEST_STAND_IN = 12


def all_rows(text: str, width: int) -> list[TextRow]:
    rows = [row_at(text, 0, width=width)]
    while (below := row_after(text, rows[-1], width=width)) is not None:
        rows.append(below)
    return rows


@given(text=texts, width=st.integers(WIDEST_STAND_IN, 40))
@example(text="  \x85\U000191d3", width=12)  # too wide even without the spaces
def test_rows_join_to_the_text_and_fit_the_width(text: str, width: int) -> None:
    rows = all_rows(text, width)
    joined = "".join(text[row.start : row.stop] + ("\n" if row.ends_line else "") for row in rows)
    assert joined == text + "\n"
    for row in rows:
        wide = sum(piece.width for piece in row.pieces)
        assert wide <= width or len(row.pieces) == 1
        assert "".join(text[piece.start : piece.stop] for piece in row.pieces) == text[row.start : row.stop]
    upwards = [rows[-1]]
    while (above := row_before(text, upwards[-1], width=width)) is not None:
        upwards.append(above)
    assert upwards[::-1] == rows


@given(text=texts, width=st.integers(WIDEST_STAND_IN, 40), place=st.integers(0, 200))
def test_character_is_found_in_its_row(text: str, width: int, place: int) -> None:
    place = min(place, len(text))
    row = row_at(text, place, width=width)
    assert row.start <= place <= row.stop
    assert row in all_rows(text, width)


def test_row_breaks_after_a_space_if_there_is_one() -> None:
    assert [row.stop for row in all_rows("to be or not", 6)] == [6, 12]
    assert [row.stop for row in all_rows("tobeornot", 6)] == [6, 9]


def test_wide_characters_and_controls_have_their_columns() -> None:
    row = row_at("日a\x1b\t!", 0, width=20)
    assert [piece.text for piece in row.pieces] == ["日", "a", "␛", "→   ", "!"]
    assert [row.column_of(place) for place in range(6)] == [0, 2, 3, 4, 8, 9]
    assert [row.offset_at(column) for column in (0, 1, 2, 5, 8, 9)] == [0, 0, 1, 3, 4, 5]


def test_long_line_is_wrapped_in_sections() -> None:
    text = "x" * (2 * SECTION)
    rows = all_rows(text, 1_000)
    assert [row.start for row in rows if row.start % SECTION == 0] == [0, SECTION]
    assert [row.ends_line for row in rows] == [False] * 9 + [True]
    assert row_at(text, len(text), width=1_000) == rows[-1]
