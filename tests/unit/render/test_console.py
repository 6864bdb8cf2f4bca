"""Tests for prose that is wider than the console."""

from __future__ import annotations

import pytest
from rich.text import Text

from tokbench.render.console import as_text, make_console


def shown(*texts: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    console = make_console(color="never")
    for text in texts:
        console.print(Text(text))
    return capsys.readouterr().out.split("\n")


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")


def test_wrapped_line_has_no_trailing_space(capsys: pytest.CaptureFixture[str]) -> None:
    rows = shown("one two three four five six", "", "a\nb", "x" * 30, capsys=capsys)
    assert rows == ["one two three four", "five six", "", "a", "b", "x" * 20, "x" * 10, ""]


def test_wrapped_line_in_a_file_has_no_trailing_space() -> None:
    text = as_text(lambda console: console.print(Text("word " * 100)))
    assert text == "\n".join([("word " * 32).rstrip()] * 3 + [("word " * 4).rstrip(), ""])
