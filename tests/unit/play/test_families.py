"""Tests for the tokens, details and steps of real tokenizers of every family."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.play_sessions import screen_of, session, settled

from tokbench.core.progress import no_progress
from tokbench.opening.request import OpenRequest
from tokbench.play.columns import OpenTokenizer
from tokbench.workbench.open import find_and_open

if TYPE_CHECKING:
    from pathlib import Path

    from textual.pilot import Pilot

    from tokbench.play.app import PlayApp

TEXT = "Hello, wörld! <|endoftext|> tokens\tשלום 👩\u200d👩\u200d👧 日本\x07</s>"
FILES = (
    "gpt2/tokenizer.json",
    "phi-2/tokenizer.json",  # has added tokens
    "bert-base-uncased/tokenizer.json",
    "t5-small/tokenizer.json",
    "mistral/tokenizer.model.v1",
    "t5-base/spiece.model",
    "openai/cl100k_base.tiktoken",
)


def open_file(path: Path) -> OpenTokenizer:
    return OpenTokenizer(str(path), find_and_open(str(path), OpenRequest(), progress=no_progress))


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_tokens_and_details_of_each_family_are_shown(shared: Path, file: str) -> None:
    opened = open_file(shared / "vocab" / file)

    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        [pane] = app.panes
        assert pane.column is not None
        assert pane.column.ids.tolist() == opened.tokenizer.encode(TEXT)
        await pilot.press("tab")
        for _ in range(len(pane.column) - 1):
            await pilot.press("right")
        await settled(app, pilot)
        assert pane.selected == len(pane.column) - 1
        assert f"id {int(pane.column.ids[-1]):,}" in screen_of(app)
        await pilot.press("home")
        await settled(app, pilot)
        shown = screen_of(app)
        assert "begins" in shown
        assert "\x07" not in shown
        await pilot.press("f2", "end")
        await settled(app, pilot)
        assert "go through them" in screen_of(app)
        assert "Hello" in screen_of(app)

    session(drive, opened, text=TEXT)
