"""Each mistake gives one clear message and the documented exit code, and leaves nothing half-written."""

from __future__ import annotations

import dataclasses
import gzip
import os
import shutil
import threading
from pathlib import Path

import pytest

import tokbench

TEXT = "a text to train on, a text to train on\n"


@pytest.fixture
def files(tmp_path):
    """Write a good file, and files and folders that have something wrong."""
    contents = {
        "good.txt": TEXT.encode(),
        "empty.txt": b"",
        "mark only.txt": b"\xef\xbb\xbf",
        "latin1.txt": b"caf\xe9",
        "cut.txt": "Füße".encode()[:2],
        "surrogate.txt": b"a\xed\xa0\x80b",
        "utf16.txt": "text".encode("utf-16"),
        "program": b"\x7fELF\x02\0\0\0\xff\xfe",
        "programs/a.bin": b"\0\x01\x02",
        "hidden/.text.txt": b"text",
        "not json.jsonl": b'{"text": "one"}\n{"text": \n',
        "no field.jsonl": b'{"body": "one"}\n',
        "no text.jsonl": b'{"text": 7}\n',
        "not packed.gz": b"plain",
        "cut off.txt.gz": gzip.compress(TEXT.encode())[:20],
        "damaged.parquet": b"PAR1 and no more",
    }
    for name, data in contents.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "no files").mkdir()
    (tmp_path / "dangling.txt").symlink_to("nowhere")
    (tmp_path / "circle.txt").symlink_to("circle.txt")
    return tmp_path


def contents_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


# --- texts ------------------------------------------------------------------------------------

TEXTS = [
    ("zzz", "zzz does not exist", "no file or folder of that name"),
    ("god.txt", "god.txt does not exist", "did you mean good.txt?"),
    ("nowhere/a.txt", "nowhere/a.txt does not exist", "there is no folder nowhere"),
    ("good.txt/a.txt", "good.txt/a.txt does not exist", "good.txt is a file, not a folder"),
    ("*.nothing", "nothing matches *.nothing", "name a file with text"),
    ("empty.txt", "there is no text in empty.txt", "name a file with text"),
    ("mark only.txt", "there is no text", "with text"),
    ("no files", "no text files in no files/", "name a file with text"),
    ("hidden", "no text files in hidden/", "left out: 1 hidden"),
    ("programs", "no text files in programs/", "left out: 1 binary"),
    ("dangling.txt", "dangling.txt: a broken symbolic link", "it points to nowhere"),
    ("circle.txt", "circle.txt: a broken symbolic link", ""),
    ("latin1.txt", "latin1.txt: not UTF-8 at byte 3 (0xE9)", "--errors replace"),
    ("cut.txt", "cut.txt: not UTF-8 at byte 1 (0xC3)", "--errors replace"),
    ("surrogate.txt", "surrogate.txt: not UTF-8 at byte 1 (0xED)", "--errors replace"),
    ("utf16.txt", "it looks like UTF-16", "iconv -f UTF-16 -t UTF-8 utf16.txt"),
    ("program", "it looks like a binary file", "extract its text first"),
    ("not json.jsonl", "not json.jsonl:2: not JSON", "one JSON object per line"),
    ("no field.jsonl", "no field.jsonl:1: the record has no field 'text'", "--text-field"),
    ("no text.jsonl", "the field 'text' is a number", "--text-field"),
    ("not packed.gz", "not .gz data", "rename it if it is not compressed"),
    ("cut off.txt.gz", "cut off.txt.gz: its compressed data is cut off", "fetch or write the file again"),
    ("", "an empty path was named", "name a file or folder"),
]


@pytest.mark.parametrize(("name", "message", "hint"), TEXTS, ids=[name or "nothing" for name, *_ in TEXTS])
def test_texts_that_cannot_be_trained_on_are_refused(run, files, name, message, hint):
    before = contents_of(files)
    run("train", name).refused(1, message, hint)
    run("train", name, "--json", "--name", "x").refused(1, message, hint)
    if "there is no text" not in message:
        run("train", "good.txt", name).refused(1, message, hint)
    assert contents_of(files) == before


@pytest.mark.parametrize(
    "command",
    ["encode", "corpus", *(pytest.param(name, marks=pytest.mark.slow) for name in ("count", "viz"))],
)
@pytest.mark.parametrize(("name", "message"), [(name, message) for name, message, _ in TEXTS if name])
def test_texts_that_cannot_be_read_are_refused(run, files, command, name, message):
    if name in ("empty.txt", "mark only.txt") and command != "corpus":
        assert run(command, name).good().out
        return
    option = [] if command == "corpus" else ["--file"]
    done = run(command, name, *option)
    if name == "not json.jsonl" and command == "encode":
        assert done.out.count(b"\n") == 1  # the good record before it is written as soon as it is read
        done = dataclasses.replace(done, out=b"")
    done.refused(1, message)


def test_damaged_parquet_file_is_refused(run, files):
    pytest.importorskip("pyarrow")
    run("train", "damaged.parquet").refused(1, "damaged.parquet: cannot be read as Parquet")


def test_file_without_permission_is_refused(process, files):
    """Root may read every file, so as root the command runs as another user."""
    through = '"$@"'
    if os.geteuid() == 0:
        files.chmod(0o755)
        through = 'exec setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"'
        if process("--version", through=through).code != 0:
            pytest.skip("nobody else can run it here")
    (files / "good.txt").chmod(0)
    for arguments in (["train", "good.txt"], ["encode", "good.txt"], ["corpus", "good.txt"]):
        done = process(*arguments, through=through, env={"XDG_CACHE_HOME": "/dev/null"})
        done.refused(
            1, "good.txt: cannot be read (Permission denied)", "check its permissions: ls -ld good.txt"
        )


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that fails when it is read")
def test_file_that_fails_while_being_read_is_refused(run):
    for command in ("train", "encode"):
        run(command, "/proc/self/mem").refused(1, "/proc/self/mem", "cannot be read", "Input/output error")


def test_nul_bytes_are_valid_text(run, tmp_path):
    (tmp_path / "nul.txt").write_bytes(b"a\0b\0a\0b\0\r\n")
    data = run("train", "nul.txt", "--pattern", "none", "--json").good().json
    assert (data["bytes"], data["first_learned"][0]["bytes"]) == (10, "0062")
    ids = run("encode", "-t", data["directory"], "nul.txt").good().out
    assert run("decode", "-t", data["directory"], "-", stdin=ids).good().out == b"a\0b\0a\0b\0\r\n"


@pytest.mark.slow
def test_word_of_5_mb_is_trained_on_and_encoded(process, trained, tmp_path):
    if tokbench.load(trained).info.kernel == "python":
        pytest.skip("the Python kernel would take an hour")
    (tmp_path / "word.txt").write_bytes(b"ab" * 2_500_000)
    data = process("train", "word.txt", "--vocab-size", "260", "--json").good().json
    assert (data["bytes"], data["distinct_pretokens"], data["tokens"]) == (5_000_000, 1, 312_500)
    counted = process("count", "-t", data["directory"], "word.txt", "--json").good().json["total"]
    assert (counted["bytes"], counted["tokens"]) == (5_000_000, 312_500)


# --- options ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (["--pattern", "gpt5"], "there is no split pattern 'gpt5'", "did you mean gpt4 or gpt2? the named"),
        (["--pattern", "x"], "there is no split pattern 'x'", "the named patterns are gpt2, gpt4"),
        (["--pattern", "("], "does not compile: missing )", "the named patterns are gpt2, gpt4"),
        (["--pattern", "[a-"], "does not compile", "the named patterns are"),
        (["--pattern", ""], "the split pattern is empty", "the named patterns are"),
        (["--pattern", r"\w*"], "matches the empty string", "use + instead of *"),
        (["--pattern", "a|"], "matches the empty string", "use + instead of *"),
        (["--pattern", r"\w+"], "matches nothing at character", "every character must belong to a pre-token"),
        (["--pattern", r"[^☃]+"], "matches nothing at character", "every character must belong"),
        (["--special-token", ""], "a special token is empty", "give each one a text"),
        (["--special-token", "<a>", "--special-token", "<a>"], "'<a>' is given twice", "name each one once"),
        (
            ["--special-token", "<a>", "--special-token", "<<a>>"],
            "'<a>' is part of the special token '<<a>>'",
            "rename",
        ),
        (["--vocab-size", "255"], "a vocabulary of 255 is too small", "the smallest that works is 256"),
        (["--vocab-size", "-1"], "'-1' is not a number of tokens", "write at least 1, such as 32000"),
        (
            ["--vocab-size", "99999999999"],
            "a vocabulary of 99999999999 is too large",
            "at most 2,147,483,648",
        ),
        (["--min-frequency", "0"], "min_frequency is 0", "it must be at least 1"),
        (["--max-token-length", "0"], "max_token_length is 0", "it must be at least 1"),
        (["--threads", "0"], "threads is 0", "it must be at least 1"),
        (["--threads", "100000000000"], "threads is 100000000000", "it must be at most 65536"),
        (["--backend", "wordpiece", "--threads", "65537"], "threads is 65537", "from 1 to 65536"),
        (["--backend", "unigram", "--threads", "65537"], "threads is 65537", "from 1 to 65536"),
        (["--seed", "-1"], "seed is -1", "it must be at least 0"),
        (["--seed", str(2**63)], f"seed is {2**63}", f"it must be at most {2**63 - 1}"),
        (["--vocab-size", "9" * 19], f"'{'9' * 19}' is too large a number of tokens", "at most 18 digits"),
        (
            ["--backend", "word", "--min-frequency", "9" * 19],
            "min_frequency is 99999",
            f"at most {2**63 - 1}",
        ),
    ],
    ids=" ".join,
)
def test_invalid_options_are_refused(run, tmp_path, options, message, hint):
    (tmp_path / "snow.txt").write_text(TEXT + "snow: ☃\n", encoding="utf-8")
    before = contents_of(tmp_path)
    run("train", "snow.txt", *options).refused(2, message, hint)
    run("train", "snow.txt", *options, "--json", "--name", "x").refused(2, message, hint)
    assert contents_of(tmp_path) == before


def test_thread_limit_of_the_system_is_reported(run, tmp_path, monkeypatch):
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    (tmp_path / "good.txt").write_text(TEXT, encoding="utf-8")
    monkeypatch.setattr(threading.Thread, "start", start)
    run("train", "good.txt", "--vocab-size", "260").refused(
        1, "allows no more threads", "use fewer with --threads N"
    )


def test_unexpected_end_of_data_is_raised_as_other_unexpected_errors(run, tmp_path, monkeypatch):
    """Click would print "Aborted!" and nothing else."""

    def read(*_: object, **__: object) -> None:
        raise EOFError("Ran out of input")

    (tmp_path / "good.txt").write_text(TEXT, encoding="utf-8")
    monkeypatch.setattr("tokbench.cli.corpus_options.open_corpus", read)
    with pytest.raises(RuntimeError, match="EOFError: Ran out of input") as raised:
        run("train", "good.txt")
    assert isinstance(raised.value.__cause__, EOFError)


def test_text_that_the_pattern_does_not_cover_is_refused(run, tmp_path):
    (tmp_path / "good.txt").write_text(TEXT, encoding="utf-8")
    run("train", "good.txt", "--pattern", "[^☃]+", "--name", "mine").good()
    assert run("encode", "-t", "mine", "a text").good().out
    for command in ("encode", "count", "viz"):
        run(command, "-t", "mine", "a snowman ☃").refused(2, "matches nothing at character 10")


# --- saving -----------------------------------------------------------------------------------

# Python would silently truncate the bytecode that it writes, and fail on it the next time.
LIMITED = 'export PYTHONDONTWRITEBYTECODE=1; ulimit -f 32; "$@"'


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_file_size_limit_is_reported_and_changes_nothing(process, tmp_path):
    """A limit on file sizes fails in the middle of writing, as a full disk does."""
    process("train", "--vocab-size", "256", "--name", "mine").good()
    before = contents_of(tmp_path)
    for option in (["--name", "mine", "--force"], ["--name", "new"]):
        done = process("train", "--vocab-size", "5000", *option, through=LIMITED)
        done.refused(1, f"tokenizers/{option[1]} was not written", "nothing was changed")
        assert contents_of(tmp_path) == before


@pytest.mark.skipif(not shutil.which("unshare"), reason="needs Linux's unshare")
def test_full_disk_while_saving_changes_nothing(process, tmp_path):
    """The small disk is mounted for this process alone and disappears with it."""
    (tmp_path / "disk").mkdir()
    script = """
        mount -t tmpfs -o size=400k none disk 2>/dev/null && cd disk || exit 77
        "$@" train --vocab-size 300 --name mine --json >/dev/null || exit 78
        before=$(cat tokenizers/mine/* | cksum)
        "$@" train --vocab-size 9000 --name mine --force && exit 79
        "$@" train --vocab-size 9000 --name new && exit 80
        test "$before" = "$(cat tokenizers/mine/* | cksum)" || exit 81
        ls -A . tokenizers
        "$@" encode -t mine --text '~'
    """
    (tmp_path / "script").write_text(script, encoding="utf-8")
    alone = "unshare --mount" if os.geteuid() == 0 else "unshare --map-root-user --mount"
    done = process(through=f'{alone} sh ./script "$@"')
    if done.code in (1, 77):
        pytest.skip("a disk cannot be mounted here")
    assert done.code == 0, done.stderr
    assert done.stdout.split() == [".:", "tokenizers", "tokenizers:", "mine", "126"]
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert errors == [
        f"error: tokenizers/{name} was not written: no space left on the disk; nothing was changed"
        for name in ("mine", "new")
    ]
    assert "hint:  free some space, or name a folder on another disk with --out" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_built_in_tokenizer_works_without_a_writable_cache(process, tmp_path):
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = process("encode", "--text", "~", env=env, through=LIMITED).good()
    assert (done.out, done.stderr) == (b"126\n", "")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


# --- saved tokenizers -------------------------------------------------------------------------


@pytest.fixture
def saved(trained, tmp_path):
    """Copy the saved tokenizer, so that a test can damage it."""
    return Path(shutil.copytree(trained, tmp_path / "tokenizers" / "mine"))


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("merges.npy", lambda data: data[: len(data) // 3]),
        ("ranks.tiktoken", None),
        ("tokenizer.json", lambda data: data.replace(b"BPE", b"bpe", 1)),
        ("tokbench.json", lambda data: data[:-9]),
        ("tokbench.json", lambda data: data.replace(b'"pattern": "gpt4"', b'"pattern": "gpt2"')),
    ],
)
def test_damaged_tokenizer_is_refused(run, saved, name, damage):
    """Which damage is detected is tested in `unit/store` and `unit/backends`."""
    if damage is None:
        (saved / name).unlink()
    else:
        (saved / name).write_bytes(damage((saved / name).read_bytes()))
    for command in ("encode", "count", "viz"):
        run(command, "-t", "mine", "text").refused(1, f"tokenizers/mine/{name}: expected", "train again")


def test_damaged_tokenizer_is_not_overwritten(run, saved):
    (saved / "tokbench.json").write_bytes(b"{")
    before = contents_of(saved)
    run("train", "--vocab-size", "300", "--name", "mine").refused(1, "tokenizers/mine exists")
    done = run("train", "--vocab-size", "300", "--name", "mine", "--force")
    done.refused(1, "what is in it cannot be read", "delete it yourself")
    assert contents_of(saved) == before


def test_files_that_are_no_tokenizer_are_refused(run, files):
    for name in ("good.txt", "no files", "programs"):
        done = run("encode", "-t", name, "text")
        assert name in done.stderr
        done.refused(1)
    run("encode", "-t", "nobody", "text").refused(1, "there is no tokenizer 'nobody'", "default")


def test_relative_paths_start_from_the_current_folder(run, saved, tmp_path):
    run("encode", "-t", ".", "a").refused(1, ".: expected a folder with a tokenizer")
    run("encode", "-t", "..", "a").refused(1, "..: expected a folder with a tokenizer")
    run("encode", "-t", f"../{tmp_path.name}/tokenizers/{saved.name}", "a").good()
