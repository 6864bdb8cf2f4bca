"""Tokenizers that are named where text is expected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ENDINGS = {".json", ".model", ".spm", ".tiktoken", ".gguf", ".tokbin", ".bin"}
_MOST_BYTES = 1 << 28
"""Of a file that is looked at: larger ones are corpora."""


def tokenizers_among(paths: Sequence[str]) -> Iterator[Path]:
    """Those of some paths that are tokenizers, by their names and their content; word lists and merges may be text.

    >>> list(tokenizers_among(["README.md", "-", "https://example.com/x.json"]))
    []
    """
    from tokbench import store
    from tokbench.opening.recognition import Format, recognize

    of_lines = {Format.WORDPIECE_VOCAB, Format.VOCAB_AND_MERGES}  # as text has them, too
    for path in map(Path, paths):
        try:
            if store.is_saved_tokenizer(path) or (
                _is_candidate(path) and recognize(path).format not in of_lines
            ):
                yield path
        except (TokbenchError, OSError, ValueError):
            continue


def _is_candidate(path: Path) -> bool:
    from tokbench.opening.files import plain_name

    return plain_name(path).suffix in _ENDINGS and path.is_file() and path.stat().st_size <= _MOST_BYTES
