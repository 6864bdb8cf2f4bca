"""The fingerprint of a corpus, and its division in two."""

from __future__ import annotations

import codecs
import gzip
import random

import pytest
from support.corpus_files import fingerprint, texts_of, write, write_jsonl

from tokbench.corpus import open_corpus
from tokbench.errors import ConfigError, CorpusError

pytestmark = pytest.mark.usefixtures("folder")


class TestFingerprint:
    @pytest.mark.parametrize("unit", ["file", "lines", "paragraphs"])
    def test_fingerprint_of_a_corpus_equals_that_of_its_texts(self, unit):
        write("a.txt", "one\r\ntwo\n\nthree")
        write("b.txt", codecs.BOM_UTF8 + b"vier\n")
        write_jsonl("c.jsonl", {"text": "one"}, {"text": "a\n\nb"})
        corpus = open_corpus("a.txt", "b.txt", "c.jsonl", documents=unit)
        assert corpus.fingerprint() == fingerprint(corpus)

    def test_fingerprint_does_not_depend_on_the_files(self):
        write("a/1.txt", "x\ny")
        write("b/z.txt", "y\n\n")
        write("b/y.txt.gz", gzip.compress(b"x\r\n"))
        first, second = (open_corpus(folder, documents="lines") for folder in "ab")
        assert first.fingerprint() == second.fingerprint()


class TestSplit:
    @pytest.fixture
    def corpus(self):
        write("a.txt", "\n".join(f"line {number}" for number in range(2000)))
        return open_corpus("a.txt", documents="lines")

    def test_split_sides_partition_the_corpus(self, corpus):
        train, held_out = (list(side) for side in corpus.split(0.1))
        assert sorted(train + held_out) == sorted(corpus)
        assert not set(train) & set(held_out)
        assert 140 < len(held_out) < 260

    def test_split_depends_on_text_and_seed_only(self, corpus):
        lines = list(corpus)
        random.Random(0).shuffle(lines)
        write_jsonl("b.jsonl", *({"text": line} for line in lines))
        again = open_corpus("b.jsonl")
        for seed in (0, 1, -5, 10**100):
            assert set(corpus.split(seed=seed)[1]) == set(again.split(seed=seed)[1])
        assert set(corpus.split(seed=0)[1]) != set(corpus.split(seed=1)[1])

    def test_larger_share_includes_the_smaller_one(self, corpus):
        assert set(corpus.split(0.1)[1]) < set(corpus.split(0.2)[1])

    def test_split_sides_are_corpora(self, corpus):
        for side in corpus.split():
            texts = list(side)
            assert [document.text for document in side.documents()] == texts
            assert texts_of(side.byte_sources()) == texts
            assert side.fingerprint() == fingerprint(texts)
            assert side.files == corpus.files

    def test_split_side_can_be_split_again(self, corpus):
        train, test = corpus.split(0.2)
        train, validation = train.split(0.2)
        parts = [set(train), set(validation), set(test)]
        assert set.union(*parts) == set(corpus)
        assert sum(map(len, parts)) == 2000
        assert len(parts[1]) > 200

    def test_empty_split_side_is_refused(self):
        write("a.txt", "one")
        sides = open_corpus("a.txt").split(0.5)
        messages = set()
        for side in sides:
            try:
                assert list(side) == ["one"]
            except CorpusError as error:
                messages.add(error.message)
                assert "lines" in error.hint
        assert len(messages) == 1
        assert messages < {
            "the held-out part of the corpus has no document",
            "the training part of the corpus has no document",
        }

    @pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, float("nan")])
    def test_invalid_share_is_refused(self, corpus, share):
        with pytest.raises(ConfigError, match="not a share"):
            corpus.split(share)
