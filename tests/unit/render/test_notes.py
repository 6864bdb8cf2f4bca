"""Tests for the notes below a sheet: prose is folded, code is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.render.console import make_console
from tokbench.render.terminal import print_notes

if TYPE_CHECKING:
    import pytest


def test_code_in_a_note_is_not_wrapped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    pattern = r"pat_str='[^\\s]+| ?[a-z]+|\\s+(?!x)'"
    print_notes([f"give the reader both:\n{pattern}", "short"], console=make_console(color="never"))
    assert capsys.readouterr().out == f"note: give the\nreader both:\n{pattern}\nnote: short\n"
