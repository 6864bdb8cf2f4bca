"""`tokbench bench`: its output in each form, its refusals, and that it leaves nothing behind."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import time

import pytest
from rich.cells import cell_len
from support.benches import add_peer

from tokbench.bench.peers import PEERS, Peer
from tokbench.bench.results import MEASURES, PARTS

PAIR = ["--peers", "tiktoken,tokenizers"]
SHORT = ["--runs", "2", "--only", ",".join(PARTS[:-1])]
QUICK = [*SHORT, "--seconds", "0"]
TEXT = "".join(f"the quick brown fox — number {number} — jumps over\n" for number in range(300))


@pytest.fixture
def text(tmp_path):
    """Write a text file of 17 kB."""
    (tmp_path / "text.txt").write_text(TEXT, encoding="utf-8")
    return "text.txt"


@pytest.fixture
def peer(tmp_path, monkeypatch):
    """Return a function that adds a toy library as a peer."""
    return lambda name, **options: add_peer(
        name, folder=tmp_path / "libraries", monkeypatch=monkeypatch, **options
    )


def test_json_has_every_field(run, trained, text):
    data = (
        run("bench", text, "-t", trained, *PAIR, *SHORT, "--threads", "2", "--seconds", "60", "--json")
        .good()
        .json
    )
    assert data["schema"] == "tokbench.bench/1"
    assert data["text"] == {"documents": 1, "bytes": len(TEXT.encode()), "prompts": 1000}
    assert (data["baseline"], data["threads"], data["runs"]) == ("mine", 2, 2)
    assert set(data["machine"]) == {"cpu", "processors", "system", "python", "tokbench", "date"}
    assert data["left_out"] == []
    ours, tiktoken, tokenizers = data["tokenizers"]
    assert (ours["name"], ours["peer"], ours["vocab_size"]) == ("mine", None, 1024)
    assert [entry["peer"] for entry in (tiktoken, tokenizers)] == ["tiktoken", "tokenizers"]
    assert all(tokenizer["equal"] and tokenizer["difference"] is None for tokenizer in data["tokenizers"])
    assert set(data["units"]) == set(ours["figures"]) == set(MEASURES) - {"memory"}
    for one in data["tokenizers"]:
        for figure in one["figures"].values():
            assert 0 < figure["low"] <= figure["median"] <= figure["high"]
            assert figure["runs"] == 2
            assert (figure["ratio"] is None) == (one is ours)
    assert "lookups" not in tokenizers["figures"]


@pytest.mark.parametrize(
    ("text", "said"),
    [(TEXT, "1,000 prompts of 20 to 200 characters;"), ("a short one", "1,000 prompts of 11 characters;")],
)
def test_length_of_prompts_is_that_of_the_text(run, trained, tmp_path, text, said):
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    short = ["--peers", "none", "--only", "latency", "--runs", "1", "--seconds", "0"]
    assert said in " ".join(run("bench", "text.txt", "-t", trained, *short).good().stdout.split())


def test_memory_is_measured_in_separate_processes(run, trained, text):
    data = run("bench", text, "-t", trained, *PAIR, "--only", "memory", "--json").good().json
    if not data["units"]:
        pytest.skip("the system does not tell how much memory a process has")
    for tokenizer in data["tokenizers"]:
        assert 5 < tokenizer["figures"]["memory"]["median"] < 1000


def test_several_tokenizers_are_compared_with_their_peers(run, trained, text):
    arguments = ["-t", trained, "-t", "default", "--peers", "tiktoken", "--only", "encode"]
    data = run("bench", text, *arguments, "--runs", "1", "--json").good().json
    names = [tokenizer["name"] for tokenizer in data["tokenizers"]]
    assert names == ["mine", "mine · tiktoken", "default", "default · tiktoken"]
    assert all(tokenizer["figures"]["encode"]["ratio"]["runs"] == 1 for tokenizer in data["tokenizers"][1:])


def test_output_fits_the_terminal_width(run, trained, text, columns):
    done = run("bench", text, "-t", trained, *PAIR, *QUICK).good()
    table = [line for line in done.lines if line.startswith((" ", "mine", "──"))]
    assert max(map(cell_len, table)) <= columns
    for title in ("MB/s", "cold", "p99 µs", "look-ups/s", "load ms", "× mine", "mine · tokenizers"):
        assert title in done.stdout
    assert "* best in every round" in done.stdout
    assert f"{len(TEXT.encode()):,} bytes" in done.stdout
    assert "tiktoken 0." in done.stdout


def test_markdown_and_latex_tables_are_written(run, trained, text):
    arguments = ["bench", text, "-t", trained, "--peers", "tiktoken", "--only", "encode", "--runs", "1"]
    lines = run(*arguments, "--markdown").good().lines
    assert lines[0] == "| tokenizer | MB/s | × mine | cold |"
    assert lines[2].startswith("| mine | ")
    assert lines[3].startswith("| mine · tiktoken | ")
    assert any("CPython" in line for line in lines[4:])
    assert r"\begin{tabular}{lrrr}" in run(*arguments, "--latex").good().stdout
    rows = list(csv.DictReader(io.StringIO(run(*arguments, "--csv").good().stdout)))
    assert [(row["name"], row["measure"]) for row in rows] == [
        ("mine", "cold"),
        ("mine", "encode"),
        ("mine · tiktoken", "cold"),
        ("mine · tiktoken", "encode"),
    ]
    assert rows[0]["ratio"] == "" != rows[2]["ratio"]


def test_peer_with_different_ids_is_shown_and_not_timed(run, trained, text, peer):
    peer("badlib", encode="lambda text: encoder.encode(text)[:-1]")
    arguments = ["bench", text, "-t", trained, "--peers", "badlib", *QUICK]
    data = run(*arguments, "--json").good().json
    assert data["tokenizers"][1]["figures"] == {}
    assert not data["tokenizers"][1]["equal"]
    assert "it gives nothing instead of" in data["tokenizers"][1]["difference"]
    done = run(*arguments).good()
    assert "differs" in done.stdout
    assert "mine · badlib gives different ids, and was not timed: document 1: at token " in done.stdout


def test_missing_peer_is_reported(run, trained, text, monkeypatch):
    monkeypatch.setitem(PEERS, "nolib", Peer("nolib", "nolib"))
    arguments = ["bench", text, "-t", trained, "--peers", "nolib,rustbpe", "--only", "load", "--runs", "1"]
    done = run(*arguments).good()
    assert "without nolib: not installed: pip install nolib" in done.stdout
    [missing, *_] = run(*arguments, "--json").good().json["left_out"]
    assert missing == {"tokenizer": None, "peer": "nolib", "reason": "not installed: pip install nolib"}


def test_default_peers_are_the_installed_ones(run, trained, text, peer, monkeypatch):
    for name in PEERS:
        monkeypatch.setitem(
            PEERS, name, Peer(name, "nowhere") if name == "tiktoken" else Peer("no" + name, "")
        )
    peer("goodlib")
    data = run("bench", text, "-t", trained, "--only", "load", "--runs", "1", "--json").good().json
    assert [tokenizer["name"] for tokenizer in data["tokenizers"]] == ["mine", "mine · goodlib"]
    assert [entry["peer"] for entry in data["left_out"]] == ["tiktoken"]  # installed, but it fails to open


def test_peers_can_be_disabled(run, trained, text):
    done = run("bench", text, "-t", trained, "--peers", "none", "--only", "encode").good()
    assert "×" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--peers", "tiktokn"], 2, "did you mean 'tiktoken'?"),
        (["--only", "latncy"], 2, "did you mean 'latency'?"),
        (["--runs", "0"], 2, "--runs"),
        (["--megabytes", "0"], 2, "--megabytes"),
        (["--json", "--csv"], 2, "contradict each other"),
        (["-t", "nowhere"], 1, "there is no tokenizer 'nowhere'"),
    ],
)
def test_invalid_options_are_refused(run, text, arguments, code, message):
    run("bench", text, *arguments).refused(code, message)


def test_empty_text_is_refused(run, tmp_path):
    (tmp_path / "empty.txt").write_bytes(b"")
    run("bench", "empty.txt").refused(1, "there is no text")


def test_result_is_written_to_a_file(run, trained, text, tmp_path):
    arguments = ["bench", text, "-t", trained, "--only", "load", "--peers", "none", "--json"]
    assert run(*arguments, "--out", "bench.json").good().out == b""
    assert json.loads((tmp_path / "bench.json").read_bytes())["schema"] == "tokbench.bench/1"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")
@pytest.mark.parametrize(
    ("phase", "seconds", "times"),
    [(b'"checking"', "1", 200), (b'"encode"', "1", 20), (b'"memory"', "0.1", 200)],
    ids=["check", "encode", "memory"],
)
def test_ctrl_c_leaves_no_processes_or_files(start, trained, tmp_path, *, phase, seconds, times):
    (tmp_path / "long.txt").write_text(TEXT * times, encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    arguments = ["long.txt", "-t", trained, "--runs", "999", "--seconds", seconds, "--progress", "json"]
    parts = ["--only", "encode,memory", "--peers", "tiktoken"]
    settings = {"TMPDIR": str(tmp_path / "temporary")}
    with start("bench", *arguments, *parts, folder=tmp_path, env=settings) as running:
        for line in running.stderr:
            if phase in line:
                break
        time.sleep(0.3)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err.decode()
    message = "error: interrupted\nhint:  no partial output was left behind\n"
    *_, after = err.decode().rpartition(message)
    # A signal may come while Python starts a process: -W error then reports that its pipe was not closed.
    unclosed = r"(Exception ignored in: <_io\.FileIO [^\n]*>\nResourceWarning: unclosed file [^\n]*\n)*"
    assert message in err.decode() and re.fullmatch(unclosed, after), err.decode()
    assert out == b""
    assert list((tmp_path / "temporary").iterdir()) == []
