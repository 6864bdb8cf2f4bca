"""Wrong usage of `compare`, corpora that cannot be evaluated, and figures that remain unknown."""

from __future__ import annotations

import json
import os

import pytest


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["-t", "NAME", "--metrics", "byte_per_token"], ["no metric 'byte_per_token'", "bytes_per_token"]),
        (["-t", "NAME", "--metrics", "all,unk_rat"], ["no metric 'unk_rat'", "did you mean unk_rate?"]),
        (["-t", "NAME", "--metrics", ","], ["--metrics names no metric", "`--metrics help` lists them"]),
        (["-t", "NAME", "--metrics", "gini"], ["gini is not chosen by --metrics", "wherever it applies"]),
        (["-t", "NAME", "--metrics", "§"], ["no metric '§'", "available: bytes_per_token"]),
        (["-t", "NAME", "--json", "--csv"], ["--json and --csv"]),
        (["-t", "NAME", "--baseline", "other"], ["no tokenizer 'other'", "available: mine"]),
        (["-t", "NAME", "--reference", "fr"], ["'fr' is not among the aligned", "de, en"]),
        (["-t", "NAME", "--vocab-size", "500"], ["tokenizers are given with -t, so none is trained"]),
        (["-t", "NAME", "--backend", "bpe"], ["tokenizers are given with -t, so none is trained"]),
        (["-t", "NAME", "--threads", "0"], ["--threads"]),
        (["-t", "NAME", "--out", "."], [". is a folder"]),
        (["-t", "NAME", "--out", "a.html"], ["--out a.html names a format that is not written"]),
        (["-t", "NAME", "--out", "a.tsv"], ["end it in .json, .csv, .md or .tex, or .txt"]),
        (["--vocab-size", "0"], ["--vocab-size"]),
        (["--backend", "bqe"], ["bqe", "bpe"]),
    ],
)
def test_usage_errors_are_refused(run, trained, texts, arguments, parts):
    arguments = [str(trained) if argument == "NAME" else argument for argument in arguments]
    run("compare", texts, *arguments, "--no-times").refused(2, *parts)


def test_corpus_that_cannot_be_evaluated_is_refused(run, trained, tmp_path):
    (tmp_path / "one.txt").write_text("one line\n")
    (tmp_path / "empty.txt").touch()
    (tmp_path / "bad.txt").write_bytes(b"a\xff")
    (tmp_path / "surrogate.jsonl").write_text(json.dumps({"text": "\ud800"}) + "\n")
    run("compare", "one.txt").refused(1, "too few to hold out a tenth", "evaluate existing tokenizers")
    run("compare", "empty.txt", "-t", trained).refused(1, "no text in empty.txt")
    run("compare", "bad.txt", "-t", trained).refused(1, "bad.txt", "byte 1")
    run("compare", "surrogate.jsonl", "-t", trained).refused(1, "surrogate.jsonl:1: ", "U+D800")
    run("compare", "-", "-t", trained, "-t", trained, stdin=b"read once").refused(1, "can be read only once")
    run("compare", "missing.txt", "-t", trained).refused(1, "missing.txt does not exist")


def test_unknown_figures_are_null_with_the_reason(run, trained, tmp_path):
    (tmp_path / "one.txt").write_text("one document")
    data = run("compare", "one.txt", "-t", trained, "-t", trained, "--no-times", "--json").good().json
    assert [tokenizer["name"] for tokenizer in data["tokenizers"]] == ["mine", "mine#2"]
    assert data["fairness_gap"].startswith("the corpus has no folder of translations")
    for one in data["tokenizers"]:
        assert one["fairness"] is None
        assert one["metrics"]["bytes_per_token"]["interval"] is None
        assert one["metrics"]["bytes_per_token"]["distinguishable"] is None
        assert one["metrics"]["operator_isolation"]["value"] is None


def test_single_language_or_unaligned_lines_have_no_premiums(run, trained, texts):
    arguments = ["-t", trained, "--no-times", "--json"]
    one = run("compare", texts / "parallel" / "en.txt", texts / "code", *arguments).good().json
    assert one["fairness_gap"] is not None
    german = texts / "parallel" / "de.txt"
    german.write_text(german.read_text(encoding="utf-8") + "noch eine\n", encoding="utf-8")
    data = run("compare", texts, *arguments).good().json
    assert data["fairness_gap"] == "the translations do not have the same number of lines"
    assert data["tokenizers"][0]["fairness"] is None
    assert "no language premiums" in run("compare", texts, "-t", trained, "--no-times").good().stdout


def test_group_with_two_files_is_counted_as_one(run, trained, texts):
    (texts / "more" / "code").mkdir(parents=True)
    (texts / "more" / "code" / "python.py").write_text("x = 1\n")
    data = run("compare", texts, "-t", trained, "--no-times", "--json").good().json
    assert data["tokenizers"][0]["group_counts"]["python"]["documents"] == 2


@pytest.mark.skipif(os.name == "nt", reason="names are bytes on POSIX only")
def test_file_name_that_is_not_utf8_is_shown(run, trained, tmp_path):
    folder = tmp_path / "odd"
    folder.mkdir()
    try:
        (folder / os.fsdecode(b"caf\xe9.txt")).write_text("some text\n")
    except OSError:
        pytest.skip("this file system takes names that are UTF-8 only")
    arguments = ["compare", "odd", "-t", trained, "--no-times", "--group-by", "path"]
    assert list(run(*arguments, "--json").good().json["tokenizers"][0]["groups"]) == [r"caf\xe9"]
    assert r"caf\xe9" in run(*arguments, "--csv").good().stdout


def test_lossy_tokenizer_is_reported(run, texts, tmp_path):
    (tmp_path / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "fox"]) + "\n"
    )
    data = run("compare", texts, "-t", "vocab.txt", "--no-times", "--json").good().json
    lost = data["tokenizers"][0]["metrics"]["character_error_rate"]
    assert any(
        f"loses {lost['value'] * 100:.1f} % of characters, mostly unknown characters: 0.0 % of the documents"
        in line
        for line in data["summary"]
    )
    assert lost["interval"][0] <= lost["value"] <= lost["interval"][1]
    assert 0 < data["tokenizers"][0]["metrics"]["unk_rate"]["value"] < 1
    assert data["tokenizers"][0]["failures"]
