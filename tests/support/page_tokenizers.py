"""Small tokenizers as `tokbench play --html` opens them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tokbench
from tokbench.core.progress import no_progress
from tokbench.core.tokens import SpecialPolicy
from tokbench.opening.request import OpenRequest
from tokbench.workbench.open import find_and_open

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from support.page_engine import Engine
    from tokbench.opening.request import Opened

TEXT = "the cat sat on the mat; 안녕하세요 the cat was fat, naïve and 1234\n" * 30


def opened(path: Path | str, **request: Any) -> Opened:
    return find_and_open(path, OpenRequest(**request), progress=no_progress)


def trained(folder: Path, **options: Any) -> Opened:
    """Train a tokenizer on a short text, save it to a folder, and open it."""
    tokbench.train([TEXT], vocab_size=options.pop("vocab_size", 320), **options).save(folder)
    return opened(folder)


def ranks(folder: Path) -> Opened:
    """Open the same tokenizer from tiktoken's ranks, which do not list the merges."""
    trained(folder / "saved")
    return opened(folder / "saved" / "ranks.tiktoken", pattern="gpt4", special_tokens={"<|end|>": None})


def assert_same_ids(engine: Engine, mine: Opened, texts: Sequence[str]) -> None:
    """Check that texts have the same ids on the page, where the tokenizer is "mine", with special tokens.

    The page encodes all of them in one call, because a call takes longer than encoding a short text.
    """
    for text, ids in zip(texts, engine.call("idsOf", "mine", list(texts), "encode"), strict=True):
        assert ids == mine.tokenizer.encode(text, special=SpecialPolicy.ENCODE), text
