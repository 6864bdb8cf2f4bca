"""Tests for opening, searching, saving, copying and the chat view, driven by Textual's pilot."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from support.play_sessions import screen_of, session, settled

from tokbench.corpus import open_corpus
from tokbench.errors import StoreError
from tokbench.play.app import Names

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from textual.pilot import Pilot

    from tokbench.play.app import PlayApp
    from tokbench.play.columns import OpenTokenizer


def names_of(*tokenizers: OpenTokenizer) -> Names:
    """Return names `first`, `second` and `third` that open these tokenizers."""
    known = dict(zip(("first", "second", "third"), tokenizers, strict=False))

    def open_named(name: str) -> OpenTokenizer:
        if name not in known:
            raise StoreError(f"there is no tokenizer {name!r}", hint="name another one")
        return known[name]

    return Names(open_named, lambda begun: [name for name in known if name.startswith(begun)])


def test_tokenizer_is_opened_beside_another_and_closed(lower: OpenTokenizer, letters: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        await pilot.press("f5", "s", "tab", "enter")
        await settled(app, pilot)
        assert [pane.column.source for pane in app.panes if pane.column] == [lower, letters]
        assert "+166.7 %" in screen_of(app)
        await pilot.press("tab", "f9")
        await settled(app, pilot)
        assert [pane.column.source for pane in app.panes if pane.column] == [letters]
        await pilot.press("f9")
        assert len(app.panes) == 1

    session(drive, lower, text="low lower", names=names_of(lower, letters))


def test_tokenizer_replaces_another(lower: OpenTokenizer, letters: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        await pilot.press("f5", *"second", "ctrl+r")
        await settled(app, pilot)
        [pane] = app.panes
        assert pane.column is not None
        assert pane.column.source is letters
        assert pane.column.ids.tolist() == letters.tokenizer.encode("low lower")

    session(drive, lower, text="low lower", names=names_of(lower, letters))


def test_failed_opening_is_reported_and_changes_nothing(lower: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        await pilot.press("f5", *"none", "enter")
        await settled(app, pilot)
        assert "there is no tokenizer" in screen_of(app)
        assert [pane.column.source for pane in app.panes if pane.column] == [lower]

    session(drive, lower, text="low", names=names_of(lower))


def test_encoding_steps_can_be_browsed(lower: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+end", "f2")
        await settled(app, pilot)
        assert "1 of 7" in screen_of(app)
        await pilot.press("right", "right")
        assert "rank 0  l + o" in screen_of(app)
        assert "lo + w" not in screen_of(app)
        await pilot.press("end")
        shown = screen_of(app)
        assert "7 of 7" in shown
        assert "rank 2  · + low" in shown
        assert "no merge joins" in shown
        await pilot.press("left", "f2")
        assert "rank 2  ·" not in screen_of(app)

    session(drive, lower, text="low lower")


def test_vocabulary_is_searched_and_a_token_inserted(lower: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        await pilot.press("f3", *"low")
        await settled(app, pilot)
        shown = screen_of(app)
        assert "2 tokens of" in shown
        assert "257  low" in shown
        assert "258  ·low" in shown
        await pilot.press("down")
        assert "└───2────┘" in screen_of(app) or "└──2──┘" in screen_of(app)
        await pilot.press("enter")
        await settled(app, pilot)
        assert app.editor.buffer.text == " lownew"

    session(drive, lower, text="new")


def test_search_without_result_lists_and_inserts_nothing(lower: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        for asked, said in (
            ("0xzz", "'0xzz' is not bytes in hexadecimal"),
            ("/low$", "0 tokens of lower; an expression ends with /"),
            ("", "Search the vocabulary of lower"),
        ):
            await pilot.press("f3", *"low")
            await settled(app, pilot)
            assert "258" in screen_of(app)
            await pilot.press("ctrl+u", *asked)
            await settled(app, pilot)
            assert said in screen_of(app)
            assert "258" not in screen_of(app)
            await pilot.press("enter", "escape")
            await settled(app, pilot)
            assert app.editor.buffer.text == ""

    session(drive, lower)


def test_ids_are_copied(lower: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        await pilot.press("f6")
        assert app.clipboard == "257 258 259"

    session(drive, lower, text="low lower")


def test_text_is_saved_as_a_case_for_check(
    lower: OpenTokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        await pilot.press("f7", "enter")
        await pilot.press("ctrl+end", "!", "f7", "enter")
        await settled(app, pilot)

    session(drive, lower, text="low\n日本 \x1b")
    lines = (tmp_path / "cases.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"text": "low\n日本 \x1b"}, {"text": "low\n日本 \x1b!"}]
    assert list(open_corpus(tmp_path / "cases.jsonl")) == ["low\n日本 \x1b", "low\n日本 \x1b!"]


def test_conversation_is_shown_with_its_loss_mask(chatty: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        await pilot.press("f4")
        await settled(app, pilot)
        shown = screen_of(app)
        assert "⟪<|im_start|>⟫" in shown
        assert "▔▔▔" in shown
        assert "learned" in shown
        await pilot.press("escape")
        assert "user: low" in screen_of(app)

    session(drive, chatty, text="user: low\nassistant: lower")


def test_missing_chat_template_is_reported(lower: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        await pilot.press("f4")
        await settled(app, pilot)
        assert "has no chat template" in screen_of(app)
        await pilot.press("f5")  # the session's keys do not work in the view
        assert "Open a tokenizer" not in screen_of(app)

    session(drive, lower, text="low")
