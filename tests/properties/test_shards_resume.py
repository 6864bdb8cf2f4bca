"""A run that is killed goes on to the very bytes of one that was not, wherever the kill came."""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tokbench
from tokbench.errors import ConfigError, CorpusError, ModelFormatError, StoreError

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer

KILLED = 137
DIES = """if True:
    # Write shards, and die when the disk has been asked for something for the n-th time.
    import os, sys
    import tokbench
    from tokbench.shards import run

    folder, moment, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    run._BATCH_CHARACTERS = 500
    calls = 0

    def counted(function):
        def call(*arguments, **options):
            global calls
            calls += 1
            if calls == moment and how == "before":
                os._exit(137)
            result = function(*arguments, **options)
            if calls == moment:
                os._exit(137)
            return result
        return call

    from pathlib import Path
    os.fsync = counted(os.fsync)
    for name in ("replace", "unlink", "mkdir"):
        setattr(Path, name, counted(getattr(Path, name)))
    run.ShardFile.add = counted(run.ShardFile.add)
    tokenizer = tokbench.load(f"{folder}/tokenizer")
    corpus = tokbench.open_corpus(f"{folder}/corpus", documents="lines", errors="replace")
    resume = os.path.exists(f"{folder}/shards")
    tokbench.write_shards(
        tokenizer, corpus, f"{folder}/shards", eos=True, shard_tokens=700, resume=resume, threads=1
    )
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of several files, a tokenizer, and the shards of a run that nothing interrupted."""
    folder = tmp_path_factory.mktemp("resume")
    (folder / "corpus").mkdir()
    source = random.Random(5)
    for number in range(4):
        lines = ["wörd " * source.randrange(60) + str(source.random()) for _ in range(25)]
        name = folder / "corpus" / f"{number}{'.jsonl' if number == 2 else '.txt'}"
        if number == 2:
            lines = [json.dumps({"text": line}) for line in lines]
        name.write_text("\n".join([*lines, ""]), encoding="utf-8")
    (folder / "corpus" / "4.txt").write_bytes(b"bad \xe9\n" * 3)
    (folder / "corpus" / "5.txt").write_text("\n\n", encoding="utf-8")
    trained = tokbench.train(["wörd 0.123 " * 20], vocab_size=270, special_tokens=["<|endoftext|>"])
    trained.save(folder / "tokenizer")
    write(folder)
    (folder / "shards").rename(folder / "whole")
    return folder


def corpus_of(folder: Path, **options: Any) -> tokbench.Corpus:
    settings: dict[str, Any] = {"documents": "lines", "errors": "replace", **options}
    return tokbench.open_corpus(folder / "corpus", **settings)


def tokenizer_of(folder: Path) -> Tokenizer:
    return tokbench.load(folder / "tokenizer")


def write(folder: Path, **options: Any) -> Any:
    settings = {"eos": True, "shard_tokens": 700, **options}
    return tokbench.write_shards(tokenizer_of(folder), corpus_of(folder), folder / "shards", **settings)


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(place: Path) -> Path:
    """The same, with no shards yet."""
    shutil.rmtree(place / "shards", ignore_errors=True)
    return place


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(tokbench.__file__).parents[1])}


def dies(folder: Path, moment: int, how: str = "after") -> int:
    command = [sys.executable, "-W", "error", "-c", DIES, str(folder), str(moment), how]
    done = subprocess.run(command, env=environment(), capture_output=True, check=False, timeout=120)
    assert done.returncode in (0, KILLED), done.stderr.decode()
    return done.returncode


def test_the_corpus_fills_several_shards(place: Path) -> None:
    index = tokbench.open_shards(place / "whole").index
    assert len(index.shards) > 6
    assert [file.replaced_bytes for file in index.files] == [0, 0, 0, 0, 3, 0]


@pytest.mark.slow
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moments=st.lists(st.integers(1, 60), min_size=1, max_size=3), how=st.sampled_from(["before", "after"]))
def test_wherever_it_dies(folder: Path, moments: list[int], how: str) -> None:
    shutil.rmtree(folder / "shards", ignore_errors=True)
    for moment in moments:
        dies(folder, moment, how)
    write(folder, resume=True)
    assert files_of(folder / "shards") == files_of(folder / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("moment", [1, 2, 4, 7, 9])
def test_where_it_dies_in_the_second_shards(folder: Path, moment: int) -> None:
    assert dies(folder, 4 + moment) == KILLED
    with pytest.raises(StoreError, match="no finished shards"):
        tokbench.open_shards(folder / "shards")
    with pytest.raises(StoreError, match="interrupted"):
        write(folder)
    write(folder, resume=True)
    assert files_of(folder / "shards") == files_of(folder / "whole")
    assert tokbench.verify_shards(
        folder / "shards", tokenizer=tokenizer_of(folder), corpus=corpus_of(folder)
    ).passed


@pytest.mark.slow
def test_killed_at_random_moments(folder: Path, tmp_path: Path) -> None:
    """By a signal, with a real command, again and again until one comes to its end."""
    source = random.Random(11)
    (tmp_path / "corpus").mkdir()
    for number in range(6):
        lines = [str(source.random()) * source.randrange(1, 9) for _ in range(40_000)]
        (tmp_path / "corpus" / f"{number}.txt").write_text("\n".join(lines), encoding="utf-8")
    arguments = ["shards", "write", "corpus", "-t", str(folder / "tokenizer"), "--documents", "lines"]
    options = ["--append-eos", "--shard-tokens", "400000"]

    def run(out: str, *more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tokbench", *arguments, *options, "--out", out, *more]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=tmp_path, env=environment(), **pipes)  # type: ignore[call-overload,no-any-return]

    started = time.monotonic()
    with run("whole") as running:
        assert running.wait() == 0
    seconds = time.monotonic() - started
    for attempt in range(40):
        with run("shards", "--resume") as running:
            patience = None if attempt == 39 else source.uniform(0.3, 1.1) * seconds
            try:
                _, told = running.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                running.kill()
                continue
        assert running.returncode == 0, told.decode()
        break
    assert files_of(tmp_path / "shards") == files_of(tmp_path / "whole")


@pytest.mark.slow
def test_where_it_dies_before_the_index_is_there(folder: Path) -> None:
    last = bisect_left(range(99), 1, key=lambda moment: dies_anew(folder, moment) != KILLED) - 1
    assert any(dies_with_half_an_index(folder, moment) for moment in range(last, last - 9, -1))
    write(folder, resume=True)
    assert files_of(folder / "shards") == files_of(folder / "whole")


def dies_anew(folder: Path, moment: int) -> int:
    shutil.rmtree(folder / "shards", ignore_errors=True)
    return dies(folder, moment, "before")


def dies_with_half_an_index(folder: Path, moment: int) -> bool:
    assert dies_anew(folder, moment) == KILLED
    return bool(list((folder / "shards").glob(".index.json.tmp-*")))


# What is not resumed


@pytest.fixture
def interrupted(folder: Path) -> Path:
    assert dies(folder, 14) == KILLED
    return folder


@pytest.fixture
def halfway(folder: Path) -> Path:
    """A run of which four shards are whole."""
    assert dies(folder, 40) == KILLED
    assert (folder / "shards" / "shard-00003.npy").exists()
    return folder


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"shard_tokens": 800}, "--shard-tokens was 700, and is 800"),
        ({"eos": None}, r"what ends documents was <\|endoftext\|>, and is nothing"),
        ({"dtype": "uint32"}, "dtype was uint16, and is uint32"),
        ({"format": "bin"}, "format was npy, and is bin"),
        ({"special": tokbench.SpecialPolicy.RAISE}, "--special-policy was text, and is raise"),
    ],
)
def test_with_other_options(interrupted: Path, options: dict[str, Any], told: str) -> None:
    with pytest.raises(StoreError, match=told):
        write(interrupted, resume=True, **options)


def test_with_another_tokenizer_or_corpus(interrupted: Path, tmp_path: Path) -> None:
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
    with pytest.raises(CorpusError, match=r"more\.txt was not in the corpus before"):
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


def test_begun_anew_with_force(interrupted: Path) -> None:
    write(interrupted, overwrite=True)
    assert files_of(interrupted / "shards") == files_of(interrupted / "whole")


def test_a_recorded_shard_that_is_gone_is_written_again(interrupted: Path) -> None:
    (interrupted / "shards" / "shard-00001.npy").write_bytes(b"cut by a power failure")
    write(interrupted, resume=True)
    assert files_of(interrupted / "shards") == files_of(interrupted / "whole")


@pytest.mark.parametrize("change", ["cut", "torn", "empty"])
def test_a_journal_that_was_cut(interrupted: Path, change: str) -> None:
    path = interrupted / "shards" / "journal.jsonl"
    data = path.read_bytes()
    path.write_bytes({"cut": data[:-9], "torn": data + b'{"shard": {"fi', "empty": b""}[change])
    write(interrupted, resume=True)
    assert files_of(interrupted / "shards") == files_of(interrupted / "whole")


@pytest.mark.parametrize("line", [b"\xff\n", b"[]\n", b'{"shard": 1}\n', b'{"plan": {}}\n'])
@pytest.mark.parametrize("where", ["first", "last"])
def test_a_journal_that_is_damaged(interrupted: Path, line: bytes, where: str) -> None:
    path = interrupted / "shards" / "journal.jsonl"
    data = path.read_bytes()
    path.write_bytes(line + data if where == "first" else data + line)
    with pytest.raises(ModelFormatError):
        write(interrupted, resume=True)


@pytest.mark.parametrize("field", ["documents", "text_bytes", "replaced_bytes", "bytes"])
def test_a_journal_in_which_a_number_is_another(halfway: Path, field: str) -> None:
    path = halfway / "shards" / "journal.jsonl"
    plan, *lines = path.read_bytes().splitlines(keepends=True)
    number = next(number for number, line in enumerate(lines) if f'"{field}":'.encode() in line)
    lines[number] = re.sub(rb'("%s":)[0-9]+' % field.encode(), rb"\g<1>77", lines[number], count=1)
    path.write_bytes(b"".join([plan, *lines]))
    with pytest.raises(ModelFormatError, match="a line that was changed"):
        write(halfway, resume=True)


@pytest.mark.skipif(os.name == "nt", reason="makes links and pipes")
@pytest.mark.parametrize("kind", ["link", "pipe", "device"])
def test_a_journal_that_is_no_file_of_the_folder(folder: Path, tmp_path: Path, kind: str) -> None:
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


# What shards hold is looked at again


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["shard-00000.npy", "shard-00003.npy", "shard-00002.offsets.npy"])
def test_a_shard_that_was_changed_is_written_again(halfway: Path, name: str) -> None:
    flip(halfway / "shards" / name)
    write(halfway, resume=True)
    assert files_of(halfway / "shards") == files_of(halfway / "whole")


@pytest.mark.skipif(os.name == "nt", reason="makes a pipe")
def test_a_pipe_in_the_place_of_a_shard_is_not_waited_for(interrupted: Path) -> None:
    path = interrupted / "shards" / "shard-00000.offsets.npy"
    path.unlink()
    os.mkfifo(path)
    write(interrupted, resume=True)
    assert files_of(interrupted / "shards") == files_of(interrupted / "whole")


@pytest.mark.parametrize("name", ["shard-00000.npy", "shard-00002.offsets.npy"])
def test_a_finished_run_with_a_changed_shard_is_refused(folder: Path, name: str) -> None:
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
def test_a_corpus_named_by_another_path(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, is_finished: bool
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(place, folder, ignore=shutil.ignore_patterns("shards"))
    if is_finished:
        write(folder)
    else:
        assert dies(folder, 14) == KILLED
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
    else:  # to names that sort otherwise
        for number, path in enumerate(sorted((folder / "corpus").iterdir(), reverse=True)):
            path.rename(path.with_name(f"{number}-{path.name}"))
    resumed(folder, *paths)
    assert files_of(folder / "shards") == files_of(place / "whole")


@pytest.mark.parametrize("is_finished", [False, True])
def test_other_content_of_the_same_size_and_time(place: Path, tmp_path: Path, is_finished: bool) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(place, folder, ignore=shutil.ignore_patterns("shards"))
    if is_finished:
        write(folder)
    else:
        assert dies(folder, 14) == KILLED
    path = folder / "corpus" / "3.txt"
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"0.", b"1."))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(CorpusError, match=r"3\.txt has changed since"):
        write(folder, resume=True)


def test_two_processes_at_once(interrupted: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    with (interrupted / "shards" / "journal.jsonl").open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for options in ({"resume": True}, {"overwrite": True}):
            with pytest.raises(StoreError, match="another process"):
                write(interrupted, **options)


def test_a_full_disk_is_told_and_can_be_resumed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_stop_from_outside(folder: Path) -> None:
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


def test_both_at_once_mean_nothing(folder: Path) -> None:
    with pytest.raises(ConfigError):
        write(folder, resume=True, overwrite=True)
