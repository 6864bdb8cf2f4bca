"""Fixtures: tokenizers with a few merges, opened as the session opens them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.huggingface import added
from support.lint import byte_level
from support.model_folders import put

from tokbench.core.progress import no_progress
from tokbench.opening.request import OpenRequest
from tokbench.play.columns import OpenTokenizer
from tokbench.workbench.open import find_and_open

if TYPE_CHECKING:
    from pathlib import Path

MERGES = [("l", "o"), ("lo", "w"), (" ", "low"), ("e", "r"), ("n", "e"), ("ne", "w"), (" ", "new")]


def opened(folder: Path, name: str, *merges: tuple[str, str], **parts: Any) -> OpenTokenizer:
    """Open a byte-level BPE with these merges from a folder of that name."""
    put(folder / name, {"tokenizer.json": byte_level(*merges, **parts)})
    path = str(folder / name / "tokenizer.json")
    return OpenTokenizer(path, find_and_open(path, OpenRequest(), progress=no_progress))


@pytest.fixture(scope="session")
def lower(tmp_path_factory: pytest.TempPathFactory) -> OpenTokenizer:
    """A tokenizer that merges ` low`, `er` and ` new`."""
    return opened(tmp_path_factory.mktemp("lower"), "lower", *MERGES)


@pytest.fixture(scope="session")
def letters(tmp_path_factory: pytest.TempPathFactory) -> OpenTokenizer:
    """A tokenizer that merges only `er`."""
    return opened(tmp_path_factory.mktemp("letters"), "letters", ("e", "r"))


@pytest.fixture(scope="session")
def chatty(tmp_path_factory: pytest.TempPathFactory) -> OpenTokenizer:
    """The tokenizer `lower` with the control tokens of ChatML."""
    tokens = [added("<|im_start|>", 263), added("<|im_end|>", 264)]
    return opened(tmp_path_factory.mktemp("chatty"), "chatty", *MERGES, added_tokens=tokens)
