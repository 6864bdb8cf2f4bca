"""Fixtures of the tests of corpora: a folder for files, and standard input."""

from __future__ import annotations

import io
import sys

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Change into an empty folder, so that paths in messages are short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def stdin(monkeypatch):
    def give(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return give
