"""Tokenizers in other processes: copies, pickles, and newly started workers."""

from __future__ import annotations

import copy
import multiprocessing
import pickle

import pytest
from support.small_files import document, document_file

import tokbench
from tokbench.errors import ConfigError, ConversionError
from tokbench.formats.tokenizer_config.roles import with_roles

TEXT = "the cat sat on the mat, and naïve cats ate 12 mats"
SIZES = {
    "bpe": 280,
    "sentencepiece": 280,
    "wordpiece": 40,
    "unigram": 280,
    "byte": None,
    "char": 40,
    "word": 20,
}


def pickled_copy(tokenizer):
    return pickle.loads(pickle.dumps(tokenizer))


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(f"{TEXT}\n" * 20, encoding="utf-8")
    return path


@pytest.mark.parametrize("backend", SIZES)
def test_trained_tokenizer_is_pickled_with_its_files(corpus, backend):
    size = {} if SIZES[backend] is None else {"vocab_size": SIZES[backend]}
    trained = tokbench.train(corpus, backend=backend, **size)
    corpus.unlink()
    for unpickled in (pickled_copy(trained), pickled_copy(pickled_copy(trained))):
        assert unpickled.encode(TEXT) == trained.encode(TEXT)
        assert (unpickled.info.name, unpickled.info.vocab_size) == (
            trained.info.name,
            trained.info.vocab_size,
        )


def test_opened_tokenizer_is_unpickled_from_its_file(tmp_path, monkeypatch):
    document_file(tmp_path, document(), name="tokenizer.json")
    monkeypatch.chdir(tmp_path)
    opened = tokbench.load("tokenizer.json", engine="library")
    pickled = pickle.dumps(opened)
    monkeypatch.chdir("/")
    other = pickle.loads(pickled)
    assert other.encode(TEXT) == opened.encode(TEXT)
    assert other.info == opened.info
    assert pickle.dumps(other) == pickled


def test_pickling_keeps_the_users_roles(corpus, tmp_path):
    trained = tokbench.train(corpus, backend="bpe", vocab_size=280, special_tokens=["<end>"])
    trained.save(tmp_path / "saved")
    opened = tokbench.load(tmp_path / "saved", roles={"eos": "<end>"})
    assert pickled_copy(opened).roles == opened.roles == {"eos": "<end>"}


def test_unpickling_refuses_changed_files(corpus, tmp_path):
    tokbench.train(corpus, backend="bpe", vocab_size=280).save(tmp_path / "saved")
    pickled = pickle.dumps(tokbench.load(tmp_path / "saved"))
    tokbench.train(corpus, backend="bpe", vocab_size=270).save(tmp_path / "saved", overwrite=True)
    with pytest.raises(ConfigError, match="is a different tokenizer"):
        pickle.loads(pickled)


def test_pickling_without_files_is_refused_with_a_hint(tmp_path):
    path = document_file(tmp_path, document(), name="tokenizer.json")
    opened = tokbench.load(path)
    opened.origin = None
    with pytest.raises(ConversionError, match="cannot be sent to another process") as caught:
        pickle.dumps(opened)
    assert "tokbench.load" in caught.value.hint


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copy_has_its_own_roles(corpus, copied):
    trained = tokbench.train(corpus, backend="bpe", vocab_size=280, special_tokens=["<end>"])
    other = with_roles(copied(trained), roles={"eos": "<end>"})
    assert other.encode(TEXT) == trained.encode(TEXT)
    assert (other.roles, trained.roles) == ({"eos": "<end>"}, {})
    assert pickled_copy(other).roles == other.roles


def test_spawned_process_encodes_the_same(corpus):
    trained = tokbench.train(corpus, backend="bpe", vocab_size=280)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(trained.encode, [TEXT, "mats"]) == [trained.encode(TEXT), trained.encode("mats")]
