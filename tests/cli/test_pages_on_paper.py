"""Browsers omit backgrounds when they print, but these distinguish the tokens: each page asks to keep them."""

from __future__ import annotations

import re

import pytest


@pytest.mark.parametrize(
    ("command", "selector", "library"),
    [
        ("viz words --html page.html", "li", None),
        ("chat talk.json --template plain.jinja --html page.html", r"\.text span", None),
        ("compare notes.txt -t default --no-times --html page.html", r"[^{}]*", "vl_convert"),
        pytest.param("play words --html page.html", r"\.token", "py_mini_racer", marks=pytest.mark.slow),
    ],
)
def test_printed_page_keeps_token_colours(run, tmp_path, command, selector, library):
    if library is not None:
        pytest.importorskip(library)
    (tmp_path / "notes.txt").write_text("some notes\n" * 5)
    (tmp_path / "talk.json").write_text('[{"role": "user", "content": "Hi"}]')
    (tmp_path / "plain.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    run(*command.split()).good()
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.search(selector + r"\{[^}]*print-color-adjust:exact[;}]", page)
