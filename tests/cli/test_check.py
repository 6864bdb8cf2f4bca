"""`tokbench check`: exit code 0 where every bound is kept, 3 and what fell short where one is not."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from rich.cells import cell_len

from tokbench.resources import corpora_directory


@pytest.fixture
def files():
    folder = corpora_directory()
    return [folder / "parallel", folder / "code" / "python.py"]


@pytest.fixture
def saved(run, trained, files, tmp_path):
    """What the tokenizer was like: a document, and the file that it is in."""
    run("compare", *files, "-t", trained, "--no-times", "--json", "--out", "saved.json").good()
    return tmp_path / "saved.json"


def test_bounds_that_are_kept(run, trained, files):
    gates = [
        "--min",
        "bytes_per_token=1.5",
        "--max",
        "premium=3",
        "--max",
        "unk_rate=0",
        "--min",
        "en:roundtrip_rate=100%",
    ]
    done = run("check", "-t", trained, *files, *gates).good()
    assert done.lines[-1] == "all 4 are kept"
    assert [line[0] for line in done.lines[:4]] == ["✓"] * 4


def test_what_falls_short_is_listed(run, trained, files):
    done = run(
        "check",
        "-t",
        trained,
        *files,
        "--min",
        "bytes_per_token=99",
        "--max",
        "unk_rate=0",
        "--max",
        "gini=0",
    )
    assert done.code == 3
    assert done.stderr == ""
    assert done.lines[0] == "✓ mine: unk_rate is to be <= 0 (--max): 0"
    assert done.lines[1].startswith("✗ mine: bytes_per_token is to be >= 99 (--min): ")
    assert done.lines[2].startswith("✗ mine: gini is to be <= 0 (--max): 0.")
    assert done.lines[-1] == "2 of 3 fell short"


def test_json_and_junit_say_the_same(run, trained, files, tmp_path):
    gates = ["--min", "en:bytes_per_token=99", "--max", "unk_rate=0"]
    done = run("check", "-t", trained, *files, *gates, "--json", "--junit", "out/junit.xml")
    assert done.code == 3
    assert done.json["schema"] == "tokbench.check/1"
    assert done.json["passed"] is False
    assert [one["passed"] for one in done.json["findings"]] == [False, True]
    assert done.json["findings"][0]["group"] == "en"
    suite = ET.parse(tmp_path / "out" / "junit.xml").getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")
    assert [case.attrib["name"] for case in suite] == ["min en:bytes_per_token", "max unk_rate"]


def test_the_same_tokenizer_is_no_worse_than_it_was(run, trained, files, saved):
    assert run("check", "-t", trained, *files, "--baseline", saved).good().lines[-1].startswith("all ")


def test_figures_of_another_text_are_said_to_be(run, trained, files, saved):
    done = run("check", "-t", trained, files[0], "--baseline", saved)
    assert "tolerance 0.00%, on another text)" in done.stdout
    assert "another text" not in run("check", "-t", trained, *files, "--baseline", saved).stdout


def test_a_worse_one_falls_short_by_more_than_the_tolerance(run, trained, files, saved, tmp_path):
    document = json.loads(saved.read_text())
    figure = document["tokenizers"][0]["metrics"]["bytes_per_token"]
    figure["value"] *= 1.02
    document["tokenizers"][0]["metrics"] = {"bytes_per_token": figure}
    saved.write_text(json.dumps(document))
    arguments = ["check", "-t", trained, *files, "--baseline", saved]
    done = run(*arguments, "--tolerance", "1%")
    assert done.code == 3
    assert "tolerance 1.00%" in done.stdout
    assert run(*arguments, "--tolerance", "2%").good()
    assert run(*arguments, "--tolerance", "0.02").good()


def test_several_tokenizers(run, trained, files):
    done = run("check", "-t", trained, "-t", trained, *files, "--min", "bytes_per_token=1")
    assert [line.split(":")[0] for line in done.good().lines[:2]] == ["✓ mine", "✓ mine#2"]


def test_a_premium_that_cannot_be_known_fails_with_the_reason(run, trained, files):
    done = run("check", "-t", trained, files[1], "--max", "premium=2", "--json")
    assert done.code == 3
    [finding] = done.json["findings"]
    assert finding["value"] is None
    assert finding["gap"].startswith("the corpus has no folder of translations")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ([], ["there is nothing to check"]),
        (["--min", "bytes_per_token"], ["has no limit"]),
        (["--min", "bytes_per_token=much"], ["'much' is no number"]),
        (["--min", "byte_per_token=1"], ["no metric 'byte_per_token'", "bytes_per_token"]),
        (["--min", "xx:bytes_per_token=1"], ["no group 'xx'", "python"]),
        (["--max", "en:premium=1"], ["of all groups together"]),
        (["--baseline", "missing.json"], ["missing.json cannot be read"]),
        (["--baseline", "saved.json", "--tolerance", "much"], ["'much' is no number"]),
        (["--baseline", "saved.json", "--tolerance", "-1%"], ["below 0"]),
        (["--min", "bytes_per_token=1", "--threads", "0"], ["--threads"]),
    ],
)
@pytest.mark.usefixtures("saved")
def test_usage_errors(run, trained, files, arguments, parts):
    run("check", "-t", trained, *files, *arguments).refused(2, *parts)


def test_a_tokenizer_has_to_be_named(run, files):
    run("check", *files, "--min", "bytes_per_token=1").refused(2, "--tokenizer")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "tokbench.report/1"}', '{"schema": "tokbench.compare/1"}']
)
def test_another_file_is_no_baseline(run, trained, files, tmp_path, text):
    (tmp_path / "other.json").write_text(text)
    run("check", "-t", trained, *files, "--baseline", "other.json").refused(
        2, "baseline", "tokbench compare --json"
    )


def test_a_baseline_without_a_figure_to_hold_is_an_error(run, trained, files):
    """Else it would pass whatever the tokenizer does."""
    arguments = ["-t", trained, "--no-times", "--json", "--metrics", "average_rank", "--out", "slim.json"]
    run("compare", *files, *arguments).good()
    run("check", "-t", trained, *files, "--baseline", "slim.json").refused(2, "there is nothing to check")


def test_a_baseline_of_other_tokenizers_is_an_error(run, trained, files, saved):
    document = json.loads(saved.read_text())
    one = document["tokenizers"][0]
    document["tokenizers"] = [one | {"name": "a"}, one | {"name": "b"}]
    saved.write_text(json.dumps(document))
    run("check", "-t", trained, *files, "--baseline", saved).refused(2, "no tokenizer 'mine'", "it has a, b")


def test_junit_that_cannot_be_written_is_an_error(run, trained, files, tmp_path):
    (tmp_path / "file").touch()
    run("check", "-t", trained, *files, "--min", "bytes_per_token=1", "--junit", "file/x.xml").refused(
        1, "was not written"
    )


def test_it_fits_the_terminal(run, trained, files, saved, columns):
    done = run("check", "-t", trained, *files, "--baseline", saved).good()
    assert max(map(cell_len, done.lines)) <= columns
