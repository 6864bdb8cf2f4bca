"""Folders that tokbench has written are not part of a text: a run twice in one folder gives the same result."""

from __future__ import annotations

import json

import pytest

from tokbench.corpus import open_corpus
from tokbench.errors import CorpusError

TEXT = "low lower lowest\nnew newer newest\n" * 20


@pytest.fixture
def written(run, tmp_path):
    """Return the name of every folder with results, beside one text."""
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    run("train", "a.txt", "--vocab-size", "270", "--name", "mine").good()
    run("count-words", "a.txt", "--out", "words").good()
    run("shards", "write", "a.txt", "-t", "mine", "--out", "ids").good()
    parts = ("--engine", "local", "--workers", "1", "--part-bytes", "100", "--documents", "lines")
    run("shards", "write", "a.txt", "-t", "mine", "--out", "parts", *parts).good()
    return ["tokenizers/mine", "words", "ids", "parts"]


def test_results_are_left_out_of_a_folder(run, tmp_path, written):
    done = run("corpus", ".", "--json").good()
    assert done.json["total"]["bytes"] == len(TEXT)
    assert done.stderr == (
        f"note: left out of the folders: {len(written)} with results of tokbench (tokenizers, words, shards)\n"
    )
    first = run("train", ".", "--vocab-size", "270", "--out", "again", "--json").good().json
    second = run("train", ".", "--vocab-size", "270", "--out", "again", "--force", "--json").good().json
    assert first["fingerprint"] == second["fingerprint"]
    run("corpus", "tokenizers").refused(
        1, "no text files in tokenizers/", "left out: 1 with results of tokbench"
    )


def test_an_unfinished_folder_is_left_out(run, tmp_path):
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    run("count-words", "a.txt", "--out", "words", "--part", "1/2", "--documents", "lines").good()
    assert [path.name for path in (tmp_path / "words").glob("*.json")] == ["plan.json"]
    assert run("corpus", ".", "--json").good().json["total"]["bytes"] == len(TEXT)


def test_a_folder_that_is_named_is_read(run, written):
    assert run("corpus", "tokenizers/mine", "--json").good().json["total"]["files"] > 1
    with pytest.raises(CorpusError) as caught:
        list(open_corpus(written[1]))
    assert caught.value.hint == "it has counted words: tokbench train --counts learns from them"


def test_a_folder_with_an_index_of_its_own_is_read(run, tmp_path):
    (tmp_path / "site").mkdir()
    for name in ("index.json", "words.json"):
        (tmp_path / "site" / name).write_text(json.dumps({"schema": "site/1"}), encoding="utf-8")
    assert run("corpus", ".", "--json").good().json["total"]["files"] == 2
