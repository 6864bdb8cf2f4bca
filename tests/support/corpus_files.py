"""Helpers that write corpus files into the current folder and read them as a corpus."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import lzma
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tokbench.corpus import Corpus, open_corpus
from tokbench.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.core.documents import ByteSource


def write(path: str, data: str | bytes = "text") -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return file


def write_jsonl(path: str, *records: object) -> Path:
    return write(path, "".join(json.dumps(record) + "\n" for record in records))


def names(corpus: Corpus) -> list[str]:
    return [file.name for file in corpus.files]


def groups(*paths: str, **options) -> list[str]:
    return [document.group for document in open_corpus(*paths, **options).documents()]


def texts_of(sources) -> list[str]:
    """Return the documents of byte sources, by the definition of `ByteSource`."""
    return [text for source in sources for text in documents_by_definition(source)]


def documents_by_definition(source: ByteSource) -> list[str]:
    data = source.path.read_bytes() if source.path else b"".join(source.blocks)
    text = data.decode()
    if source.documents == "file":
        return [text] if text else []
    assert source.documents == "lines"
    *ended, last = text.split("\n")
    return [line for line in [*(line.removesuffix("\r") for line in ended), last] if line.strip()]


def fails(message: str, *paths: str, **options) -> CorpusError:
    """Read a corpus, and return the error that it must raise with this message and a hint."""
    with pytest.raises(CorpusError) as caught:
        list(open_corpus(*paths, **options))
    assert message in caught.value.message
    assert caught.value.hint
    return caught.value


def zstd(data: bytes) -> bytes:
    return pytest.importorskip("zstandard").ZstdCompressor(write_checksum=True).compress(data)


def fingerprint(texts: Iterable[str]) -> str:
    """Compute `Corpus.fingerprint` by its definition."""
    return f"{sum(int(hashlib.sha256(text.encode()).hexdigest(), 16) for text in texts) % 2**256:064x}"


PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}
