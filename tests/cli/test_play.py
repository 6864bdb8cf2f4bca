"""`tokbench play`: its refusals, and a session in a terminal."""

from __future__ import annotations

import builtins
import signal

import pytest


def test_session_without_a_terminal_is_refused(run):
    run("play", "text").refused(2, "needs a terminal", "tokbench viz")


def test_missing_textual_package_is_named(run, monkeypatch):
    take = builtins.__import__

    def refuse(name, *rest, **options):
        if name.partition(".")[0] == "textual":
            raise ImportError(name)
        return take(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    run("play").refused(1, "the package textual", "pip install 'tokbench[play]'")


@pytest.mark.slow
def test_dumb_terminal_is_refused(terminal, trained):
    done = terminal("play", "-t", str(trained), env={"TERM": "dumb"})
    assert done.code == 2
    assert b"TERM is dumb" in done.out
    assert b"TERM=xterm-256color" in done.out


@pytest.mark.slow
def test_more_than_three_tokenizers_are_refused(terminal, trained):
    done = terminal("play", *(["-t", str(trained)] * 4))
    assert done.code == 2
    assert b"4 tokenizers do not fit side by side" in done.out


_LEFT_SCREEN, _CURSOR, _NO_MOUSE = b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l"
_READY = b"begins"
"""A word among the details of the selected token, which are drawn last."""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)])
def test_session_that_a_signal_ends_restores_the_terminal(terminal, trained, number, code):
    pytest.importorskip("textual", reason="pip install textual")
    done = terminal("play", "low", "-t", trained, "--theme", "dark", signals=[(_READY, number)])
    assert done.code == code
    for restored in (_LEFT_SCREEN, _CURSOR, _NO_MOUSE):
        assert restored in done.out
    assert done.out.rindex(_LEFT_SCREEN) > done.out.rindex(_READY)
    assert b"Traceback" not in done.out


@pytest.mark.slow
def test_suspended_session_is_drawn_again(terminal, trained):
    pytest.importorskip("textual", reason="pip install textual")
    signals = [(_READY, signal.SIGTSTP), (_LEFT_SCREEN, signal.SIGCONT), (_READY, signal.SIGTERM)]
    done = terminal("play", "low", "-t", trained, "--theme", "dark", signals=signals)
    assert done.code == -signal.SIGTERM
    assert done.out.count(_LEFT_SCREEN) == 2


# --- the page ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("full_proofs")
def test_page_is_written_and_its_check_reported(run, trained, tmp_path):
    pytest.importorskip("py_mini_racer", reason="pip install mini-racer")
    done = run("play", "--html", "page.html", "-t", trained, "some <text").good()
    written, tried = done.lines
    assert written.startswith("page.html  0.")
    assert tried.startswith("mine: the same ids on 3,")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "some &lt;text</textarea>" in page
    assert "Tokens of mine" in page


def test_tokenizer_without_a_page_encoder_is_refused_and_nothing_written(run, tmp_path):
    pytest.importorskip("py_mini_racer", reason="pip install mini-racer")
    run("train", "--backend", "char", "--vocab-size", "300", "--name", "letters").good()
    done = run("play", "--html", "page.html", "-t", "letters")
    done.refused(1, "the page cannot run 'letters'", "in the terminal runs every tokenizer")
    assert not (tmp_path / "page.html").exists()


def test_missing_javascript_engine_and_folder_as_page_are_refused(run, trained, tmp_path, monkeypatch):
    run("play", "--html", ".", "-t", trained).refused(2, "is a folder", "name the file to write")
    take = builtins.__import__

    def refuse(name, *rest, **options):
        if name == "py_mini_racer":
            raise ImportError(name)
        return take(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    run("play", "--html", "a.html", "-t", trained).refused(
        1, "the package mini-racer", "'tokbench[play-page]'"
    )
