"""Resumed runs: what they take over, what they write again, and what they refuse."""

from __future__ import annotations

import errno
import os
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from support.folders import files_of
from support.killed_runs import KILLED, corpus_of, run_until_killed, tokenizer_of, write

import tokbench
from tokbench.errors import ConfigError, CorpusError, ModelFormatError, StoreError
from tokbench.files.storage.folder_lock import LOCK_NAME

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"shard_tokens": 800}, "--shard-tokens was 700, and is 800"),
        ({"eos": None}, r"documents ended with <\|endoftext\|>, and now with nothing"),
        ({"dtype": "uint32"}, "dtype was uint16, and is uint32"),
        ({"format": "bin"}, "format was npy, and is bin"),
        ({"special": tokbench.SpecialPolicy.RAISE}, "--special-policy was text, and is raise"),
    ],
)
def test_resuming_with_other_options_is_refused(
    interrupted: Path, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(StoreError, match=told):
        write(interrupted, resume=True, **options)


def test_resuming_with_another_tokenizer_or_corpus_is_refused(interrupted: Path, tmp_path: Path) -> None:
    other = tokbench.train(["other"], vocab_size=258, special_tokens=["<|endoftext|>"])
    ours = tokenizer_of(interrupted)
    common = {"eos": True, "shard_tokens": 700, "resume": True}
    with pytest.raises(StoreError, match="is another one"):
        tokbench.write_shards(other, corpus_of(interrupted), interrupted / "shards", **common)
    with pytest.raises(StoreError, match="--documents was lines, and is file"):
        corpus = corpus_of(interrupted, documents="file")
        tokbench.write_shards(ours, corpus, interrupted / "shards", **common)
    with pytest.raises(CorpusError, match=r"1\.txt is no longer in the corpus"):
        paths = [path for path in (interrupted / "corpus").iterdir() if path.name != "1.txt"]
        corpus = tokbench.open_corpus(*paths, documents="lines", errors="replace")
        tokbench.write_shards(ours, corpus, interrupted / "shards", **common)
    (tmp_path / "more.txt").write_text("more", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"more\.txt is new in the corpus"):
        corpus = tokbench.open_corpus(
            interrupted / "corpus", tmp_path / "more.txt", documents="lines", errors="replace"
        )
        tokbench.write_shards(ours, corpus, interrupted / "shards", **common)
    path = interrupted / "corpus" / "0.txt"
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    try:
        with pytest.raises(CorpusError, match=r"0\.txt has changed since"):
            write(interrupted, resume=True)
    finally:
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    write(interrupted, resume=True)
    assert files_of(interrupted / "shards") == files_of(interrupted / "whole")


def test_overwrite_starts_again(interrupted: Path) -> None:
    write(interrupted, overwrite=True)
    assert files_of(interrupted / "shards") == files_of(interrupted / "whole")


def test_damaged_recorded_shard_is_written_again(interrupted: Path) -> None:
    (interrupted / "shards" / "shard-00001.npy").write_bytes(b"cut by a power failure")
    write(interrupted, resume=True)
    assert files_of(interrupted / "shards") == files_of(interrupted / "whole")


@pytest.mark.parametrize("change", ["cut", "torn", "empty"])
def test_truncated_journal_is_resumed(interrupted: Path, change: str) -> None:
    path = interrupted / "shards" / "journal.jsonl"
    data = path.read_bytes()
    path.write_bytes({"cut": data[:-9], "torn": data + b'{"shard": {"fi', "empty": b""}[change])
    write(interrupted, resume=True)
    assert files_of(interrupted / "shards") == files_of(interrupted / "whole")


@pytest.mark.parametrize("line", [b"\xff\n", b"[]\n", b'{"shard": 1}\n', b'{"plan": {}}\n'])
@pytest.mark.parametrize("where", ["first", "last"])
def test_malformed_journal_is_refused(interrupted: Path, line: bytes, where: str) -> None:
    path = interrupted / "shards" / "journal.jsonl"
    data = path.read_bytes()
    path.write_bytes(line + data if where == "first" else data + line)
    with pytest.raises(ModelFormatError):
        write(interrupted, resume=True)


@pytest.mark.parametrize("field", ["documents", "text_bytes", "replaced_bytes", "bytes"])
def test_changed_number_in_the_journal_is_refused(halfway: Path, field: str) -> None:
    path = halfway / "shards" / "journal.jsonl"
    plan, *lines = path.read_bytes().splitlines(keepends=True)
    number = next(number for number, line in enumerate(lines) if f'"{field}":'.encode() in line)
    lines[number] = re.sub(rb'("%s":)[0-9]+' % field.encode(), rb"\g<1>77", lines[number], count=1)
    path.write_bytes(b"".join([plan, *lines]))
    with pytest.raises(ModelFormatError, match="a line that was changed"):
        write(halfway, resume=True)


@pytest.mark.skipif(os.name == "nt", reason="makes links and pipes")
@pytest.mark.parametrize("kind", ["link", "pipe", "device"])
def test_link_or_special_file_as_journal_is_refused(folder: Path, tmp_path: Path, kind: str) -> None:
    (folder / "shards").mkdir()
    path = folder / "shards" / "journal.jsonl"
    other = tmp_path / "somebody's"
    other.write_text("text", encoding="utf-8")
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(other if kind == "link" else "/dev/zero")
    for options in ({"resume": True}, {"overwrite": True}):
        with pytest.raises(ModelFormatError, match="a file of this folder"):
            write(folder, **options)
    assert other.read_text(encoding="utf-8") == "text"


# The contents of shards are checked again


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["shard-00000.npy", "shard-00003.npy", "shard-00002.offsets.npy"])
def test_changed_shard_is_written_again(halfway: Path, name: str) -> None:
    flip(halfway / "shards" / name)
    write(halfway, resume=True)
    assert files_of(halfway / "shards") == files_of(halfway / "whole")


@pytest.mark.skipif(os.name == "nt", reason="makes a pipe")
def test_pipe_in_place_of_a_shard_does_not_block(interrupted: Path) -> None:
    path = interrupted / "shards" / "shard-00000.offsets.npy"
    path.unlink()
    os.mkfifo(path)
    write(interrupted, resume=True)
    assert files_of(interrupted / "shards") == files_of(interrupted / "whole")


@pytest.mark.parametrize("name", ["shard-00000.npy", "shard-00002.offsets.npy"])
def test_finished_run_with_a_changed_shard_is_refused(folder: Path, name: str) -> None:
    write(folder)
    write(folder, resume=True)
    flip(folder / "shards" / name)
    with pytest.raises(ModelFormatError, match=rf"{name}: expected the sha256") as told:
        write(folder, resume=True)
    assert "--force" in str(told.value.hint)


# The same files under other names


def resumed(folder: Path, *paths: str | Path) -> None:
    corpus = tokbench.open_corpus(*paths, documents="lines", errors="replace")
    tokbench.write_shards(
        tokenizer_of(folder), corpus, folder / "shards", eos=True, shard_tokens=700, resume=True
    )


@pytest.mark.parametrize("how", ["relative", "dotted", "pattern", "files", "moved", "renamed"])
@pytest.mark.parametrize("is_finished", [False, True])
def test_corpus_named_by_another_path_is_resumed(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, is_finished: bool
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(place, folder, ignore=shutil.ignore_patterns("shards"))
    if is_finished:
        write(folder)
    else:
        assert run_until_killed(folder, 14) == KILLED
    paths: list[str | Path] = [folder / "corpus"]
    if how == "relative":
        monkeypatch.chdir(folder)
        paths = ["corpus"]
    elif how == "dotted":
        monkeypatch.chdir(folder / "tokenizer")
        paths = ["../tokenizer/.././corpus"]
    elif how == "pattern":
        paths = [folder / "*" / "*.txt", folder / "corpus" / "*.jsonl"]
    elif how == "files":
        paths = sorted((folder / "corpus").iterdir(), reverse=True)
    elif how == "moved":
        paths = [(folder / "corpus").rename(tmp_path / "elsewhere")]
    else:  # to names that sort in another order
        for number, path in enumerate(sorted((folder / "corpus").iterdir(), reverse=True)):
            path.rename(path.with_name(f"{number}-{path.name}"))
    resumed(folder, *paths)
    assert files_of(folder / "shards") == files_of(place / "whole")


@pytest.mark.parametrize("is_finished", [False, True])
def test_changed_content_of_the_same_size_and_time_is_detected(
    place: Path, tmp_path: Path, is_finished: bool
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(place, folder, ignore=shutil.ignore_patterns("shards"))
    if is_finished:
        write(folder)
    else:
        assert run_until_killed(folder, 14) == KILLED
    path = folder / "corpus" / "3.txt"
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"0.", b"1."))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(CorpusError, match=r"3\.txt has changed since"):
        write(folder, resume=True)


def test_concurrent_process_is_refused(interrupted: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    with (interrupted / "shards" / LOCK_NAME).open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for options in ({"resume": True}, {"overwrite": True}):
            with pytest.raises(StoreError, match="another run is writing"):
                write(interrupted, **options)


def test_run_is_resumed_after_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 8:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="No space left on device") as told:
            write(folder)
    assert "--resume" in str(told.value.hint)
    assert not list((folder / "shards").glob("*.tmp"))
    write(folder, resume=True)
    assert files_of(folder / "shards") == files_of(folder / "whole")


def test_interrupted_run_is_resumed(folder: Path) -> None:
    def stop(phase: str, done: int, total: int | None, unit: str) -> None:
        if done:
            raise KeyboardInterrupt

    from tokbench.shards import run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_BATCH_CHARACTERS", 500)
        with pytest.raises(KeyboardInterrupt, match="--resume continues"):
            write(folder, progress=stop)
    write(folder, resume=True)
    assert files_of(folder / "shards") == files_of(folder / "whole")


def test_resume_with_overwrite_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError):
        write(folder, resume=True, overwrite=True)
