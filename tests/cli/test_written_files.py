"""No run loses a file: none overwrites a file that it reads, or writes two results to one file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

TALK = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}]}


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "notes.txt").write_text("some notes\n")
    (tmp_path / "talk.json").write_text(json.dumps(TALK))
    (tmp_path / "again.txt").symlink_to("notes.txt")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "count notes.txt --out notes.txt",
        "count notes.txt --json --out ./notes.txt",
        "count notes.txt --out again.txt",
        "encode notes.jsonl --out notes.jsonl",
        "viz notes.txt --html notes.txt",
        "viz notes.txt --svg notes.txt",
        "compare -t default notes.txt --no-times --html notes.txt",
        "report notes.txt --plot notes.svg --plot notes.txt",
        "inspect default --corpus notes.txt --out notes.txt",
        "check -t default notes.txt --baseline talk.json --junit talk.json",
        "lint notes.txt --sarif notes.txt",
        "lint notes.txt --verdicts notes.txt",
        "chat talk.json --npz talk.json",
        "chat talk.json --html talk.json",
        "play notes.txt --html notes.txt",
    ],
)
def test_input_file_is_not_overwritten(run, texts, command):
    (texts / "notes.jsonl").write_text('{"text": "some notes"}\n')
    before = {path: path.read_bytes() for path in texts.iterdir()}
    run(*command.split()).refused(2, "would write over", "which is read", "name another file")
    assert {path: path.read_bytes() for path in texts.iterdir()} == before


@pytest.mark.parametrize(
    "command",
    [
        "compare -t default no.txt --html {}",
        "report no.txt --plot {}",
        "check -t default no.txt --min unk_rate=0 --junit {}",
        "count no.txt --json --out {}",
        "lint no.txt --sarif {}",
    ],
)
def test_file_that_cannot_be_written_is_refused_before_any_work(run, texts, monkeypatch, command):
    refused = run(*command.format("notes.txt/result.svg").split())
    refused.refused(1, "notes.txt/result.svg cannot be written: notes.txt is a file", "name another file")
    monkeypatch.setattr("os.access", lambda path, _: Path(path) != texts)
    refused = run(*command.format("new/result.svg").split())
    refused.refused(1, f"new/result.svg cannot be written: no permission to write to {texts}", "another")
    assert not (texts / "new").exists()


def test_devices_and_urls_are_not_checked(run, texts, monkeypatch):
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK | os.X_OK)
    run("count", "notes.txt", "--json", "--out", "/dev/null").good()
    run("shards", "write", "notes.txt", "--out", "s3://shards").refused(2, "is written in parts")


IN_PARTS = [
    "count-words notes.txt --workers 2 --out",
    "count-words notes.txt --part 1/2 --out",
    "shards write -t default notes.txt --engine local --out",
    "compare -t default notes.txt --no-times --engine local --parts",
    "compare -t default notes.txt --no-times --part 1/2 --parts",
]


@pytest.mark.parametrize(
    "command",
    [
        "train notes.txt --vocab-size 300 --out",
        "train notes.txt --vocab-size 300 --force --out",
        "viz -t default notes.txt --svg",
        "count -t default notes.txt --json --out",
        "compare -t default notes.txt --no-times --html",
        "prune default --size 1000 --out",
    ],
)
@pytest.mark.parametrize("scheme", ["s3", "memory", "file"])
def test_url_is_refused_where_only_files_are_written(run, texts, command, scheme):
    refused = run(*command.split(), f"{scheme}://bucket/out.svg")
    refused.refused(
        1, f"{scheme}://bucket/out.svg cannot be written: this command writes to files of", "path"
    )
    assert not (texts / f"{scheme}:").exists()


def test_folder_that_is_named_like_a_scheme_is_written(run, texts):
    (texts / "s3:").mkdir()
    run("viz", "-t", "default", "notes.txt", "--svg", "s3:/a.svg").good()
    assert (texts / "s3:" / "a.svg").exists()


@pytest.mark.parametrize("command", [*IN_PARTS, "count-words notes.txt --out", "merge-words words --out"])
def test_url_that_can_only_be_read_is_refused_as_output(run, texts, command):
    pytest.importorskip("pyarrow", reason="the package pyarrow is not installed")
    refused = run(*command.split(), "http://127.0.0.1/words")
    refused.refused(1, "http://127.0.0.1/words cannot be written: http:// URLs are only read", "s3://bucket")


@pytest.mark.parametrize(
    "command",
    [
        *IN_PARTS,
        "count-words notes.txt --out",
        "merge-words words --out",
        "compare -t default notes.txt --no-times --parts",
    ],
)
def test_memory_of_this_process_is_refused_as_output(run, texts, command):
    pytest.importorskip("pyarrow", reason="the package pyarrow is not installed")
    refused = run(*command.split(), "memory://words")
    refused.refused(1, "memory://words is in the memory of this process alone", "s3://bucket")


@pytest.mark.parametrize(
    "command",
    [
        "convert --to tokbin --out -",
        "prune default --size 1000 --out -",
        "viz notes.txt --html -",
        "compare -t default notes.txt --no-times --html -",
    ],
)
def test_dash_as_an_output_file_is_refused(run, texts, command):
    run(*command.split()).refused(2, " - is not stdout", "name a file or folder")
    assert not (texts / "-").exists()


@pytest.mark.parametrize(
    "command",
    [
        "count sub --json --out sub/notes.txt",
        "count . --json --out sub/notes.txt",
        "count sub/*.txt --json --out sub/notes.txt",
        "compare -t default --no-times */notes.txt --html sub/notes.txt",
        "report -t default sub --json --out sub/notes.txt",
        "inspect default --corpus sub --vocab-out sub/notes.txt",
        "viz sub --svg sub/notes.txt",
    ],
)
def test_file_of_an_input_folder_or_pattern_is_not_overwritten(run, texts, command):
    (texts / "sub").mkdir()
    (texts / "sub" / "notes.txt").write_text("some notes\n")
    run(*command.split()).refused(2, "would write over sub/notes.txt, which is read as a part of", "outside")
    assert (texts / "sub" / "notes.txt").read_text() == "some notes\n"


def test_unread_file_of_an_input_folder_is_overwritten(run, texts):
    (texts / "docs").mkdir()
    (texts / "docs" / "a.txt").write_text("some text\n")
    for _ in range(2):
        run("count", "docs", "--json", "--out", "docs/.counts.json").good()
        run("viz", "docs/a.txt", "--html", "docs/page.html").good()
        run("count", "docs/*.txt", "--json", "--out", "docs/counts.json").good()
    assert json.loads((texts / "docs" / "counts.json").read_bytes())["total"]["bytes"] == 10


@pytest.mark.parametrize(
    ("command", "first", "second"),
    [
        ("viz text --html page --svg ./page", "--html", "--svg"),
        ("compare -t default notes.txt --json --out page --html page", "--out", "--html"),
        ("compare -t default notes.txt --html page.svg --plot page.svg", "--html", "--plot"),
        ("chat talk.json --html page --npz page", "--html", "--npz"),
        ("lint --sarif page --verdicts page", "--sarif", "--verdicts"),
        ("inspect --vocab-out page.tsv --json --out page.tsv", "--out", "--vocab-out"),
    ],
)
def test_two_results_for_one_file_are_refused(run, texts, command, first, second):
    before = sorted(texts.iterdir())
    run(*command.split()).refused(2, f"{first} and {second} both name", "name a different file for each")
    assert sorted(texts.iterdir()) == before


@pytest.mark.parametrize("command", ["count text", "inspect", "compare -t default notes.txt --no-times"])
@pytest.mark.parametrize(
    ("name", "form"), [("a.json", "json"), ("a.CSV", "csv"), ("a.md", "markdown"), ("a.tex", "latex")]
)
def test_file_extension_chooses_the_format(run, texts, command, name, form):
    for out, *option in ((name,), (name, f"--{form}"), ("a.txt", f"--{form}"), ("b.json", f"--{form}")):
        run(*command.split(), *option, "--out", out).good()
    read = [(texts / out).read_bytes() for out in (name, "a.txt", "b.json")]
    run(*command.split(), "--out", "plain.txt").good()
    assert read[0] == read[1] == read[2] != (texts / "plain.txt").read_bytes()


def test_file_of_an_earlier_run_is_overwritten(run, texts):
    for _ in range(2):
        run("count", "notes.txt", "--json", "--out", "counts.json").good()
    assert json.loads((texts / "counts.json").read_bytes())["total"]["bytes"] == 11


def test_device_accepts_several_results(run, texts):
    run("viz", "notes.txt", "--html", "/dev/null", "--svg", "/dev/null").good()
