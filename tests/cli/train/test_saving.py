"""Where a trained tokenizer is saved, and what --force replaces."""

from __future__ import annotations

import hashlib
import json
import os

import pytest
from support.folders import files_of
from support.texts import LOW_LOWER

import tokbench


def test_name_and_out_decide_the_folder(train, text, tmp_path):
    assert train(text, "--vocab-size", "260")["directory"] == "tokenizers/bpe-260"
    assert train(text, "--name", "mine")["directory"] == "tokenizers/mine"
    assert train(text, "--out", "deep/er/place")["directory"] == "deep/er/place"
    assert train(text, "--out", str(tmp_path / "absolute"))["directory"] == str(tmp_path / "absolute")
    for place in ("tokenizers/bpe-260", "tokenizers/mine", "deep/er/place", "absolute"):
        names = sorted(path.name for path in (tmp_path / place).iterdir())
        assert names == [
            *["merges.npy", "ranks.tiktoken", "tokbench.json"],
            *["tokenizer.json", "tokenizer_config.json"],
        ]


def test_recorded_checksums_match_the_files(train, text, tmp_path):
    folder = tmp_path / train(text)["directory"]
    recorded = json.loads((folder / "tokbench.json").read_bytes())["files"]
    files = files_of(folder)
    del files["tokbench.json"]
    assert recorded == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/a", ".hidden", "../a", " ", "a\nb", "\t"])
def test_name_that_is_a_path_or_invisible_is_refused(run, text, name, tmp_path):
    run("train", text, "--name", name).refused(2, "--name", "--out takes any path")
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_name_and_out_together_are_refused(run, text):
    run("train", text, "--name", "a", "--out", "b").refused(2, "--out and --name", "give one of them")


def test_force_replaces_only_saved_tokenizers(run, train, text, tmp_path):
    place = tmp_path / "tokenizers" / "mine"
    train(text, "--name", "mine", "--vocab-size", "260")
    before = files_of(place)
    run("train", text, "--name", "mine").refused(1, "tokenizers/mine exists", "--force replaces it")
    assert files_of(place) == before
    assert train(text, "--name", "mine", "--vocab-size", "270", "--force")["vocab_size"] == 270
    assert tokbench.load(place).info.vocab_size == 270
    (place / "notes.txt").write_text("mine, not tokbench's", encoding="utf-8")
    before = files_of(place)
    run("train", text, "--name", "mine", "--force").refused(
        1, "will not be replaced: tokbench did not write notes.txt", "move it elsewhere"
    )
    assert files_of(place) == before
    assert sorted(path.name for path in place.parent.iterdir()) == ["mine"]


def test_force_replaces_an_empty_folder_only(run, train, text, tmp_path):
    (tmp_path / "empty").mkdir()
    run("train", text, "--out", "empty").refused(1, "empty exists")
    assert train(text, "--out", "empty", "--force")["directory"] == "empty"
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_bytes(b"a cat")
    run("train", text, "--out", "photos", "--force").refused(1, "photos will not be replaced", "cat.jpg")
    assert files_of(tmp_path / "photos") == {"cat.jpg": b"a cat"}
    run("train", text, "--out", text, "--force").refused(1, "text.txt is a file", "--out names a folder")
    run("train", text, "--out", "text.txt/below").refused(1, "a part of its path is a file")
    assert (tmp_path / text).read_text(encoding="utf-8") == LOW_LOWER


def test_force_replaces_the_target_of_a_link(train, text, tmp_path):
    train(text, "--name", "mine", "--vocab-size", "260")
    (tmp_path / "link").symlink_to("tokenizers/mine")
    train(text, "--out", "link", "--vocab-size", "270", "--force")
    assert (tmp_path / "link").is_symlink()
    assert tokbench.load(tmp_path / "tokenizers" / "mine").info.vocab_size == 270


def test_roles_and_chat_template_are_saved(run, text, tmp_path):
    (tmp_path / "chat.jinja").write_text("{{ messages }}")
    arguments = ["train", text, "--vocab-size", "300", "--special-token", "<|end|>", "--out", "mine"]
    run(*arguments, "--role", "eos=<|end|>", "--chat-template", "chat.jinja").good()
    document = run("inspect", "-t", "mine", "--json").good().json
    end = {"token": "<|end|>", "id": document["special_tokens"]["<|end|>"]}
    assert document["roles"] == {"eos": end, "turn_end": end}
    assert list(document["chat_templates"]) == ["default"]
    run(*arguments, "--force", "--role", "end=<|end|>").refused(2, "there is no role 'end'")
    run(*arguments, "--force", "--role", "eos=<|stop|>").refused(2, "is not a special token")


@pytest.mark.parametrize("backend", ["bpe", "wordpiece", "unigram", "sentencepiece"])
def test_role_of_an_unknown_special_token_is_refused_before_training(run, text, monkeypatch, backend):
    monkeypatch.setattr("tokbench.corpus.Corpus.documents", None)
    arguments = ["train", text, "--backend", backend, "--vocab-size", "300", "--out", "mine"]
    run(*arguments, "--role", "eos=<|stop|>").refused(
        2, "is not a special token of this training", "; --special-token '<|stop|>' adds it"
    )


def test_same_training_leaves_the_saved_tokenizer(run, train, tmp_path):
    (tmp_path / "a.txt").write_text("abc abd " * 20, encoding="utf-8")
    assert train("a.txt")["unchanged"] is False
    assert train("a.txt")["unchanged"] is True
    assert "(unchanged: the same tokenizer was already there)" in run("train", "a.txt").good().stdout
    assert train("a.txt", "--force")["unchanged"] is False
    assert train("a.txt", "--name", "mine")["unchanged"] is False
    run("train", "a.txt", "--name", "mine").refused(1, "tokenizers/mine exists", "--force replaces it")


def test_other_training_of_the_same_name_is_refused(run, train, tmp_path):
    (tmp_path / "a.txt").write_text("abc abd " * 20, encoding="utf-8")
    folder = train("a.txt")["directory"]
    (tmp_path / "a.txt").write_text("abc abe " * 20, encoding="utf-8")
    run("train", "a.txt").refused(1, f"{folder} exists", "--force replaces it")


def test_a_folder_that_exists_is_refused_before_the_training(run, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("low lower lowest " * 9)
    run("train", "a.txt", "--vocab-size", "258").good()
    path.write_bytes(b"\xff")
    run("train", "a.txt", "--vocab-size", "258").refused(1, "tokenizers/bpe-258 exists", "--force")
    run("train", "a.txt", "--vocab-size", "259").refused(1, "not UTF-8")


def test_a_folder_that_cannot_be_created_is_refused_before_the_training(run, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_bytes(b"\xff")
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(tmp_path))
    for option in (["--name", "mine"], ["--vocab-size", "300"], [], ["--out", "new/folder"]):
        run("train", "a.txt", *option).refused(
            1, "cannot be created: no permission to write to", "can write to"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
