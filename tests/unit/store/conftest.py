"""Fixtures: a saved tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.byte_tokenizer import ByteTokenizer

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder with a saved tokenizer, the only entry of its parent folder."""
    directory = tmp_path / "tokenizers" / "bytes"
    ByteTokenizer().save(directory)
    return directory
