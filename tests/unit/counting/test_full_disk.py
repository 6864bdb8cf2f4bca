"""A full disk: the error says what to do, nothing is half-written, and counting continues once there is room."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tokbench.corpus import open_corpus
from tokbench.distributed.engines.open import InProcessEngine
from tokbench.errors import DistributedError, StoreError
from tokbench.workbench.count_words import count_words
from tokbench.workbench.train import train_and_save

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits as POSIX has them")


@contextmanager
def largest_file(num_bytes: int) -> Iterator[None]:
    """Limit the size of files, as a full disk does."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("".join(f"w{number * 7919:x} " for number in range(20_000)))
    return path


def test_counting_continues_after_a_full_disk(text: Path, tmp_path: Path) -> None:
    def count(out: str, *, resume: bool = False) -> bytes:
        result = count_words(
            open_corpus(text),
            out=str(tmp_path / out),
            options={},
            engine=InProcessEngine(threads=1),
            part_bytes=60_000,
            resume=resume,
        )
        assert result.index is not None
        return json.dumps(result.index.to_json()).encode()

    with (
        largest_file(20_000),
        pytest.raises(DistributedError, match="counted words were not written") as error,
    ):
        count("words")
    assert "TMPDIR" in str(error.value.hint) and "File too large" in error.value.message
    assert "the others are finished" in error.value.message
    assert list((tmp_path / "words").rglob(".*")) == []
    assert count("words", resume=True) == count("whole")


def test_full_disk_during_training_is_reported(text: Path, tmp_path: Path) -> None:
    pytest.importorskip("tokbench.native._bpe")
    with largest_file(20_000), pytest.raises(StoreError, match="counted words were not written") as error:
        train_and_save(open_corpus(text), options={}, directory=tmp_path / "t", memory=10**9)
    assert "TMPDIR" in str(error.value.hint) and error.value.message.endswith(": File too large")
    assert not (tmp_path / "t").exists()
