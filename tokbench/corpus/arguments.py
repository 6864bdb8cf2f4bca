"""Arguments of the Python API that name a corpus: an open one, or a path."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tokbench.corpus import Corpus, open_corpus
from tokbench.errors import CorpusError


def corpus_of(given: object) -> Corpus:
    """A corpus as it is, or that of a path, a pattern or "-".

    Raises:
        CorpusError: it is neither, or the path is missing.
    """
    if isinstance(given, Corpus):
        return given
    if isinstance(given, str | os.PathLike):
        return open_corpus(os.fspath(given))
    hint = "open_corpus(*paths) takes several" if isinstance(given, list | tuple) else None
    raise CorpusError(f"a corpus is one of open_corpus, or a path; this is {type(given).__name__}", hint=hint)


def texts_of(given: object) -> Iterable[str]:
    """Texts as they are, or the corpus of a path. Raises `CorpusError` for what holds no texts."""
    if isinstance(given, str | os.PathLike):
        return corpus_of(given)
    if isinstance(given, bytes | bytearray) or not isinstance(given, Iterable):
        raise CorpusError(
            f"texts are an iterable of strings, a corpus or a path; this is {type(given).__name__}",
            hint="train([text]), or train(open_corpus(path))",
        )
    return given
