"""`tokbench play`: what it refuses, and a session in a terminal."""

from __future__ import annotations

import builtins

import pytest


def test_it_needs_a_terminal(run):
    run("play", "text").refused(2, "needs a terminal", "tokbench viz")


def test_a_missing_library_names_the_pip_command(run, monkeypatch):
    take = builtins.__import__

    def refuse(name, *rest, **options):
        if name.partition(".")[0] == "textual":
            raise ImportError(name)
        return take(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    run("play").refused(1, "the package textual", "pip install 'tokbench[play]'")


@pytest.mark.slow
def test_more_than_three_tokenizers_are_refused(terminal, trained):
    done = terminal("play", *(["-t", str(trained)] * 4))
    assert done.code == 2
    assert b"4 tokenizers do not fit side by side" in done.out
