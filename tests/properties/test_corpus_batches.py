"""`Corpus.texts_of` gives the same documents as iteration, for any text, batches and options."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts import texts

import tokbench
from tokbench.corpus import Problems
from tokbench.corpus import bytes as corpus_bytes
from tokbench.errors import CorpusError

line_ends = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\u2028", "\n \n", ""])
files = st.lists(st.tuples(texts, line_ends).map("".join), max_size=8).map("".join)


@given(
    contents=st.lists(files, min_size=1, max_size=3),
    documents=st.sampled_from(["file", "lines", "paragraphs"]),
    errors=st.sampled_from(["strict", "replace", "skip"]),
    batch=st.sampled_from([1, 7, 1000]),
    block=st.sampled_from([1, 3, 1 << 20]),
    bad=st.booleans(),
)
def test_texts_of_all_files_equal_those_of_the_corpus(
    *, contents: list[str], documents: str, errors: str, batch: int, block: int, bad: bool
) -> None:
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_bytes, "BLOCK_BYTES", block)
        for number, text in enumerate(contents):
            data = text.encode() + (b"\nb\xe9d\n" if bad else b"")
            (Path(name) / f"{number}.txt").write_bytes(data)
        corpus = tokbench.open_corpus(name, documents=documents, errors=errors)  # type: ignore[arg-type]
        problems = Problems()
        try:
            wanted = list(corpus)
        except CorpusError:
            wanted = None
        try:
            batches = [
                texts for file in corpus.files for texts in corpus.texts_of(file, problems, batch=batch)
            ]
        except CorpusError:
            assert wanted is None
            return
        assert [text for texts in batches for text in texts] == (wanted or [])
        assert all(
            sum(map(len, texts[:-1])) < max(batch, block * 4) or documents == "lines" for texts in batches
        )
        if wanted:
            assert problems == corpus.problems
