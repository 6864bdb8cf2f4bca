"""Tests for the session, driven by Textual's pilot."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest
from support.play_sessions import screen_of, session, settled
from textual.events import Key, Paste

from tokbench.play import ordered_input
from tokbench.play.dialogs import HelpScreen

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from tokbench.play.app import PlayApp
    from tokbench.play.columns import OpenTokenizer


def test_tokens_appear_while_typing(lower: OpenTokenizer, letters: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        await pilot.press(*"low", "space", *"lower")
        await settled(app, pilot)
        assert app.editor.buffer.text == "low lower"
        for pane, tokenizer in zip(app.panes, (lower, letters), strict=True):
            assert pane.column is not None
            assert pane.column.ids.tolist() == tokenizer.tokenizer.encode("low lower")
        shown = screen_of(app)
        assert "3 tokens · 2 differ" in shown
        assert "8 tokens +166.7 % · 7 differ" in shown
        assert "low·lower" in shown

    session(drive, lower, letters)


def test_arrow_keys_select_tokens_and_show_their_details(
    lower: OpenTokenizer, letters: OpenTokenizer
) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        first, second = app.panes
        await pilot.press("tab", "right")
        await settled(app, pilot)
        assert (first.selected, second.selected) == (1, 3)
        assert app.editor.buffer.cursor == 3
        shown = screen_of(app)
        assert "·low  id 258 · rank 2  token 2 of 3, bytes 3-7" in shown
        assert "bytes   20 6c 6f 77" in shown
        assert "merges  ·  l  o  w" in shown
        assert "ends    no merge joins" in shown
        await pilot.press("end")
        assert first.selected == 2
        await pilot.press("p")
        assert first.selected == 1
        await pilot.press("tab")
        await settled(app, pilot)
        assert "of letters" in screen_of(app)  # the details shown are those of the focused column
        await pilot.press("n")
        assert (first.selected, second.selected) == (1, 4)

    session(drive, lower, letters, text="low lower")


def test_pasted_text_is_encoded_unchanged(lower: OpenTokenizer) -> None:
    pasted = "日本 \x1b[31m עברית\u202e\x0c\u2028 low\rnew"

    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        app.editor.post_message(Paste(pasted))
        await settled(app, pilot)
        text = pasted.replace("\r", "\n")
        assert app.editor.buffer.text == text
        [pane] = app.panes
        assert pane.column is not None
        assert pane.column.ids.tolist() == lower.tokenizer.encode(text)
        shown = screen_of(app)
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "␛[31m" in shown

    session(drive, lower)


def test_typed_text_is_encoded_unchanged(lower: OpenTokenizer) -> None:
    typed = "می\u200cخواهم\u3000日本\u00a0e\u0301 👩\u200d👩\u200f"  # joiners, spaces, marks of direction

    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        for character in typed:
            app.editor.post_message(Key("a", character))
        app.editor.post_message(Key("ctrl+a", "\x01"))
        app.editor.post_message(Key("ctrl+f12", None))
        await settled(app, pilot)
        assert app.editor.buffer.text == typed

    session(drive, lower)


def test_unpaired_surrogate_becomes_the_replacement_character(lower: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        app.editor.post_message(Paste("low \ud83d \ud83d\ude00"))
        await settled(app, pilot)
        assert app.editor.buffer.text == "low \ufffd \U0001f600"
        [pane] = app.panes
        assert pane.column is not None
        assert pane.column.ids.tolist() == lower.tokenizer.encode(app.editor.buffer.text)

    session(drive, lower)


def test_keys_show_help_and_toggle_the_theme(lower: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        await pilot.press("f1")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        assert not isinstance(app.screen, HelpScreen)
        assert app.current_theme.dark
        await pilot.press("f8")
        assert not app.current_theme.dark
        await pilot.press("f4", "f1")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("f1", "f4")
        assert len(app.screen_stack) == 1

    session(drive, lower, text="low")


def test_long_text_is_drawn_by_visible_rows_only(lower: OpenTokenizer) -> None:
    """Only a few blocks of 400,000 tokens are laid out, and the last token is reached at once."""

    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        [pane] = app.panes
        await pilot.press("tab", "end")
        await settled(app, pilot)
        assert pane.column is not None
        assert pane.selected == len(pane.column) - 1
        assert app.editor.buffer.cursor >= len(app.editor.buffer.text) - 5
        assert "token 400,000 of 400,000" in screen_of(app)

    session(drive, lower, text="low newer\n" * 100_000, size=(200, 50))


@pytest.mark.parametrize(
    "size",
    [(80, 24), *(pytest.param(size, marks=pytest.mark.slow) for size in [(40, 10), (24, 6), (200, 50)])],
)
def test_every_terminal_size_shows_text_and_tokens(
    lower: OpenTokenizer, letters: OpenTokenizer, size: tuple[int, int]
) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        shown = screen_of(app)
        assert "low lower" in shown
        assert "low·low" in shown
        assert ("low  id 257" in shown) == (size[1] > 8)
        for key in ("f1", "f3", "f5", "f7"):
            await pilot.press(key)
            assert len(app.screen_stack) == 2
            await pilot.press("escape")

    session(drive, lower, letters, text="low lower", size=size)


def test_tokens_have_separators_without_colours(
    lower: OpenTokenizer, letters: OpenTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        assert "low│·low│er" in screen_of(app)

    session(drive, lower, letters, text="low lower")


_CHARACTERS = {"enter": "\r"}


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each event wait for the one before it, however busy the machine is."""
    monkeypatch.setattr(ordered_input, "_LONGEST_SECONDS", 60.0)


async def _arrive_at_once(app: PlayApp, pilot: Pilot[None], *arriving: str | Paste) -> None:
    """Post keys as a slow connection delivers them: several before the app handles the first. Wait for their effect."""
    for each in arriving:
        is_key = isinstance(each, str)
        app.post_message(
            Key(each, _CHARACTERS.get(each, each if len(each) == 1 else None)) if is_key else each
        )
    await pilot.pause()
    async with asyncio.timeout(60):
        while app._arrived:
            await pilot.pause(0.01)
    await settled(app, pilot)


@pytest.mark.usefixtures("patient")
def test_keys_that_arrive_at_once_take_effect_in_order(lower: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        await _arrive_at_once(
            app, pilot, *"abc", "left", "left", "X", "end", "d", "ctrl+w", *"low", "backspace", "!"
        )
        assert app.editor.buffer.text == "lo!"
        await _arrive_at_once(app, pilot, "home", "tab", "right")
        assert app.panes[0].selected == 1

    session(drive, lower)


@pytest.mark.usefixtures("patient")
def test_keys_that_arrive_with_a_dialogs_key_go_into_the_dialog(lower: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        await _arrive_at_once(app, pilot, "a", "f3", *"xy", "ctrl+u", *"new", "escape", "b")
        assert app.editor.buffer.text == "ab"
        await _arrive_at_once(app, pilot, "f3", *"#258")
        await _arrive_at_once(app, pilot, "enter", "!")
        assert app.editor.buffer.text == "ab low!"

    session(drive, lower)


@pytest.mark.usefixtures("patient")
def test_paste_waits_for_the_keys_before_it(lower: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        await _arrive_at_once(app, pilot, *"ad", "left", Paste("bc"), "end", "e")
        assert app.editor.buffer.text == "abcde"

    session(drive, lower)


def test_key_that_takes_long_takes_effect_once(lower: OpenTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordered_input, "_LONGEST_SECONDS", 0.0)

    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        before = app.theme
        await _arrive_at_once(app, pilot, "f8", "left")
        assert app.theme != before
        await pilot.press(*"low")
        assert app.editor.buffer.text == "low"

    session(drive, lower)


@pytest.mark.usefixtures("patient")
def test_lines_that_arrive_at_once_are_inserted_together(lower: OpenTokenizer) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        await _arrive_at_once(app, pilot, *"low " * 500, "enter", *"new")
        assert app.editor.buffer.text == "low " * 500 + "\nnew"
        await pilot.press("ctrl+z")  # all but the first character, which did not wait
        assert app.editor.buffer.text == "l"

    session(drive, lower)


def test_signal_ends_the_session_with_its_number(lower: OpenTokenizer) -> None:
    ended = []

    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await pilot.pause(0.1)
        ended.append(app.return_code)

    session(drive, lower)
    assert ended == [128 + signal.SIGTERM]


def test_resumed_session_is_drawn_again(lower: OpenTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        monkeypatch.setattr(app, "refresh", lambda **options: drawn.append(options))
        app.app_resume_signal.publish(app)
        await pilot.pause()

    session(drive, lower)
    assert {"layout": True} in drawn
