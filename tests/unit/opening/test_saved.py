"""Tests for the built-in tokenizer: it is kept once trained, and trained again if the kept one is damaged."""

from __future__ import annotations

import pytest

from tokbench.opening.saved import default_directory, default_tokenizer

TEXT = "The quick brown fox — 狐"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder of the default tokenizer in a temporary cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    default_tokenizer()
    return default_directory()


def cut(path):
    path.write_bytes(path.read_bytes()[:-20])


def truncate_to_nothing(path):
    path.write_bytes(b"")


def delete(path):
    path.unlink()


def replace_by_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("damage", [cut, truncate_to_nothing, delete, replace_by_folder])
@pytest.mark.parametrize(
    "name",
    [
        "tokbench.json",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("merges.npy", "tokenizer.json")),
    ],
)
def test_damaged_cache_is_rebuilt(kept, name, damage):
    whole, ids = (kept / name).read_bytes(), default_tokenizer().encode(TEXT)
    damage(kept / name)
    assert default_tokenizer().encode(TEXT) == ids
    assert (kept / name).read_bytes() == whole


def test_tokenizer_is_trained_again_without_a_writable_cache(tmp_path, monkeypatch, kept):
    ids = default_tokenizer().encode(TEXT)
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert default_tokenizer().encode(TEXT) == ids
