"""Documents kept in memory: read once, unchanged, and never more than there is room for."""

from __future__ import annotations

import gzip
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from support.toys import Toy

from tokbench.corpus import Corpus, open_corpus
from tokbench.corpus import corpus as corpus_module
from tokbench.workbench.compare import compare
from tokbench.workbench.report import report
from tokbench.workbench.sweep import sweep

if TYPE_CHECKING:
    from pathlib import Path

LETTERS, PAIRS = Toy("a", "b", " ", "\n", name="letters"), Toy("a", "b", " ", "\n", "ab", name="pairs")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    for language in ("de", "en"):
        path = tmp_path / "parallel" / f"{language}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{'ab ' * (number % 7)}a{number % 3 * 'b'}\n" for number in range(300)))
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"ab a b\n" * 500))
    return open_corpus(tmp_path)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each file is opened for reading."""
    openings: Counter[str] = Counter()
    read = corpus_module.read_blocks

    def counting(file, **options):  # type: ignore[no-untyped-def]
        openings[file.name] += 1
        return read(file, **options)

    monkeypatch.setattr(corpus_module, "read_blocks", counting)
    return openings


def test_documents_in_memory_are_read_once_and_equal(corpus: Corpus, opened: Counter[str]) -> None:
    expected = list(corpus.documents())
    opened.clear()
    with corpus.in_memory():
        assert list(corpus.documents()) == expected
        with corpus.in_memory():
            assert list(corpus.documents()) == expected
        assert list(corpus.documents()) == expected
        assert set(opened.values()) == {1}
    assert list(corpus.documents()) == expected
    assert set(opened.values()) == {2}


def test_too_large_corpus_is_read_each_time(corpus: Corpus, opened: Counter[str]) -> None:
    expected = list(corpus.documents())
    size = sum(document.text.__sizeof__() for document in expected)
    opened.clear()
    with corpus.in_memory(most_bytes=size):  # too little for the objects around the texts
        for _ in range(3):
            assert list(corpus.documents()) == expected
    assert set(opened.values()) == {3}


def test_unfinished_pass_keeps_nothing_in_memory(corpus: Corpus, opened: Counter[str]) -> None:
    with corpus.in_memory():
        next(corpus.documents())
        assert len(list(corpus.documents())) == len(corpus.files)
    assert max(opened.values()) == 2


@pytest.mark.parametrize("command", ["compare", "compare, training", "report", "sweep"])
def test_evaluations_read_each_file_once(corpus: Corpus, opened: Counter[str], command: str) -> None:
    match command:
        case "compare":
            compare(corpus, tokenizers=[LETTERS, PAIRS], mix={"de": 1.0}, times=False, threads=1)
        case "compare, training":
            compare(corpus, backends=["bpe"], vocab_size=260, times=False, threads=1)
        case "report":
            report(corpus, tokenizer=PAIRS, times=False, threads=1)
        case "sweep":
            sweep(corpus, sizes=[256, 260], threads=1)
    assert dict(opened) == {file.name: 1 for file in corpus.files}
