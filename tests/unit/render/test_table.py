"""Tests for tables: what each writer shows of a table and what it leaves out."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import orjson
import pytest
from rich.cells import cell_len
from rich.console import Console

from tokbench.render.table import (
    NONE,
    Cell,
    Column,
    Table,
    count_cell,
    count_column,
    known_columns,
    latex_table,
    markdown_table,
    result_forms,
    table_of_rows,
    text_cell,
    text_column,
    value_column,
)
from tokbench.render.terminal import write_condensed, write_grid, write_table

TABLE = Table(
    "Sizes",
    (
        text_column("name", ["first", "second_one"]),
        count_column("tokens", [1234, 5]),
        Column("share", (Cell("10 %", 0.1), Cell("20 %", 0.2, best=True)), has_best=True),
        count_column("bytes", [7, 8], is_detail=True),
    ),
    corner="of",
    bars=(2.0, 4.0),
)


def printed(table: Table, write: object = write_table, *, width: int = 100) -> list[str]:
    text = io.StringIO()
    console = Console(file=text, width=width, color_system=None, highlight=False, markup=False)
    write(table, console=console)  # type: ignore[operator]
    return [line.rstrip() for line in text.getvalue().splitlines() if line.strip()]


def test_terminal_table_has_headers_marks_and_bars_but_no_details() -> None:
    head, rule, first, second = printed(TABLE)
    assert head.split() == ["of", "tokens", "share"]
    assert set(rule.strip()) == {"─"}
    assert first.split() == ["first", "1,234", "10", "%", "█" * 12]
    assert second.split() == ["second_one", "5", "20", "%*", "█" * 24]


@pytest.mark.parametrize("width", [20, 24, 30, 60])
def test_columns_that_do_not_fit_move_below_and_bars_are_omitted(width: int) -> None:
    lines = printed(TABLE, width=width)
    assert max(map(cell_len, lines)) <= width
    text = " ".join(lines)
    assert all(part in text for part in ("1,234", "10 %", "20 %*"))
    assert text.count("second_one") == (2 if width < 30 else 1)
    assert ("█" in text) == (width >= 60)


def test_bars_have_a_title() -> None:
    head, _, first, _ = printed(replace(TABLE, bars_title="second_one"))
    assert head.split() == ["of", "tokens", "share", "second_one"]
    assert head.index("second_one") == first.index("█")


@pytest.mark.parametrize("width", [80, 200])
def test_long_titles_and_names_are_folded(width: int) -> None:
    name = "-".join(["a-tokenizer-with-a-long-name"] * 3)
    columns = (
        text_column("name", [f"{name}-1", f"{name}-2"]),
        *(count_column(f"{name}-{n}", [n, 7]) for n in range(4)),
    )
    lines = printed(Table("", columns, bars=(1.0, 2.0), bars_title=name), width=width)
    assert max(map(cell_len, lines)) <= width
    assert sum(set(line.strip()) == {"─"} for line in lines) == {80: 4, 200: 1}[width]
    text = "".join("".join(lines).split())
    assert all(f"{n}" in text for n in range(4))


@pytest.mark.parametrize("width", [40, 60, 80])
def test_long_names_are_broken_after_separators(width: int) -> None:
    name = "one-experiment_with.a/folder-and_another name-seventeen"
    long_text = text_column(name, ["word " * 30], is_long=True)
    columns = (text_column(name, [name]), count_column(name, [7]), long_text)
    lines = printed(Table("", columns), width=width)
    rows = [row.strip() for line in lines for row in line.split("  ")]
    words = {row for row in rows if row and not row.startswith(("─", "word"))} - {"7"}
    parts = ["one-", "experiment_", "with.", "a/", "folder-", "and_", "another ", "name-", "seventeen"]
    whole = {"".join(parts[i:j]).strip() for i in range(len(parts)) for j in range(i + 1, len(parts) + 1)}
    assert words <= whole
    assert not any("\x1f" in line for line in lines)


def test_grid_has_no_headers() -> None:
    lines = printed(TABLE, write_grid)
    assert len(lines) == 2
    assert lines[0].split()[:2] == ["first", "1,234"]


def test_rows_with_the_same_first_cell_are_condensed() -> None:
    heads = (text_column("group"), text_column("word"), Column("tokens"), Column("times", is_detail=True))
    words = [("de", "lang", 4, 1), ("de", "kurz", 2, 9), ("en", "long", 3, 1)]
    rows = [(text_cell(a), text_cell(b), count_cell(c), count_cell(d)) for a, b, c, d in words]
    assert printed(table_of_rows("", heads, rows), write_condensed) == ["de  lang 4   kurz 2", "en  long 3"]


def test_section_is_separated_by_an_empty_line() -> None:
    text = io.StringIO()
    write_table(replace(TABLE, sections=frozenset({1})), console=Console(file=text, width=100))
    lines = text.getvalue().splitlines()
    first, second = (next(n for n, line in enumerate(lines) if name in line) for name in ("first", "second"))
    assert second == first + 2


def test_markdown_and_latex_have_all_columns_and_bold_best_values() -> None:
    assert markdown_table(TABLE).splitlines() == [
        "Sizes",
        "",
        "| name | tokens | share | bytes |",
        "| --- | ---: | ---: | ---: |",
        "| first | 1,234 | 10 % | 7 |",
        r"| second\_one | 5 | **20 %\*** | 8 |",
    ]
    latex = latex_table(TABLE)
    assert r"\begin{tabular}{lrrr}" in latex
    assert r"second\_one & 5 & \textbf{20 \%*} & 8 \\" in latex


def test_names_keep_their_characters_in_markdown_and_latex() -> None:
    names = ["*bold*", "[10pt]", "<b>&lt;", "a|b", "~~x~~", "`x`"]
    table = table_of_rows("", [text_column("group")], [(text_cell(name),) for name in names])
    assert markdown_table(table).splitlines()[2:] == [
        r"| \*bold\* |",
        r"| \[10pt\] |",
        r"| \<b\>\&lt; |",
        r"| a\|b |",
        r"| \~\~x\~\~ |",
        r"| \`x\` |",
    ]
    # `\\ *` and `\\ [10pt]` are forms of the command that ends a row.
    assert latex_table(table).splitlines()[4:-2] == [
        r"{}*bold* \\",
        r"{}[10pt] \\",
        r"\textless{}b\textgreater{}\&lt; \\",
        r"a\textbar{}b \\",
        r"\textasciitilde{}\textasciitilde{}x\textasciitilde{}\textasciitilde{} \\",
        r"\textasciigrave{}x\textasciigrave{} \\",
    ]


def test_only_the_requested_format_is_built() -> None:
    def unwanted() -> list[str]:
        raise AssertionError

    forms = result_forms(
        json=lambda: {"a": 1}, csv=lambda: [("a", "b"), (1, None)], parts=lambda: (TABLE, "so_so")
    )
    assert orjson.loads(forms["json"]()) == {"a": 1}
    assert list(csv.reader(io.StringIO(forms["csv"]().decode()))) == [["a", "b"], ["1", ""]]
    assert forms["markdown"]().decode() == f"{markdown_table(TABLE)}\n\nso\\_so\n"
    assert forms["latex"]().decode() == f"{latex_table(TABLE)}\n\nso\\_so\n"
    assert result_forms(json=dict, csv=unwanted, parts=unwanted)["json"]() == b"{}\n"


def test_unknown_value_is_a_dash_and_empty_columns_are_dropped() -> None:
    some = value_column("some", [None, 1.5], "{:.2f}".format)
    none = value_column("none", [None, None], "{:.2f}".format)
    assert [cell.text for cell in some.cells] == [NONE, "1.50"]
    assert some.values == (None, 1.5)
    assert known_columns(some, none) == [some]


def test_empty_table_keeps_its_columns() -> None:
    table = table_of_rows("", (text_column("a"), Column("b")), [])
    assert table.rows == []
    assert [column.title for column in table.columns] == ["a", "b"]
