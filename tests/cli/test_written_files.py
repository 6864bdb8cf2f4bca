"""A run loses no file: it writes none that it reads, and no two results into one."""

from __future__ import annotations

import json

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
def test_what_is_read_is_not_written_over(run, texts, command):
    (texts / "notes.jsonl").write_text('{"text": "some notes"}\n')
    before = {path: path.read_bytes() for path in texts.iterdir()}
    run(*command.split()).refused(2, "would write over", "which is read", "name another file")
    assert {path: path.read_bytes() for path in texts.iterdir()} == before


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
def test_two_results_are_not_written_into_one_file(run, texts, command, first, second):
    before = sorted(texts.iterdir())
    run(*command.split()).refused(2, f"{first} and {second} both name", "give each a file of its own")
    assert sorted(texts.iterdir()) == before


def test_a_file_of_an_earlier_run_is_written_anew(run, texts):
    for _ in range(2):
        run("count", "notes.txt", "--json", "--out", "counts.json").good()
    assert json.loads((texts / "counts.json").read_bytes())["total"]["bytes"] == 11


def test_a_device_takes_several_results(run, texts):
    run("viz", "notes.txt", "--html", "/dev/null", "--svg", "/dev/null").good()
