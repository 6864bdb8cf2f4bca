"""Tests for queries to the terminal, with a pseudo-terminal that the test answers for."""

from __future__ import annotations

import os
import sys
import threading
import time
from io import StringIO
from typing import TYPE_CHECKING

import pytest

from tokbench.errors import ConfigError
from tokbench.play import terminal

if TYPE_CHECKING:
    from collections.abc import Callable

pty = pytest.importorskip("pty")
ASKED = b"\x1b[c"
KNOWN = b"\x1b[?62;22c"


@pytest.mark.parametrize(
    ("colour", "expected"),
    [(b"ffff/ffff/ffff", True), (b"fd/f6/e3", True), (b"0000/0000/0000", False), (b"2/2/3", False)],
)
def test_light_and_dark_backgrounds_are_distinguished(colour: bytes, expected: bool) -> None:
    assert terminal.is_light(b"\x1b]11;rgb:" + colour + b"\x1b\\") is expected
    assert terminal.is_light(b"\x1b]11;rgba:" + colour + b"/ffff\x07" + KNOWN) is expected


@pytest.mark.parametrize("answer", [b"", KNOWN, b"\x1b]11;#ffffff\x07", b"\x1b]11;rgb:fffff/0/0\x07"])
def test_malformed_colour_is_unknown(answer: bytes) -> None:
    assert terminal.is_light(answer) is None


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """A function that plays a terminal's answer, complete or not, and returns whether the background is light."""

    def ask(answer: bytes, *, after_seconds: float = 0.0) -> bool:
        inside, outside = pty.openpty()
        before = os.dup(0)
        heard = bytearray()

        def play() -> None:
            while ASKED not in heard:
                heard.extend(os.read(inside, 100))
            time.sleep(after_seconds)
            os.write(inside, answer)

        playing = threading.Thread(target=play, daemon=True)
        playing.start()
        os.dup2(outside, 0)
        try:
            with monkeypatch.context() as patched, os.fdopen(outside, "wb", closefd=False) as screen:
                patched.setattr(sys, "stdout", screen)
                return terminal.has_light_background()
        finally:
            os.dup2(before, 0)
            playing.join()
            for descriptor in (inside, outside, before):
                os.close(descriptor)

    return ask


def test_terminal_is_queried_for_its_background(
    played: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLORFGBG", "15;0")
    assert played(b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\" + KNOWN)
    monkeypatch.setenv("COLORFGBG", "0;15")
    assert not played(b"\x1b]11;rgb:1000/1000/1000\x07" + KNOWN)


@pytest.mark.parametrize("answer", [KNOWN, b""])
def test_environment_decides_without_an_answer(
    played: Callable[..., bool], answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "_SECONDS", 0.1)
    monkeypatch.setenv("COLORFGBG", "0;15")
    assert played(answer)
    monkeypatch.delenv("COLORFGBG")
    assert not played(answer)


def test_late_answer_over_ssh_is_awaited(
    played: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLORFGBG", raising=False)
    monkeypatch.setattr(terminal, "_SECONDS", 0.05)
    light = b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\" + KNOWN
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 50000 10.0.0.2 22")
    assert played(light, after_seconds=0.3)
    monkeypatch.delenv("SSH_CONNECTION")
    assert not played(light, after_seconds=0.3)


def test_file_is_not_queried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORFGBG", "0;15")
    read, write = os.pipe()
    before = os.dup(0)
    os.dup2(read, 0)
    try:
        assert terminal.has_light_background()
    finally:
        os.dup2(before, 0)
        for descriptor in (read, write, before):
            os.close(descriptor)


def test_missing_keyboard_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "ctermid", lambda: "/no/terminal")
    with pytest.raises(ConfigError, match="no keyboard"):
        terminal.take_keyboard()


def test_bidi_mode_is_disabled_during_the_session_only() -> None:
    screen = StringIO()
    with pytest.raises(KeyError), terminal.characters_in_place(screen):
        assert screen.getvalue() == "\x1b[8l"
        raise KeyError
    assert screen.getvalue() == "\x1b[8l\x1b[8h"
