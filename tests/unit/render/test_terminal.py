"""Tests that lines are folded between words and tokens: no row is too wide, nothing is lost, quotes stay whole."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from tokbench.render import terminal
from tokbench.render.terminal import Line, folded, print_grid, unbroken


def rows(text: str | Text, *, width: int, label: int = 0) -> list[str]:
    console = Console(file=StringIO(), width=width)
    return [
        row.plain for row in folded(Line(Text(text) if isinstance(text, str) else text, label=label), console)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two three four five six", ["one two three four", "five six"]),
        ("un│believ│able│antidisestab│x", ["un│believ│able│", "antidisestab│x"]),
        ('it is " a b c d" that is there', ['it is " a b c d"', "that is there"]),
        ('it is there " a b c d" too', ["it is there", '" a b c d" too']),
        ("a" * 45, ["a" * 20, "a" * 20, "a" * 5]),
        ("", [""]),
    ],
)
def test_rows_break_between_words_and_tokens(text: str, expected: list[str]) -> None:
    assert rows(text, width=20) == expected


def test_continuation_rows_are_indented_to_the_text() -> None:
    assert rows("label  one two three four five six", width=30, label=7) == [
        "label  one two three four five",
        "       six",
    ]


def test_coloured_tokens_are_not_split() -> None:
    text = Text.assemble(("antidis", "red"), ("establishment", "blue"), ("arianism", "red"))
    assert rows(text, width=20) == ["antidisestablishment", "arianism"]


def printed(*, width: int) -> list[str]:
    texts = [("a-long-name", "kind", unbroken('words of "a b"')), ("", "", "→ a hint")]
    stream = StringIO()
    print_grid((list(map(Text, row)) for row in texts), console=Console(file=stream, width=width))
    return stream.getvalue().splitlines()


def test_last_cells_of_a_grid_are_below_the_others_if_there_is_no_room_beside_them() -> None:
    assert printed(width=36) == ['a-long-name  kind  words of "a b"', "                   → a hint"]
    assert printed(width=30) == ["a-long-name  kind", '    words of "a b"', "    → a hint"]


@given(st.text(st.sampled_from('ab "│中é\\ '), max_size=60), st.integers(20, 30))
def test_no_row_is_too_wide_and_nothing_is_lost(text: str, width: int) -> None:
    wrapped = rows(text, width=width)
    assert all(cell_len(row) <= width for row in wrapped)
    assert "".join(wrapped).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    "text", ["a" * 20_000, "e\u0301" * 10_000, "a" + "\u0301" * 20_000 + "b" * 30, " " * 20_000 + "a"]
)
def test_a_long_token_is_measured_a_row_at_a_time(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []

    def counting(part: str) -> int:
        measured.append(len(part))
        return cell_len(part)

    monkeypatch.setattr(terminal, "cell_len", counting)
    assert "".join(rows(text, width=20)).replace(" ", "") == text.replace(" ", "")
    assert sum(measured) < 40 * len(text)
