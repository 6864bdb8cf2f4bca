"""A folder for the files of a corpus, and standard input."""

from __future__ import annotations

import io
import sys

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of its own to be in, so that paths in messages are short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def stdin(monkeypatch):
    def give(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give
