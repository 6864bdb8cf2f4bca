"""Detection of tokenizers that are named where text is expected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ENDINGS = {".json", ".model", ".spm", ".tiktoken", ".gguf", ".tokbin", ".bin"}
_MOST_BYTES = 1 << 28
"""Maximum size of a file that is inspected; larger files are corpora."""


def tokenizers_among(paths: Sequence[str]) -> Iterator[Path]:
    """Yield the paths that are tokenizers, by name and content; word lists and merges are not, as they may be text.

    >>> list(tokenizers_among(["README.md", "-", "https://example.com/x.json"]))
    []
    """
    from tokbench import store
    from tokbench.opening.recognition import Format, recognize

    line_formats = {Format.WORDPIECE_VOCAB, Format.VOCAB_AND_MERGES}  # ordinary text may look like these
    for path in map(Path, paths):
        try:
            if store.is_saved_tokenizer(path) or (
                _is_candidate(path) and recognize(path).format not in line_formats
            ):
                yield path
        except (TokbenchError, OSError, ValueError):
            continue


def _is_candidate(path: Path) -> bool:
    from tokbench.opening.files import plain_name

    return plain_name(path).suffix in _ENDINGS and path.is_file() and path.stat().st_size <= _MOST_BYTES
