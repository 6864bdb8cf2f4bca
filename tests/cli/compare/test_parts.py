"""`tokbench compare`, `report` and `check` in parts: the output equals that of one process, byte for byte."""

from __future__ import annotations

import pytest

IN_PARTS = ("--parts", "kept", "--part-bytes", "2kB")


@pytest.mark.parametrize("form", ["--json", "--csv", "--markdown"])
def test_compare_in_parts_prints_the_same(run, trained, byte, texts, form):
    command = ("compare", texts, "-t", trained, "-t", byte, "--no-times", form)
    whole = run(*command).good()
    assert run(*command, *IN_PARTS).good().out == whole.out
    assert run(*command, *IN_PARTS, "--resume").good().out == whole.out


@pytest.mark.parametrize("aggregation", ["pooled", "per_document"])
def test_shares_of_compare_add_up(run, trained, texts, aggregation):
    command = ("compare", texts, "-t", trained, "--no-times", "--json", "--aggregate", aggregation)
    for share in ("1/2", "2/2"):
        done = run(*command, *IN_PARTS, "--part", share).good()
        assert done.stdout == ""
        assert "parts are counted in kept; --resume adds up all parts" in done.stderr
    assert run(*command, *IN_PARTS, "--resume").good().out == run(*command).good().out


def test_report_in_parts_prints_the_same(run, trained, byte, texts):
    command = ("report", texts, "-t", trained, "--json")

    def figures(*options):
        document = run(*command, *options).good().json
        document["tokenizer"].pop("throughput")
        document["tokenizer"].pop("loading_seconds", None)
        return document

    assert figures(*IN_PARTS) == figures()
    assert run(*command, *IN_PARTS, "--resume", "--part", "1/2").code == 2
    refused = run(*command, "-t", byte, *IN_PARTS)
    assert (refused.code, "--parts keeps the counts of one tokenizer" in refused.stderr) == (2, True)


def test_check_in_parts_prints_the_same(run, trained, texts):
    command = ("check", texts, "-t", trained, "--min", "bytes_per_token=99", "--json")
    whole, parts = run(*command), run(*command, *IN_PARTS)
    assert (whole.code, parts.code) == (3, 3)
    assert parts.out == whole.out


@pytest.mark.slow
def test_local_engine_prints_the_same(run, trained, texts):
    command = ("compare", texts, "-t", trained, "--no-times", "--json", "--engine", "native")
    whole = run(*command).good()
    assert run(*command, "--engine", "local", "--workers", "2", "--part-bytes", "2kB").good().out == whole.out
    assert whole.json["arguments"]["engine"] == "native"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--part", "1/2"], "--part needs a folder of parts"),
        (["--resume"], "--resume needs a folder of parts"),
        (["--part-bytes", "1kB"], "--part-bytes is for work in parts"),
        (["--engine", "local", "--resume"], "--resume needs a folder of parts"),
        (["--engine", "dask", "--scheduler", "tcp://nowhere:1"], "a folder that all of them can write to"),
        (["--parts", "p", "--workers", "2"], "--scheduler and --workers are for an engine"),
        (
            ["--parts", "p", "--engine", "local", "--threads", "2"],
            "--threads does not apply to the processes",
        ),
        (["--parts", "p", "--part", "3/2"], "is not of the form I/N"),
        (["--parts", "p", "--part", "1/2", "--resume"], "and --resume is for all of them"),
        (["--parts", "p", "--part", "1/2", "--engine", "local"], "and an engine is for all of them"),
        (["--engine", "local", "--engine", "dask"], "are both for the work"),
    ],
)
def test_contradictory_options_are_refused(run, trained, texts, options, message):
    done = run("compare", texts, "-t", trained, *options)
    assert done.code == 2
    assert message in done.stderr
