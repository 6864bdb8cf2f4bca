"""Identifying documents while they are read: the same identity as a reading of its own, without a second reading."""

from __future__ import annotations

import gzip
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokbench
from tokbench.core.documents import ByteSource
from tokbench.corpus import Corpus
from tokbench.corpus.fingerprint import Fingerprint, Lines
from tokbench.corpus.identified import IdentifiedDocuments
from tokbench.errors import CorpusError
from tokbench.workbench.train import train_and_save

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokbench.core.documents import TextIdentity

TEXT = "one two\r\n\n \x1c\u3000\n  three\u00a0\nbe\rfore\n\u2028\n" + "word " * 20 + "\nlast line, 東京"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write files of every kind, including empty and blank ones."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name, data in {
        "a.txt": TEXT.encode(),
        "b.txt": b"\xef\xbb\xbf" + TEXT.encode(),
        "blank.txt": b" \n\n",
        "c.txt.gz": gzip.compress(TEXT.encode()),
        "d.jsonl": "\n".join(json.dumps({"text": text}) for text in (TEXT, "a line", "", " ")).encode(),
        "empty.txt": b"",
        "long.txt": b"a line of some bytes\n" * 60_000,
    }.items():
        (folder / name).write_bytes(data)
    return folder


def read_as_strings(documents: IdentifiedDocuments) -> None:
    assert list(documents)


def read_as_bytes(documents: IdentifiedDocuments) -> None:
    for source in documents.byte_sources():
        assert source.path is None
        assert source.blocks is not None
        assert b"".join(source.blocks) or source.name


def refuse_identification(*_: Any) -> TextIdentity:
    raise AssertionError("read once more")


@pytest.mark.parametrize("read", [read_as_strings, read_as_bytes])
@pytest.mark.parametrize("unit", ["file", "lines", "paragraphs"])
def test_identity_equals_that_of_the_corpus(
    folder: Path, monkeypatch: pytest.MonkeyPatch, unit: Any, read: Any
) -> None:
    expected = tokbench.open_corpus(folder, documents=unit).identity()
    documents = IdentifiedDocuments(tokbench.open_corpus(folder, documents=unit))
    monkeypatch.setattr(Corpus, "identity", refuse_identification)
    read(documents)
    assert documents.identity() == expected


class Blocks:
    """Byte sources with blocks cut anywhere."""

    num_bytes = 0

    def __init__(self, sources: list[tuple[str, list[bytes]]]) -> None:
        self._sources = sources

    def __iter__(self) -> Iterator[str]:
        raise NotImplementedError

    def identity(self) -> TextIdentity:
        return refuse_identification()

    def byte_sources(self) -> Iterator[ByteSource]:
        return (ByteSource("made", None, blocks, unit) for unit, blocks in self._sources)


def documents_of(unit: str, text: str) -> list[str]:
    """Split a text into documents by the definition."""
    if unit == "file":
        return [text] if text else []
    return [line.removesuffix("\r") for line in text.split("\n") if line and not line.isspace()]


awkward = st.text("ab \n\r\u3000é\x1c", max_size=40)


@given(
    texts=st.lists(st.tuples(st.sampled_from(["file", "lines"]), awkward), max_size=3), size=st.integers(1, 9)
)
def test_identity_does_not_depend_on_block_boundaries(texts: list[tuple[str, str]], size: int) -> None:
    sources = []
    fingerprint, lines = Fingerprint(), Lines()
    for unit, text in texts:
        data = text.encode()
        sources.append((unit, [data[start : start + size] for start in range(0, len(data), size)]))
        for document in documents_of(unit, text):
            fingerprint.update(document)
            lines.update(document)
    documents = IdentifiedDocuments(Blocks(sources))
    for source in documents.byte_sources():
        list(source.blocks or ())
    identity = documents.identity()
    assert (identity.fingerprint, identity.lines) == (fingerprint.hexdigest(), lines.identity())


@pytest.mark.parametrize(
    ("backend", "options"),
    [
        ("bpe", {"vocab_size": 280}),
        ("bpe", {"vocab_size": 280, "pattern": r"\w+|\W"}),
        ("char", {}),
        ("wordpiece", {"vocab_size": 60}),
        ("unigram", {"vocab_size": 300}),
    ],
)
def test_training_and_saving_reads_the_text_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, options: dict[str, Any]
) -> None:
    (tmp_path / "a.txt").write_text("some words and some more words\n" * 30, encoding="utf-8")
    expected = tokbench.open_corpus(tmp_path / "a.txt").fingerprint()
    corpus = tokbench.open_corpus(tmp_path / "a.txt")
    monkeypatch.setattr(Corpus, "identity", refuse_identification)
    result = train_and_save(corpus, backend=backend, options=options, directory=tmp_path / "mine")
    assert result.fingerprint == expected


def test_invalid_utf8_is_reported_with_its_offset(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"some words\n" * 100_000 + b"bad \xe9\n" + b"more\n" * 400_000)
    for unit in ("file", "lines"):
        corpus: Any = IdentifiedDocuments(tokbench.open_corpus(tmp_path / "a.txt", documents=unit))
        with pytest.raises(CorpusError, match=r"a\.txt.*not UTF-8 at byte 1100004 \(0xE9\)"):
            tokbench.train(corpus, vocab_size=300)


def test_position_within_a_file_is_known(folder: Path) -> None:
    documents = IdentifiedDocuments(tokbench.open_corpus(folder / "long.txt"))
    seen = [documents.files_read for source in documents.byte_sources() for _ in source.blocks or ()]
    size = (folder / "long.txt").stat().st_size
    assert seen == [(1 << 20, size), (size, size)]


def test_file_that_becomes_shorter_while_it_is_read_is_refused(folder: Path) -> None:
    documents = IdentifiedDocuments(tokbench.open_corpus(folder / "long.txt"))
    [source] = documents.byte_sources()
    blocks = iter(source.blocks or ())
    next(blocks)
    os.truncate(folder / "long.txt", 1 << 20)
    with pytest.raises(CorpusError, match=r"long\.txt changed while it was read: it is shorter now"):
        list(blocks)
