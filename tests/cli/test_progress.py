"""Progress: a bar on a terminal, JSON lines on request, and nothing on stdout."""

from __future__ import annotations

import gzip
import json
import re
import time
from contextlib import closing

import pytest

from tokbench.render import console as console_module
from tokbench.render.console import showing_progress

PHASES = ["reading", "counting", "merging", "saving"]
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


@pytest.fixture
def text(tmp_path):
    """Write some megabytes, so that training takes a moment; from stdin, each megabyte is reported."""
    path = tmp_path / "numbers.txt"
    path.write_text(" ".join(str(number * number % 99_991) for number in range(400_000)), encoding="utf-8")
    return path


def reports(done):
    return [json.loads(line) for line in done.stderr.splitlines()]


def test_json_lines_report_each_phase(run, text):
    done = run(
        *["train", "-", "--vocab-size", "900", "--progress", "json", "--json"], stdin=text.read_bytes()
    ).good()
    lines = reports(done)
    assert {tuple(line) for line in lines} == {("schema", "phase", "done", "total", "unit")}
    assert {line["schema"] for line in lines} == {"tokbench.progress/1"}
    phases = [line["phase"] for line in lines]
    assert sorted(set(phases), key=phases.index) == PHASES
    assert phases == sorted(phases, key=PHASES.index)
    for phase, unit in zip(PHASES, ["files", "bytes", "merges", "bytes"], strict=True):
        mine = [line for line in lines if line["phase"] == phase]
        assert {line["unit"] for line in mine} == {unit}
        steps = [line["done"] for line in mine]
        assert steps == sorted(steps)
        assert all(line["total"] is None or line["done"] <= line["total"] for line in mine)
    last = [line for line in lines if line["phase"] == "merging"][-1]
    assert (last["done"], last["total"]) == (644, 644)
    assert done.json["merges"] == 644


@pytest.mark.parametrize("choice", ["none", "bar"])
def test_pipe_shows_no_progress(run, text, choice):
    done = run("train", text, "--vocab-size", "300", "--progress", choice).good()
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


def test_terminal_shows_a_bar_for_each_phase_and_removes_it(terminal, text):
    with text.open("rb") as stdin:
        shown = terminal("train", "-", "--vocab-size", "3000", stdin=stdin).good().stdout
    bar = shown[: shown.index("vocabulary")]
    for phase in PHASES:
        assert phase in bar
    assert re.search(r"\d\.\d MB  [\d,]+ MB/s", bar)
    assert re.search(r"merge [\d,]+ of 2,744", bar)
    assert shown.count(HIDE_CURSOR) == shown.count(SHOW_CURSOR) == 1
    rest = shown[shown.index(SHOW_CURSOR) :]
    assert not [phase for phase in ("reading  ", "━") if phase in rest]


def test_terminal_without_progress_shows_no_control_sequence(terminal, text):
    for options in (["--progress", "none"], ["--progress", "json"]):
        done = terminal("train", text, "--vocab-size", "300", "--color", "never", "--force", *options).good()
        assert "\x1b" not in done.stdout
    done = terminal("train", text, "--vocab-size", "300", "--force", env={"TERM": "dumb"}).good()
    assert "\x1b" not in done.stdout


def test_short_commands_show_no_progress(terminal, trained):
    assert terminal("encode", "-t", trained, "--text", "~").good().out == b"126\r\n"
    assert terminal("decode", "-t", trained, "97", "98").good().out == b"ab\r\n"


def test_first_use_of_the_built_in_tokenizer_reports_training(process, tmp_path):
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    first = process("encode", "a", "--progress", "json", env=env).good()
    assert "merging" in {line["phase"] for line in reports(first)}
    second = process("encode", "a", "--progress", "json", env=env).good()
    assert (second.out, second.stderr) == (first.out, "")


def test_bar_is_removed_after_an_error(terminal, text, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"a\xff")
    done = terminal("train", text, "bad.txt")
    assert done.code == 1
    assert done.stdout.count(HIDE_CURSOR) == done.stdout.count(SHOW_CURSOR)
    assert "error:" in done.stdout[done.stdout.index(SHOW_CURSOR) :]


# --- the figures ------------------------------------------------------------------------------


class FakeBar:
    """A stand-in for rich's bar that records the figures it is told to show."""

    def __init__(self):
        self.figures = []

    def start(self):
        pass

    stop = start

    def add_task(self, phase, **figures):
        self.figures.append(figures)

    def update(self, task, *, visible=True, **figures):
        if visible:
            self.figures.append(figures)


@pytest.fixture
def bar(monkeypatch):
    fake = FakeBar()
    monkeypatch.setattr(console_module, "_rich_progress", lambda: fake)
    return fake


def test_rate_is_that_of_the_current_phase(bar, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with closing(console_module._BarProgress()) as report:
        report("reading", 0, None, "files")
        for done in (10, 20, 30):
            now[0] += 1
            report("counting", done * 1_000_000, 40_000_000, "bytes")
        now[0] += 5
        report("saving", 0, None, "bytes")
    assert [figures["shown"] for figures in bar.figures] == [
        "",
        "10.0 of 40.0 MB  10 MB/s",
        "20.0 of 40.0 MB  10 MB/s",
        "30.0 of 40.0 MB  10 MB/s",
        "",
    ]


def test_merge_progress_is_logarithmic(bar):
    """The bar is linear in the logarithm: the first hundred of 10,000 merges fill half of it."""
    with closing(console_module._BarProgress()) as report:
        for done in (0, 99, 9_999):
            report("merging", done, 9_999, "merges")
    shares = [figures["completed"] / figures["total"] for figures in bar.figures]
    assert shares == pytest.approx([0, 0.5, 1])


def test_json_lines_are_written_twice_a_second_and_at_each_end(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with showing_progress("json") as report:
        for done in range(101):
            report("counting", done, 100, "bytes")
            now[0] += 0.1
    done = [json.loads(line)["done"] for line in capsys.readouterr().err.splitlines()]
    assert (done[0], done[-1]) == (0, 100)
    assert 17 <= len(done) <= 22


# --- totals -----------------------------------------------------------------------------------


def records(path, rows):
    """Write documents to a file, as lines or as records."""
    if path.suffix == ".parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"text": rows}), path)
        return
    data = "\n".join(rows if path.suffix == ".txt" else [json.dumps({"text": row}) for row in rows]).encode()
    path.write_bytes(gzip.compress(data, 1) if path.suffix == ".gz" else data)


def phases_of(done):
    """Return the reports of each phase."""
    lines = reports(done)
    return {
        phase: [line for line in lines if line["phase"] == phase]
        for phase in {line["phase"] for line in lines}
    }


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.jsonl.gz", "a.parquet"])
def test_writing_shards_reports_progress_with_a_total(run, trained, tmp_path, name):
    rows = [f"line {number} of some text" for number in range(60_000)]
    records(tmp_path / name, rows)
    done = run(
        "shards", "write", name, "-t", trained, "--documents", "lines", "--out", "s", "--progress", "json"
    ).good()
    told = phases_of(done)["encoding"]
    size = (tmp_path / name).stat().st_size
    assert {line["total"] for line in told} == {size}
    steps = [line["done"] for line in told]
    assert steps == sorted(steps)
    assert 0 < steps[-1] <= size


@pytest.mark.parametrize("asked", ["count a.jsonl", "encode a.jsonl", "count a.parquet"])
def test_counting_and_encoding_report_the_position_in_the_files(run, trained, tmp_path, monkeypatch, asked):
    command, name = asked.split()
    monkeypatch.setattr(console_module, "_SECONDS_BETWEEN_LINES", 0)
    monkeypatch.setattr("tokbench.core.progress._SECONDS_BETWEEN_REPORTS", 0)
    monkeypatch.setattr("tokbench.corpus.bytes.BLOCK_BYTES", 1 << 12)
    records(tmp_path / name, [f"line {number} of some text" for number in range(2_000)])
    done = run(command, name, "-t", trained, "--progress", "json").good()
    told = phases_of(done)[f"reading {name}"]
    size = (tmp_path / name).stat().st_size
    assert {(line["total"], line["unit"]) for line in told} == {(size, "bytes")}
    steps = [line["done"] for line in told]
    assert steps == sorted(steps)
    assert len({step for step in steps if 0 < step < size}) > 2
    assert steps[-1] == size
    plain = run(command, name, "-t", trained).good()
    assert (plain.out, plain.stderr) == (done.out, "")


@pytest.mark.parametrize("asked", ["viz", "count", "encode", "viz --json"])
def test_reading_one_long_text_reports_progress(run, trained, tmp_path, monkeypatch, asked):
    """A file is one document here, so its progress is reported before any document is complete."""
    monkeypatch.setattr(console_module, "_SECONDS_BETWEEN_LINES", 0)
    monkeypatch.setattr("tokbench.core.progress._SECONDS_BETWEEN_REPORTS", 0)
    monkeypatch.setattr("tokbench.corpus.bytes.BLOCK_BYTES", 1 << 8)
    (tmp_path / "a.txt").write_text("some text\n" * 200)
    done = run(*asked.split(), "a.txt", "-t", trained, "--progress", "json").good()
    told = phases_of(done)["reading a.txt"]
    assert {(line["total"], line["unit"]) for line in told} == {(2_000, "bytes")}
    steps = [line["done"] for line in told]
    assert steps == sorted(steps)
    assert len({step for step in steps if 0 < step < 2_000}) > 2


def test_compare_with_a_mix_reports_the_position_in_the_corpus(run, trained, tmp_path, monkeypatch):
    monkeypatch.setattr(console_module, "_SECONDS_BETWEEN_LINES", 0)
    monkeypatch.setattr("tokbench.core.progress._SECONDS_BETWEEN_REPORTS", 0)
    lines = "".join(f"line {number} of some text\n" for number in range(2_000))
    (tmp_path / "a.txt").write_text(lines)
    asked = ["compare", "a.txt", "--documents", "lines", "--group-by", "extension", "--no-times"]
    done = run(*asked, "-t", trained, "--mix", "txt=1", "--progress", "json").good()
    told = phases_of(done)["reading groups"]
    assert {(line["total"], line["unit"]) for line in told} == {(len(lines), "bytes")}


def test_no_bar_is_drawn_between_ids(terminal, trained, tmp_path):
    records(tmp_path / "a.jsonl", [f"line {number}" for number in range(20_000)])
    shown = terminal("encode", "a.jsonl", "-t", trained).good().stdout
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 20_000


def test_evaluation_reports_progress_with_a_total(run, trained, tmp_path):
    text = "".join(f"line {number} of some text\n" for number in range(2_000))
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": row}) + "\n" for row in text.splitlines()))
    asked = ["--no-times", "--progress", "json", "-t", trained, "-t", "default"]
    plain = phases_of(run("compare", "a.txt", *asked).good())
    for name in ("mine", "default"):
        assert {(line["done"], line["total"]) for line in plain[f"evaluating {name}"]} == {
            (len(text), len(text))
        }
    # The length of records' texts is known only once they have been read; until then, progress is that in the file.
    records = phases_of(run("compare", "a.jsonl", *asked).good())
    size, file_size = len(text) - text.count("\n"), (tmp_path / "a.jsonl").stat().st_size
    assert {(line["done"], line["total"]) for line in records["evaluating mine"]} == {(file_size, file_size)}
    assert {(line["done"], line["total"]) for line in records["evaluating default"]} == {(size, size)}


def test_training_in_a_library_reports_progress_with_a_total(run, tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"line {number} of some text\n" for number in range(100_000)))
    told = phases_of(
        run(
            *("train", "a.txt", "--backend", "sentencepiece", "--option", "trainer=sentencepiece"),
            *("--vocab-size", "400", "--progress", "json"),
        ).good()
    )
    size = (tmp_path / "a.txt").stat().st_size
    assert {line["total"] for line in told["reading"] if line["unit"] == "bytes"} == {size}
    assert {line["total"] for line in told["training"]} == {400 - 259}


def test_bar_with_a_total_shows_its_share(bar):
    with closing(console_module._BarProgress()) as report:
        for done, total in ((0, 4_000_000), (1_000_000, 4_000_000), (4_000_000, 4_000_000)):
            report("encoding", done, total, "bytes")
        report("reading", 5, None, "bytes")
    assert [figures["share"] for figures in bar.figures] == ["0%", "25%", "100%", ""]
