"""Progress in reading documents: in bytes of their text if that is known, otherwise of their files."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from support import kernels

from tokbench.corpus import open_corpus
from tokbench.evaluation import counting_pass
from tokbench.evaluation.holdout import hold_out
from tokbench.registry import get_backend
from tokbench.workbench.compare import compare
from tokbench.workbench.open import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.corpus import Corpus

ROWS = [f"row {number} of {number * number % 9973} words, which go on" for number in range(3000)]
TEXT = sum(map(len, ROWS))
FORMS = ["a.jsonl", "a.jsonl.gz", "a.parquet"]


class Told:
    """A callback that records its reports by phase."""

    def __init__(self) -> None:
        self.phases: dict[str, list[tuple[int, int | None]]] = {}

    def __call__(self, phase: str, done: int, total: int | None, unit: str) -> None:
        assert unit in ("bytes", "files", "merges", "pieces", "lines", "rounds")
        self.phases.setdefault(phase, []).append((done, total))

    def shares(self, phase: str) -> list[float]:
        """Return done / total of each report; assert that no total is missing and that progress never goes back."""
        told = [(done, total) for done, total in self.phases[phase] if (done, total) != (0, None)]
        assert {total for _, total in told} == {told[-1][1]}, told
        shares = [done / total for done, total in told if total is not None]
        assert len(shares) == len(told), told
        assert all(first <= second for first, second in pairwise(shares)), shares
        assert max(shares) <= 1
        return shares


def moves(shares: list[float]) -> bool:
    """Whether progress shows more than its beginning and its end."""
    return len({share for share in shares if 0.02 < share < 0.98}) > 2


@pytest.fixture(params=FORMS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return written(tmp_path / request.param)


def written(path: Path) -> Path:
    """Write the rows as records of a file."""
    if path.suffix == ".parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"text": ROWS, "other": list(range(len(ROWS)))}), path)
        return path
    data = "".join(json.dumps({"text": row}) + "\n" for row in ROWS).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return load("default")


@pytest.fixture
def frequent_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report after kilobytes, as for large texts after megabytes."""
    monkeypatch.setattr("tokbench.corpus.bytes.BLOCK_BYTES", 4096)
    monkeypatch.setattr(gzip, "READ_BUFFER_SIZE", 1024, raising=False)  # exists from Python 3.12 on
    monkeypatch.setattr("tokbench.libraries.sentencepiece.training._BLOCK_BYTES", 4096)
    monkeypatch.setattr("tokbench.core.training._BATCH_CHARACTERS", 4096)
    monkeypatch.setattr("tokbench.core.progress._SECONDS_BETWEEN_REPORTS", 0.0)
    monkeypatch.setattr("tokbench.backends.baseline.frequent._SECONDS_BETWEEN_REPORTS", 0.0)
    monkeypatch.setattr(counting_pass, "_BATCH_CHARACTERS", 4096)


@pytest.mark.parametrize("how", ["texts", "documents", "byte_sources"])
def test_position_in_all_files_advances_to_the_end(tmp_path: Path, frequent_reports: None, how: str) -> None:
    paths = [written(tmp_path / name) for name in FORMS]
    corpus = open_corpus(*paths)
    size = sum(path.stat().st_size for path in paths)
    assert corpus.files_read == (0, size)
    for _ in range(2):  # each reading starts at zero
        done = []
        for _ in read(corpus, how):
            assert corpus.files_read is not None
            place, total = corpus.files_read
            assert total == size
            done.append(place)
        assert done == sorted(done)
        assert done[0] < size / 10
        assert done[-1] == size
        assert len(set(done)) > 20


def read(corpus: Corpus, how: str) -> Iterator[Any]:
    """Yield everything that a way of reading gives."""
    match how:
        case "texts":
            yield from corpus
        case "documents":
            yield from corpus.documents()
        case _:
            yield from (block for source in corpus.byte_sources() for block in source.blocks or ())


def test_stream_has_no_position() -> None:
    assert open_corpus("-").files_read is None


@pytest.mark.parametrize("backend", ["bpe", "wordpiece", "word", "sentencepiece"])
def test_training_reports_progress_in_files_of_records(
    path: Path, frequent_reports: None, backend: str
) -> None:
    told = Told()
    chosen = get_backend(backend)
    chosen.train(open_corpus(path), chosen.config_type(vocab_size=400), progress=told)
    phase = "reading" if backend == "sentencepiece" else "counting"
    assert moves(told.shares(phase))
    assert {total for _, total in told.phases[phase]} == {path.stat().st_size}


def test_plain_files_and_records_share_one_total(tmp_path: Path, frequent_reports: None) -> None:
    """The kernel counts plain files in place and unpacks others; the one in Python reports each megabyte."""
    (tmp_path / "b.txt").write_text("\n".join(ROWS * 10), encoding="utf-8")
    corpus, told = open_corpus(written(tmp_path / "a.jsonl.gz"), tmp_path / "b.txt"), Told()
    backend = get_backend("bpe")
    with kernels.chosen("python"):
        backend.train(corpus, backend.config_type(vocab_size=300), progress=told)
    shares = told.shares("counting")
    first = corpus.files[0].size / corpus.num_bytes
    assert shares[0] < first
    assert shares[-1] == 1
    assert [share for share in shares if first < share < 1]
    assert told.phases["counting"][-1] == (corpus.num_bytes, corpus.num_bytes)


def test_split_knows_the_size_of_each_side(path: Path, tokenizer: Tokenizer, frequent_reports: None) -> None:
    told = Told()
    split = hold_out(open_corpus(path), progress=told)
    assert moves(told.shares("reading groups"))
    evaluation = counting_pass.evaluate(tokenizer, split.held_out, phase="held out", progress=told)
    assert told.phases["held out"][-1] == (evaluation.num_bytes, evaluation.num_bytes)
    chosen = get_backend("bpe")
    chosen.train(split.training, chosen.config_type(vocab_size=400), progress=told)
    assert moves(told.shares("counting"))
    assert told.phases["counting"][-1][1] == split.training_bytes == TEXT - evaluation.num_bytes


def test_only_the_first_evaluation_of_records_reports_file_progress(
    tmp_path: Path, tokenizer: Tokenizer, frequent_reports: None
) -> None:
    told, path = Told(), written(tmp_path / "a.parquet")
    compare(open_corpus(path), tokenizers=[tokenizer] * 2, times=False, threads=1, progress=told)
    first, second = (told.shares(f"evaluating {name}") for name in ("default", "default#2"))
    assert moves(first)
    assert moves(second)
    assert first[-1] == second[-1] == 1
    assert {told.phases[f"evaluating {name}"][0][1] for name in ("default", "default#2")} == {
        path.stat().st_size,
        TEXT,
    }
