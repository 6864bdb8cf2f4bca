"""Where output goes: stdout is data, stderr is messages; pipes, full disks, old locales, narrow terminals."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from rich.cells import cell_len
from support.huggingface import byte_level

FULL = Path("/dev/full")
POSIX = pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
EVERY_COMMAND = [
    ["train", "--preset", "tiny", "--name", "t", "--force"],
    ["train", "--special-token", "<|a|>", "--vocab-size", "60000", "--out", "a long name/" * 8 + "end"],
    ["decode", "72", "105"],
    ["count", "a text", "another one that is too long for the first column of a table in 80 columns"],
    ["viz", "A text: naïve café 👩‍👧 " * 8, "--ids"],
    ["viz", "-t", "default", "-t", "default", "--layout", "side-by-side", "Two and two are four. " * 5],
    ["corpus"],
    ["list"],
    ["backends"],
    ["doctor"],
]
"""Commands with laid-out output; `encode` prints one line per text, however long, and help is tested elsewhere."""


@pytest.mark.parametrize("arguments", EVERY_COMMAND, ids=" ".join)
def test_no_line_is_wider_than_columns(run, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "80")
    done = run(*arguments).good()
    assert max(map(cell_len, done.lines)) <= 80


@pytest.mark.parametrize("arguments", ["report -t default", "lint --list", "backends", "doctor", "corpus"])
def test_no_line_is_wider_than_40_columns(run, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "40")
    done = run(*arguments.split()).good()
    assert max(map(cell_len, done.lines)) <= 40


@pytest.mark.parametrize("arguments", [EVERY_COMMAND[1], EVERY_COMMAND[5]], ids=" ".join)
def test_no_line_is_wider_than_the_terminal(terminal, arguments):
    done = terminal(*arguments, columns=80).good()
    assert max(map(cell_len, done.lines)) <= 80
    assert "Traceback" not in done.stdout


HEADS_OF_COUNT = ("tokens", "bytes", "characters", "bytes/token")


@pytest.mark.parametrize("columns", ["10", "40"])
def test_narrow_output_loses_no_numbers(run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    words = run("count", "some text of forty characters, or nearly").good().stdout.split()
    assert [word for word in words if word in HEADS_OF_COUNT] == list(HEADS_OF_COUNT)
    assert words.count("40") == 2  # bytes and characters; columns without room are in tables below
    assert "682,961" in run("corpus").good().stdout


def test_invalid_columns_are_ignored(run, monkeypatch):
    for columns in ("0", "1", "5", "abc", "-3", ""):
        monkeypatch.setenv("COLUMNS", columns)
        assert "bytes/token" in run("count", "some text").good().stdout
        assert run("viz", "some text").good().stdout


def test_lines_in_a_file_are_not_wrapped_at_80_columns(run):
    assert max(map(len, run("backends").good().lines)) > 80
    assert not [line for line in run("list").good().stdout.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize(
    "arguments", [["encode"], ["encode", "--json"], ["viz"], ["viz", "--json"], ["count"]], ids=" ".join
)
def test_closed_pipe_of_the_reader_is_no_error(start, tmp_path, arguments):
    """`head -1` closes its input like this; the remaining output is more than a pipe holds."""
    (tmp_path / "long.txt").write_text("the quick brown fox " * 5000, encoding="utf-8")
    texts = ["a text"] * 1200 if "count" in arguments else ["long.txt"]
    with start(*arguments, *texts, folder=tmp_path, stdin=subprocess.DEVNULL) as running:
        assert running.stdout.read(10)
        running.stdout.close()
        err = running.stderr.read()
        running.wait(120)
    assert err.splitlines()[1:] == []  # the Python kernel warns that it is slow
    assert b"Error" not in err
    assert running.returncode == 141


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(
    "command",
    ["encode 72", "encode 72 --json", "count 72", "viz 72", "decode 72", "--help", "viz --help", "--version"],
)
def test_full_output_device_is_an_error(process, command):
    with FULL.open("wb") as full:
        done = process(*command.split(), stdout=full)
    done.refused(1, "standard output: No space left on device")


@POSIX
@pytest.mark.parametrize(
    ("command", "closed"),
    [
        ("decode 72", ">&-"),
        ("count 72", ">&-"),
        ("encode 72 --json", ">&-"),
        ("check -t default --min bytes_per_token=100", ">&-"),
        ("viz --help", ">&-"),
        ("encode 72 --json", "<&- >&-"),
    ],
)
def test_closed_stdout_is_an_error(process, command, closed):
    process(*command.split(), through=f'"$@" {closed}').refused(1, "standard output is closed")


@POSIX
@pytest.mark.parametrize(("closed", "code"), [("2>&-", 0), ("<&- 2>&-", 0), ("<&- >&- 2>&-", 1)])
def test_closed_stderr_is_ignored(process, closed, code):
    done = process("encode", "72", "--json", through=f'"$@" {closed}')
    assert (done.code, done.stderr) == (code, "")


@POSIX
@pytest.mark.parametrize("command", ["decode", "count", "train"])
def test_closed_stdin_is_reported(process, command):
    process(command, "-", through='"$@" <&-').refused(1, "standard input is closed")


TYPED = {
    "decode": "ids",
    "encode": "text",
    "chat": "conversations",
    **dict.fromkeys(("encode -", "viz", "count", "explain", "chunk", "train", "lint"), "text"),
}


@pytest.mark.parametrize("command", TYPED)
def test_input_that_is_typed_has_a_notice_of_how_to_end_it(terminal, command):
    words = command.split() if command in ("encode", "encode -") else [command, "-"]
    more = {"chunk": ["--max-tokens", "9"], "chat": ["--template", "chatml"]}.get(command, [])
    done = terminal(*words, *more, interrupt_at=b"ends it")
    assert f"reading {TYPED[command]} from stdin; Ctrl-D on a new line ends it\r\n" in done.stdout
    assert done.code == 130


@pytest.mark.parametrize("arguments", [("encode", "-"), ("decode", "-"), ("encode", "--text", "-")])
def test_piped_input_has_no_notice(run, arguments):
    assert run(*arguments, stdin=b"72").good().stderr == ""


def test_data_goes_to_stdout_and_messages_to_stderr(run, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("text", encoding="utf-8")
    (tmp_path / "folder" / "b.bin").write_bytes(b"\0")
    for command in ("encode", "count", "viz"):
        done = run(command, "folder", "--json").good()
        assert done.documents
        assert done.stderr == "note: left out of the folders: 1 binary\n"
    assert run("encode", "text").good().stderr == ""


def test_tokenizer_read_as_text_is_reported(run, tmp_path):
    (tmp_path / "tokenizer.json").write_bytes(byte_level())
    (tmp_path / "text.json").write_text('{"text": "a model", "models": {}}', encoding="utf-8")
    for command in ("report", "bench", "compare", "check"):
        limit = ["--max", "tokens_per_word=99"] * (command == "check")
        told = run(command, "tokenizer.json", "text.json", "-t", "tokenizer.json", *limit).good().stderr
        assert told.count("note: tokenizer.json is a tokenizer, and is read as text here; -t names one") == 1
        assert "text.json" not in told
    for command in ("encode", "count", "viz", "explain", "chunk"):
        options = ["--max-tokens", "9"] if command == "chunk" else ["--json"]
        told = run(command, "tokenizer.json", *options).good().stderr
        assert told.count("note: tokenizer.json is a tokenizer, and is read as text here; -t names one") == 1
        assert run(command, "tokenizer.json", "--file", *options).good().stderr == ""
        assert run(command, "text.json", *options).good().stderr == ""


def test_folder_of_a_tokenizer_read_as_text_is_reported(run, tmp_path):
    for folder in ("model", "corpus"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tokenizer.json").write_bytes(byte_level())
    (tmp_path / "corpus" / "a.txt").write_text("text", encoding="utf-8")
    told = run("report", "model", "corpus", "-t", "model").good().stderr
    assert (
        "note: model contains nothing but files of tokenizers, which are read as text here; -t names one"
        in told
    )
    assert "corpus" not in told


@pytest.mark.parametrize(
    "env",
    [
        {"LANG": "C", "LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii"},
    ],
    ids=["C", "ASCII", "POSIX"],
)
def test_output_does_not_depend_on_the_locale(process, run, env):
    text = "wörld 한국어 ✓"
    assert process("viz", text, "--ids", env=env).good().out == run("viz", text, "--ids").good().out
    assert process("decode", "-", env=env, stdin=run("encode", text).out).good().stdout == text


def test_file_names_need_not_be_utf8(process, tmp_path):
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt")).write_text("text", encoding="utf-8")
    except OSError:
        pytest.skip("this file system takes only UTF-8")
    assert "caf" in process("count", b"caf\xe9.txt").good().stdout
    process("count", b"th\xe9.txt").refused(1, r"th\udce9.txt does not exist")


def test_error_is_red_on_a_terminal_only(process, terminal):
    assert terminal("encode", "no.txt").stdout.startswith("\x1b[1;31merror:\x1b[0m no.txt does not exist")
    assert terminal("encode", "no.txt", env={"NO_COLOR": "1"}).stdout.startswith("error: no.txt")
    assert process("encode", "no.txt").stderr.startswith("error: no.txt")


def test_control_characters_in_a_message_are_escaped(run):
    done = run("encode", "a\x1b]0;title\x07\u202e.txt")
    done.refused(1, r"a\x1b]0;title\x07\u202e.txt does not exist")
    assert not {"\x1b", "\x07", "\u202e"} & set(done.stderr)
