r"""File names that are not UTF-8: every form of a result writes their undecodable bytes as "\xff"."""

from __future__ import annotations

import json
import os
import shutil
import sys

import pytest

NAME = os.fsdecode(b"caf\xe9")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems take no such names")


@pytest.fixture
def named(trained, tmp_path):
    """Write a text, a conversation and a tokenizer with such names; return their folder."""
    (tmp_path / f"{NAME}.txt").write_text("some words of a text, and some more\n" * 20)
    (tmp_path / f"{NAME}.json").write_text('[{"role": "user", "content": "Hi"}]')
    shutil.copytree(trained, tmp_path / NAME)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "compare TEXT -t FOLDER --no-times",
        "report TEXT -t FOLDER",
        "check TEXT -t FOLDER --min bytes_per_token=0",
        "inspect FOLDER",
        "inspect FOLDER default",
        "lint -t FOLDER --select junk-token",
        "convert -t FOLDER --to tokenizers --out FOLDER.new",
        "convert --check FOLDER FOLDER",
        "prune FOLDER --size 600 --corpus TEXT --out FOLDER-2",
        "migrate FOLDER default --corpus TEXT --out FOLDER-2",
        "train TEXT --out FOLDER-2",
        "count-words TEXT --out words",
        "shards write TEXT -t FOLDER --out FOLDER-2",
        "chat TALK -t FOLDER --template plain.jinja",
    ],
)
def test_every_command_accepts_such_names_and_prints_json(run, named, command):
    (named / "plain.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    for word, place in {"TEXT": f"{NAME}.txt", "TALK": f"{NAME}.json", "FOLDER": NAME}.items():
        command = command.replace(word, place)
    assert json.loads(run(*command.split(), "--json").good().out)["schema"]


@pytest.mark.parametrize("command", ["corpus", "count", "encode"])
def test_json_escapes_the_byte(run, named, command):
    assert rb"caf\\xe9.txt" in run(command, f"{NAME}.txt", "--json").good().out


def test_parquet_files_are_read(run, named):
    parquet = pytest.importorskip("pyarrow.parquet")
    from pyarrow import table

    for name, columns in {
        "rows": {"text": ["a text", "and one more"]},
        "talks": {"messages": [[{"role": "user", "content": "Hi"}]]},
    }.items():
        parquet.write_table(table(columns), name)
        os.rename(name, f"{NAME}-{name}.parquet")  # noqa: PTH104
    assert run("count", f"{NAME}-rows.parquet", "--json").good().json["total"]["bytes"] == 18
    (named / "plain.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    run("chat", f"{NAME}-talks.parquet", "--template", "plain.jinja", "--json").good()


@pytest.mark.parametrize("form", ["--csv", "--markdown", "--latex"])
def test_tables_escape_the_byte(run, named, form):
    told = run("count", f"{NAME}.txt", form).good().stdout
    assert "xe9.txt" in told.replace("\\_", "_")


def test_terminal_shows_the_byte(run, named):
    assert "caf⟨E9⟩.txt" in run("corpus", f"{NAME}.txt").good().stdout


def test_sarif_jsonl_and_html_escape_the_byte(run, named):
    run("lint", "-t", NAME, "--select", "junk-token", "--fail-on", "never", "--sarif", "found.sarif").good()
    assert json.loads((named / "found.sarif").read_bytes())["version"] == "2.1.0"
    run("encode", f"{NAME}.txt", "--out", "ids.jsonl").good()
    assert json.loads((named / "ids.jsonl").read_bytes())["source"] == r"caf\xe9.txt"
    run("viz", f"{NAME}.txt", "-t", NAME, "--html", "page.html", "--svg", "picture.svg").good()


@pytest.mark.parametrize("options", [(), ("--part", "1/1")], ids=["workers", "part"])
def test_words_are_counted_into_and_trained_from_such_folders(run, named, options):
    pytest.importorskip("pyarrow")
    run("count-words", f"{NAME}.txt", "--out", f"{NAME}-1", *options).good()
    run("count-words", f"{NAME}.txt", "--out", f"{NAME}-1", "--resume").good()
    run("merge-words", f"{NAME}-1", "--out", f"{NAME}-2").good()
    learned = [("--counts", f"{NAME}-1"), ("--counts", f"{NAME}-2"), (f"{NAME}.txt",)]
    for number, source in enumerate(learned):
        run("train", *source, "--vocab-size", "270", "--out", f"learned-{number}").good()
    ranks = {(named / f"learned-{number}" / "ranks.tiktoken").read_bytes() for number in range(3)}
    assert len(ranks) == 1


def test_tokenizer_is_saved_under_such_a_name(run, named):
    data = run("train", f"{NAME}.txt", "--name", NAME, "--json").good().json
    assert data["name"] == r"caf\xe9"
    assert run("encode", "-t", f"tokenizers/{NAME}", "words", "--json").good().json["name"] == r"caf\xe9"


@pytest.mark.parametrize(
    "command",
    [
        "encode words --out=~/made.jsonl",
        "convert -t FOLDER --to tokenizers --out=~/made",
        "count-words TEXT --out=~/made",
        "shards write TEXT -t FOLDER --out=~/made",
        "viz words --html=~/made",
    ],
)
def test_home_folder_is_meant_where_a_shell_leaves_its_sign(run, named, monkeypatch, command):
    (home := named / "home").mkdir()
    monkeypatch.setenv("HOME", str(home))
    for word, place in {"TEXT": f"{NAME}.txt", "FOLDER": NAME}.items():
        command = command.replace(word, place)
    run(*command.split()).good()
    assert [path.name.partition(".")[0] for path in home.iterdir()] == ["made"]
    assert not (named / "~").exists()
