"""`tokbench check`: exit code 0 if every bound is kept; otherwise 3, and the figures that fall short."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from rich.cells import cell_len

from tokbench.files.bundled import corpora_directory


@pytest.fixture
def files():
    folder = corpora_directory()
    return [folder / "parallel", folder / "code" / "python.py"]


@pytest.fixture
def saved(run, trained, files, tmp_path):
    """Save the tokenizer's figures as a baseline; return the file."""
    run("compare", *files, "-t", trained, "--no-times", "--json", "--out", "saved.json").good()
    return tmp_path / "saved.json"


def test_satisfied_thresholds_pass(run, trained, files):
    thresholds = [
        *["--min", "bytes_per_token=1.5", "--min", "en:roundtrip_rate=100%"],
        *["--max", "premium=3", "--max", "unk_rate=0"],
    ]
    done = run("check", "-t", trained, *files, *thresholds).good()
    assert done.lines[-1] == "all 4 passed"
    assert [line[0] for line in done.lines[:4]] == ["✓"] * 4


def test_failed_thresholds_are_listed(run, trained, files):
    thresholds = ["--min", "bytes_per_token=99", "--max", "unk_rate=0", "--max", "gini=0"]
    done = run("check", "-t", trained, *files, *thresholds)
    assert done.code == 3
    assert done.stderr == ""
    assert done.lines[0] == "✓ mine unk_rate 0 % (limit 0 %, --max)"
    assert done.lines[1].startswith("✗ mine bytes_per_token ")
    assert done.lines[1].endswith(" (limit 99.000, --min)")
    assert done.lines[2].startswith("✗ mine gini 0.")
    assert done.lines[-1] == "2 of 3 failed"


def test_json_and_junit_have_the_same_findings(run, trained, files, tmp_path):
    thresholds = ["--min", "en:bytes_per_token=99", "--max", "unk_rate=0"]
    done = run("check", "-t", trained, *files, *thresholds, "--json", "--junit", "out/junit.xml")
    assert done.code == 3
    assert done.json["schema"] == "tokbench.check/1"
    assert done.json["passed"] is False
    assert [finding["passed"] for finding in done.json["findings"]] == [False, True]
    assert done.json["findings"][0]["group"] == "en"
    suite = ET.parse(tmp_path / "out" / "junit.xml").getroot()
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")
    assert [case.attrib["name"] for case in suite] == ["min en:bytes_per_token", "max unk_rate"]


@pytest.fixture
def small(run, trained, tmp_path):
    """Write a few lines in two languages and some code, and save the tokenizer's figures on them."""
    texts = {
        "parallel/de.txt": "".join(f"die Zeile {number} ist lang\n" for number in range(6)),
        "parallel/en.txt": "".join(f"line {number} is long\n" for number in range(6)),
        "code/c.txt": "int a = 1;\n" * 6,
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    run("compare", *texts, "-t", trained, "--no-times", "--json", "--out", "small.json").good()
    return list(texts)


def test_unchanged_tokenizer_passes_its_baseline(run, trained, small):
    done = run("check", "-t", trained, *small, "--baseline", "small.json").good()
    assert done.lines[-1].startswith("all ")
    assert "✓ mine bytes_per_token of 3 groups" in done.lines
    assert any(line.startswith("✓ mine de:premium ") for line in done.lines)


def test_different_text_is_refused_without_other_text(run, trained, small):
    arguments = ["check", "-t", trained, "--baseline", "small.json"]
    refused = run(*arguments, *small[:2])
    refused.refused(2, "not the baseline's text", "2 documents", "3 documents", "--other-text")
    done = run(*arguments, *small[:2], "--other-text", "--only", "bytes_per_token")
    assert "the text is not the baseline's" in done.lines
    assert "its groups c are left out, which this text does not have" in done.lines
    run(*arguments, small[2]).refused(2, "not the baseline's text")
    run(*arguments, *small, "--documents", "lines").refused(2, "not the baseline's text", "--documents")


@pytest.mark.usefixtures("small")
def test_text_and_options_are_taken_from_the_baseline(run, trained):
    """The options are those of the baseline: each one left out would change the figures."""
    asked = ["--documents", "lines", "--aggregate", "macro", "--reference", "de", "--group-by", "path"]
    asked += ["--no-times", "--json", "--out", "macro.json"]
    run("compare", "parallel", "code", "-t", trained, *asked).good()
    document = run("check", "-t", trained, "--baseline", "macro.json", "--json").good().json
    assert document["aggregation"] == "macro"
    assert all(finding["value"] == finding["was"] == finding["limit"] for finding in document["findings"])
    names = {(finding["group"], finding["metric"]) for finding in document["findings"]}
    assert {(None, "premium"), ("en", "premium"), (None, "gini"), ("de", "unk_rate")} <= names
    assert ("de", "premium") not in names
    other = run("check", "-t", trained, "--baseline", "macro.json", "--documents", "file")
    other.refused(2, "not the baseline's text")


@pytest.mark.parametrize(
    "arguments",
    [{"paths": 1}, {"paths": []}, {"documents": "words"}, {"group_by": ["path"]}, {"errors": None}],
)
def test_malformed_arguments_of_a_baseline_are_refused(run, trained, small, tmp_path, arguments):
    path = tmp_path / "small.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"arguments": arguments}))
    given = [] if "paths" in arguments else small
    run("check", "-t", trained, *given, "--baseline", path).refused(2, "the baseline is damaged")


def test_baseline_on_held_out_text_is_refused_without_a_text(run, trained, files, tmp_path):
    options = ["--backend", "bpe", "--vocab-size", "300", "--no-times", "--json", "--out", "t.json"]
    run("compare", files[1], *options).good()
    path = tmp_path / "t.json"
    document = json.loads(path.read_text())
    document["tokenizers"] = document["tokenizers"][:1]
    path.write_text(json.dumps(document))
    run("check", "-t", trained, "--baseline", "t.json").refused(2, "held out of training")


def test_regression_beyond_the_tolerance_fails(run, trained, small, tmp_path):
    saved = tmp_path / "small.json"
    document = json.loads(saved.read_text())
    figure = document["tokenizers"][0]["metrics"]["bytes_per_token"]
    figure["value"] *= 1.02
    document["tokenizers"][0]["metrics"] = {"bytes_per_token": figure}
    saved.write_text(json.dumps(document))
    arguments = ["check", "-t", trained, *small, "--baseline", saved]
    done = run(*arguments, "--tolerance", "1%")
    assert done.code == 3
    assert "−2.0 %, limit " in done.stdout
    assert run(*arguments, "--tolerance", "2%").good()
    assert run(*arguments, "--tolerance", "bytes_per_token=0.02").good()
    assert run(*arguments, "--except", "bytes_per_token").good()
    assert run(*arguments, "--only", "unk_rate", "--only", "gini").code == 0
    assert run(*arguments, "--tolerance", "2%", "--tolerance", "bytes_per_token=1%").code == 3


def test_training_text_is_reported(run, tmp_path):
    (tmp_path / "a.txt").write_text("some text that is long enough to tell\n" * 30, encoding="utf-8")
    run("train", "a.txt", "--vocab-size", "270", "--name", "mine").good()
    arguments = ["check", "-t", "mine", "a.txt", "--min", "bytes_per_token=1"]
    told = "mine was trained on this text"
    assert told in run(*arguments).good().stdout
    assert told in run(*arguments, "--json").good().json["notes"][0]


def test_several_tokenizers_are_checked(run, trained, files):
    done = run("check", "-t", trained, "-t", trained, *files, "--min", "bytes_per_token=1")
    assert [line.split(" bytes")[0] for line in done.good().lines[:2]] == ["✓ mine", "✓ mine#2"]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ([], ["there is nothing to check"]),
        (["--min", "bytes_per_token=much"], ["'much' is not a number"]),
        (["--min", "bytes_per_token=1", "--only", "unk_rate"], ["--only", "--baseline"]),
        (["--baseline", "saved.json", "--only", "xx:unk_rate"], ["has no figure 'xx:unk_rate'"]),
        (
            ["--baseline", "saved.json", "--only", "bytes_per_token", "--except", "bytes_per_token"],
            ["there is nothing to check: --only and --except leave no figure", "leave out one of them"],
        ),
        (["--baseline", "missing.json"], ["the baseline missing.json cannot be read: No such file"]),
        (
            ["--min", "bytes_per_token=1", "--junit", "."],
            [". is a folder", "--junit names the file to write"],
        ),
        (["--baseline", "saved.json", "--tolerance", "much"], ["'much' is not a number"]),
        (["--min", "bytes_per_token=1", "--threads", "0"], ["--threads"]),
    ],
)
def test_usage_errors_are_refused(run, request, arguments, parts):
    trained, files = map(request.getfixturevalue, ("trained", "files"))
    if "saved.json" in arguments:
        request.getfixturevalue("saved")
    run("check", "-t", trained, *files, *arguments).refused(2, *parts)


def test_missing_tokenizer_is_refused(run, files):
    run("check", *files, "--min", "bytes_per_token=1").refused(2, "--tokenizer")


def test_foreign_file_as_baseline_is_refused(run, trained, files, tmp_path):
    (tmp_path / "other.json").write_text('{"schema": "tokbench.report/1"}')
    run("check", "-t", trained, *files, "--baseline", "other.json").refused(
        2, "baseline", "tokbench compare --json"
    )


def test_binary_file_as_baseline_is_refused(run, trained, files, tmp_path):
    (tmp_path / "other.json").write_bytes(b"\x80")
    done = run("check", "-t", trained, *files, "--baseline", "other.json")
    done.refused(2, "the baseline cannot be read: other.json: expected UTF-8, found 0x80 at byte 0")


def test_baseline_without_a_checkable_figure_is_refused(run, trained, files):
    """Otherwise the check would pass whatever the tokenizer does."""
    arguments = ["-t", trained, "--no-times", "--json", "--metrics", "average_rank", "--out", "slim.json"]
    run("compare", files[1], *arguments).good()
    run("check", "-t", trained, files[1], "--baseline", "slim.json").refused(2, "there is nothing to check")


def test_unwritable_junit_file_is_refused(run, trained, files, tmp_path):
    (tmp_path / "file").touch()
    run("check", "-t", trained, *files, "--min", "bytes_per_token=1", "--junit", "file/x.xml").refused(
        1, "cannot be written"
    )


def test_output_fits_the_terminal_width(run, trained, files, saved, columns):
    done = run("check", "-t", trained, *files, "--baseline", saved).good()
    assert max(map(cell_len, done.lines)) <= columns


def test_figures_of_a_single_group_are_checked_once(run, trained, tmp_path):
    (tmp_path / "a.txt").write_text("some text in one script\n" * 20, encoding="utf-8")
    run("compare", "a.txt", "-t", trained, "--no-times", "--json", "--out", "one.json").good()
    document = run("check", "a.txt", "-t", trained, "--baseline", "one.json", "--json").good().json
    assert {finding["group"] for finding in document["findings"]} == {None}
