"""Fixtures of the tests of `train`: a text to train on, and the command."""

from __future__ import annotations

import pytest
from support.texts import LOW_LOWER


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text.txt").write_text(LOW_LOWER, encoding="utf-8")
    return "text.txt"


@pytest.fixture
def train(run, text):
    """Return a function that trains on the text, or as its arguments say, and returns the JSON."""

    def train(*arguments, stdin=b""):
        return run("train", *(arguments or [text]), "--json", stdin=stdin).good().json

    return train
