"""Tests for long texts: the visible part is encoded first, and no key press waits for the rest."""

from __future__ import annotations

import threading
import time
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.play_sessions import screen_of, session, settled
from textual.events import Paste

from tokbench.core.tokens import SpecialPolicy
from tokbench.play import app as app_module
from tokbench.play import text_rows
from tokbench.play.columns import encode_columns
from tokbench.play.text_rows import LONG, part_round

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.pilot import Pilot

    from tokbench.play.app import PlayApp
    from tokbench.play.columns import Column, OpenTokenizer

LINES = 50_000
TEXT = "low newer\n" * LINES
PATIENCE = 60.0


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """An event that blocks the encoding of whole long texts until it is set."""
    opened = threading.Event()

    def encode(tokenizers: Any, text: Any, **options: Any) -> Any:
        if isinstance(text, str) and len(text) >= LONG:
            assert opened.wait(PATIENCE)
        return encode_columns(tokenizers, text, **options)

    monkeypatch.setattr(app_module, "encode_columns", encode)
    yield opened
    opened.set()


async def until(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, "never so"
        await pilot.pause(0.01)


def test_visible_part_is_drawn_before_everything_is_encoded(
    lower: OpenTokenizer, letters: OpenTokenizer, gate: threading.Event
) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        app.editor.post_message(Paste(TEXT))
        await until(pilot, lambda: "low·newer⏎" in screen_of(app))
        assert "500,000 characters · encoding" in screen_of(app)
        assert "lower  …" in screen_of(app)
        await pilot.press(*"end")
        await until(pilot, lambda: screen_of(app).count(" end ") == 3)
        await pilot.press("ctrl+home", "x", "y")
        await until(pilot, lambda: "xy" in screen_of(app) and "xylow·newer⏎" in screen_of(app))
        await pilot.press("f6")
        await until(pilot, lambda: "is still being encoded" in screen_of(app))
        gate.set()
        await settled(app, pilot)
        for pane, tokenizer in zip(app.panes, (lower, letters), strict=True):
            assert pane.column is not None
            assert pane.column.part.is_whole
            assert pane.column.ids.tolist() == tokenizer.tokenizer.encode(f"xy{TEXT}end")
        assert "500,005 characters · 500,005 bytes" in screen_of(app)

    session(drive, lower, letters)


def test_arrow_keys_select_tokens_of_a_part(
    lower: OpenTokenizer, letters: OpenTokenizer, gate: threading.Event
) -> None:
    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        pane, other = app.panes
        app.editor.post_message(Paste(TEXT))
        await until(pilot, lambda: pane.column is not None and not pane.column.part.is_whole)
        await pilot.press("ctrl+end", "up")
        await until(pilot, lambda: pane.column is not None and pane.column.part.holds(len(TEXT) - 10))
        await pilot.press("tab", "right")
        assert app.editor.buffer.cursor == len(TEXT) - 10 + 3
        assert other.column is not None
        assert other.column.part.byte + int(other.column.starts[other.selected]) == len(TEXT) - 10 + 3
        await pilot.press("left")
        assert app.editor.buffer.cursor == len(TEXT) - 10
        gate.set()
        await settled(app, pilot)
        assert pane.selected == 4 * (LINES - 1)
        assert app.editor.buffer.cursor == len(TEXT) - 10

    session(drive, lower, letters)


def test_late_result_of_an_older_text_is_discarded(
    lower: OpenTokenizer, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(app_module, "PAUSE_SECONDS", 0.0)

    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        [pane] = app.panes
        lay = app._fill_columns

        def noted(columns: list[Column]) -> None:
            shown.extend(column.part.text for column in columns if column.part.is_whole)
            lay(columns)

        monkeypatch.setattr(app, "_fill_columns", noted)
        app.editor.post_message(Paste(TEXT))
        await until(pilot, lambda: pane.column is not None and not pane.column.part.is_whole)
        await pilot.press("x")
        gate.set()
        await settled(app, pilot)

    session(drive, lower)
    assert shown == [f"{TEXT}x"]


@given(
    text=st.text(st.sampled_from("a é\n日"), max_size=200),
    place=st.integers(0, 200),
    sizes=st.tuples(st.integers(0, 30), st.integers(1, 30), st.integers(0, 10)),
)
def test_part_surrounds_the_cursor_and_knows_its_offset(
    text: str, place: int, sizes: tuple[int, int, int]
) -> None:
    cursor = min(place, len(text))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text_rows, "LONG", 0)
        for name, size in zip(("_BEFORE", "_AFTER", "_REACH"), sizes, strict=True):
            patched.setattr(text_rows, name, size)
        part = part_round(text, cursor)
    assert part.holds(cursor)
    assert text[part.character :].startswith(part.text)
    assert part.byte == len(text[: part.character].encode())
    assert cursor - part.character <= sizes[0] + sizes[2]
    assert part.character + len(part.text) - cursor <= sizes[1] + sizes[2]


@pytest.mark.slow
@pytest.mark.quiet
def test_a_paste_of_five_megabytes_is_drawn_at_once(lower: OpenTokenizer, letters: OpenTokenizer) -> None:
    """The tokens of a typed character are shown within a second, several times the usual time."""
    text = "low newer 日本 étude\n" * 200_000

    async def drive(app: PlayApp, pilot: Pilot[None]) -> None:
        app.editor.post_message(Paste(text))
        await until(pilot, lambda: "low·newer" in screen_of(app))
        waits = []
        for count in range(1, 9):
            began = time.perf_counter()
            await pilot.press("x")
            await until(pilot, lambda drawn=f" {'x' * count} ": screen_of(app).count(drawn) >= 4)
            waits.append(time.perf_counter() - began)
        assert median(waits) < 1.0, waits
        await settled(app, pilot)
        assert app.panes[0].column is not None
        assert app.panes[0].column.ids.tolist() == lower.tokenizer.encode(f"{text}xxxxxxxx")

    session(drive, lower, letters, lower)


def test_part_counts_from_its_offset(lower: OpenTokenizer) -> None:
    part = part_round(TEXT, 300_000)
    [column] = encode_columns([lower], part, special=SpecialPolicy.TEXT)
    assert column.ids.tolist() == lower.tokenizer.encode(part.text)
    assert column.character_at(10) == part.character + 10
