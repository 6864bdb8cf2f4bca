"""Exclusion of the output folder from the folders to read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.errors import CorpusError
from tokbench.files.storage.open import place_of, within

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.corpus.corpus import Corpus


def without_folder(corpus: Corpus, folder: str | Path) -> Corpus:
    """Return the corpus without the files of the output folder, which this run or an earlier one writes.

    Args:
        corpus: not modified; returned itself if nothing is left out.
        folder: a path or a URL; it need not exist.

    Raises:
        CorpusError: the corpus has no other files.
    """
    local = place_of(folder).local
    if local is not None and not local.exists():
        return corpus
    is_written = within(folder)
    files = tuple(file for file in corpus.files if file.stream or not is_written(file.address))
    if len(files) == len(corpus.files):
        return corpus
    if not files:
        raise CorpusError(
            f"all files to read are in {folder}, which is the output folder",
            hint="name another folder to write",
        )
    written = len(corpus.files) - len(files)
    return replace(corpus, files=files, left_out=replace(corpus.left_out, written=written))
