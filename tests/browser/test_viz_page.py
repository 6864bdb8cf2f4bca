"""The page of `tokbench viz --html` in a browser: it fits every window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tokbench
from tokbench.render.viz import ShownText
from tokbench.render.viz_files import viz_page
from tokbench.workbench.viz import visualise

if TYPE_CHECKING:
    from pathlib import Path

    from support.browser import Browser

pytestmark = pytest.mark.slow  # CI installs a browser and runs these tests


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("beside", [False, True])
def test_page_with_steps_fits_the_window(browser: Browser, tmp_path: Path, width: int, beside: bool) -> None:
    tokenizer = tokbench.train(["low lower lowest"] * 9, vocab_size=262)
    text = "low " * 30 + "an_identifier_without_a_place_to_break" * 5
    page = tmp_path / "page.html"
    shown = ShownText("text", visualise([tokenizer, tokenizer], text, steps=True))
    page.write_bytes(viz_page([shown], ids=True, beside=beside))
    browser.prefer()
    browser.resize(width)
    browser.open(page)
    assert browser.ask("document.documentElement.scrollWidth") <= width
