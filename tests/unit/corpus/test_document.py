"""The size limit of documents: a longer one is an error that names it, or is left out."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tokbench
from tokbench.corpus.document import TOO_LONG, Bound, bounded_blocks
from tokbench.corpus.text import Problems, documents_of
from tokbench.errors import ConfigError, CorpusError, TrainingError

PACK = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}

CASES = [
    # name, unit, text, bytes of the longest document, and the line where it begins
    ("a.txt", "file", "ééé é", 9, None),
    ("a.txt", "lines", "short\n\nééé é\nend", 9, 3),
    ("a.txt", "lines", "short\r\nééé é\r\n", 9, 2),
    ("a.txt", "lines", "short\nééé é", 9, 2),
    ("a.txt", "paragraphs", "one\n\nab\ncd\nef\n\nend", 8, 3),
    ("a.jsonl", "file", '{"text": ""}\n{"text": "a"}\n', 13, 2),
    ("a.jsonl", "file", '{"text": ""}\n\n{"text": "a"}', 13, 3),
]


def read(path: Path, *, most: int, how: str = "texts", **options: Any) -> tokbench.Corpus:
    """Read a corpus in one of the possible ways."""
    corpus = tokbench.open_corpus(path, max_document_bytes=most, **options)
    [file] = corpus.files
    match how:
        case "texts":
            list(corpus)
        case "documents":
            list(corpus.documents())
        case "texts_of":
            list(corpus.texts_of(file, Problems(), batch=10))
        case "byte_sources":
            for source in corpus.byte_sources():
                list(source.blocks or ())
        case "identity":
            corpus.identity()
    return corpus


@pytest.mark.parametrize("packed", PACK)
@pytest.mark.parametrize("how", ["texts", "documents", "texts_of", "byte_sources", "identity"])
@pytest.mark.parametrize("case", CASES)
def test_too_long_document_is_refused_by_name(tmp_path: Path, packed: str, how: str, case: Any) -> None:
    name, unit, text, longest, line = case
    path = tmp_path / f"{name}{packed}"
    path.write_bytes(PACK[packed](text.encode()))
    read(path, most=longest, how=how, documents=unit)
    is_plain = not packed and name == "a.txt"
    if is_plain and how in ("byte_sources", "identity")[: 1 + (unit == "file")] and unit != "paragraphs":
        read(path, most=longest - 1, how=how, documents=unit)  # no document is held whole
        return
    with pytest.raises(CorpusError) as told:
        read(path, most=longest - 1, how=how, documents=unit)
    place = str(path) if line is None else f"{path}:{line}"
    assert told.value.message == f"{place}: a document of more than {longest - 1} bytes"
    assert "--max-document-bytes" in str(told.value.hint)


@pytest.mark.parametrize("case", CASES[1:])
def test_too_long_document_can_be_skipped(tmp_path: Path, case: Any) -> None:
    name, unit, text, longest, _ = case
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    every = list(tokbench.open_corpus(path, documents=unit))
    corpus = tokbench.open_corpus(path, documents=unit, errors="skip", max_document_bytes=longest - 1)
    if len(every) == 1:
        with pytest.raises(CorpusError, match="is short enough"):
            list(corpus)
    else:
        assert list(corpus) == [text for text in every if text not in ("ééé é", "ab\ncd\nef")]
    assert (corpus.problems.skipped_documents, corpus.problems.long_documents) == (1, 1)
    assert "1 document longer than --max-document-bytes" in str(corpus.problems)


@given(
    text=st.text(st.sampled_from("aé \n\r"), max_size=60),
    size=st.integers(1, 9),
    most=st.integers(1, 12),
    unit=st.sampled_from(["file", "lines", "paragraphs"]),
)
def test_only_too_long_documents_are_skipped(text: str, size: int, most: int, unit: Any) -> None:
    # If a line is too long, it is unknown whether it is blank.
    assume(all(line.strip() or len(line) <= most for line in text.split("\n")))
    blocks = [text[start : start + size] for start in range(0, len(text), size)]
    kept = list(documents_of(blocks, unit, bound=Bound(most, "a.txt", "skip")))
    every = list(documents_of(blocks, unit))
    assert kept == [(n, text if len(text.encode()) <= most else TOO_LONG) for n, text in every]


@given(
    data=st.lists(st.sampled_from([b"a", b"bb", b"\n", b"\n\n", b"ccc\nd", b"e\r\n"]), max_size=12),
    most=st.integers(1, 6),
    lines=st.booleans(),
)
def test_blocks_pass_unchanged_while_documents_are_short(data: list[bytes], most: int, lines: bool) -> None:
    whole = b"".join(data)
    ended = whole.replace(b"\r\n", b"\n").split(b"\n")
    longest = max(map(len, ended)) if lines else len(whole)
    blocks = bounded_blocks(data, Bound(most, "a.txt", "strict"), lines=lines)
    if longest > most:
        with pytest.raises(CorpusError):
            list(blocks)
    else:
        assert list(blocks) == data


@pytest.mark.parametrize("packing", ["none", "snappy", "zstd"])
def test_too_long_parquet_row_is_refused_or_skipped(tmp_path: Path, packing: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    table = pyarrow.table({"text": ["a" * 90, "é" * 500, "b" * 90] * 3})
    parquet.write_table(table, path, compression=packing)
    assert len(list(tokbench.open_corpus(path, max_document_bytes=1000))) == 9
    with pytest.raises(CorpusError, match=r"a\.parquet:2: a document of more than 999 bytes"):
        list(tokbench.open_corpus(path, max_document_bytes=999))
    corpus = tokbench.open_corpus(path, max_document_bytes=999, errors="skip")
    assert len(list(corpus)) == 6
    assert corpus.problems == Problems(skipped_documents=3, long_documents=3)


@pytest.mark.slow
def test_parquet_rows_are_read_in_bounded_memory(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"text": ["a" * (4 << 20)] * 200}), path)
    before = pyarrow.total_allocated_bytes()
    texts = iter(tokbench.open_corpus(path))
    assert len(next(texts)) == 4 << 20
    assert pyarrow.total_allocated_bytes() - before < 40 << 20
    assert sum(1 for _ in texts) == 199


def test_limit_of_zero_bytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")
    with pytest.raises(ConfigError, match="max_document_bytes must be between 1 byte and 2 GiB, and is 0"):
        tokbench.open_corpus(tmp_path / "a.txt", max_document_bytes=0)


# The cost of hostile files

MEGABYTES = 1 << 20
BOMB = 200 * MEGABYTES
PEAK = """if True:
    import resource, sys
    import tokbench
    from tokbench.errors import CorpusError

    path, most, documents = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    corpus = tokbench.open_corpus(path, documents=documents, max_document_bytes=most)
    def texts():
        for text in corpus:
            pass
    def trained():
        tokbench.train(corpus, vocab_size=300)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for use in (texts, trained, corpus.fingerprint):
        try:
            use()
        except CorpusError as error:
            assert "a document of more than" in error.message, error.message
        else:
            raise AssertionError(use)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of a process as Linux gives it")
@pytest.mark.parametrize(
    ("name", "documents"),
    [("a.txt.gz", "file"), ("a.txt.gz", "lines"), ("a.txt.xz", "paragraphs"), ("a.jsonl.gz", "file")],
)
def test_huge_line_in_a_small_file_is_read_in_bounded_memory(
    tmp_path: Path, name: str, documents: str
) -> None:
    path = tmp_path / name
    with gzip.open(path, "wb", 1) if name.endswith("gz") else lzma.open(path, "wb", preset=0) as file:
        file.write(b'{"text": "' if "jsonl" in name else b"")
        for _ in range(BOMB // MEGABYTES):
            file.write(b"a" * MEGABYTES)
    environment = os.environ | {"PYTHONPATH": str(Path(tokbench.__file__).parents[1])}
    command = [sys.executable, "-c", PEAK, str(path), str(8 * MEGABYTES), documents]
    done = subprocess.run(command, env=environment, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    assert int(done.stdout) < 64 * MEGABYTES


def test_record_after_a_too_long_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    texts = ["a", "b" * 5_000_000, "c"]
    path.write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    corpus = tokbench.open_corpus(path, errors="skip", max_document_bytes=1000)
    assert [document.source for document in corpus.documents()] == [f"{path}:1", f"{path}:3"]


# Paths that are not files


@pytest.mark.skipif(os.name == "nt", reason="makes a pipe")
@pytest.mark.parametrize("name", ["pipe", "pipe.gz", "pipe.jsonl"])
def test_pipe_without_a_writer_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("tokbench.corpus.bytes._PIPE_SECONDS", 0.1)
    os.mkfifo(tmp_path / name)
    with pytest.raises(CorpusError, match="a pipe without a writer"):
        list(tokbench.open_corpus(tmp_path / name))
    with pytest.raises(CorpusError, match="no text files in"):
        tokbench.open_corpus(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="makes a pipe")
def test_file_replaced_by_a_pipe_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("text", encoding="utf-8")
    corpus = tokbench.open_corpus(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(CorpusError, match=r"a\.txt: it is a pipe now, not a file"):
        list(corpus)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux has this device")
@pytest.mark.parametrize("unit", ["file", "lines", "paragraphs"])
@pytest.mark.parametrize("how", ["texts", "documents", "texts_of", "byte_sources", "identity"])
def test_endless_device_is_refused(tmp_path: Path, how: str, unit: str) -> None:
    (tmp_path / "link.txt").symlink_to("/dev/zero")
    with pytest.raises(CorpusError, match=r"link\.txt(:1)?: a document of more than 1,000 bytes"):
        read(tmp_path / "link.txt", most=1000, how=how, documents=unit)


def test_kernel_overflow_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from tokbench.backends.bpe import training

    class Full:
        """A kernel with more words than its numbers can count."""

        def __init__(self) -> None:
            self._kernel = real()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._kernel, name)

        def train(self, *_: object, **__: object) -> None:
            raise ValueError("too many long pre-tokens")

    real = training.current_kernel
    monkeypatch.setattr(training, "current_kernel", Full)
    with pytest.raises(TrainingError, match="too large for the kernel: too many long pre-tokens"):
        tokbench.train(["some text"], vocab_size=300)
