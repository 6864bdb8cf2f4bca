"""The built-in tokenizer `default`: trained once on the bundled texts and kept in the user's cache."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokbench import __version__
from tokbench.core.progress import no_progress
from tokbench.errors import ModelFormatError, StoreError, TokbenchError

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.progress import Progress

DEFAULT_NAME = "default"
DEFAULT_BACKEND = "bpe"
DEFAULT_OPTIONS = {"vocab_size": 8192, "pattern": "gpt4", "special_tokens": ["<|endoftext|>"]}


def default_directory() -> Path:
    """Where the default tokenizer of this version and these texts is kept."""
    import hashlib

    import platformdirs

    from tokbench.files.bundled import corpora_directory

    manifest = (corpora_directory() / "MANIFEST.toml").read_bytes()
    key = hashlib.sha256(
        b"\0".join([__version__.encode(), repr(DEFAULT_OPTIONS).encode(), manifest])
    ).hexdigest()
    return Path(platformdirs.user_cache_dir("tokbench", appauthor=False)) / key[:12] / DEFAULT_NAME


def default_tokenizer(*, progress: Progress = no_progress) -> Tokenizer:
    """The default tokenizer, trained at its first use; where the cache cannot be written, at each use."""
    from tokbench.registry import get_backend

    directory = default_directory()
    backend = get_backend(DEFAULT_BACKEND)
    if directory.is_dir():
        try:
            return backend.load(directory)
        except (ModelFormatError, StoreError):
            import shutil

            shutil.rmtree(directory, ignore_errors=True)  # damaged: it is ours, and made anew
    from tokbench.config import build_config
    from tokbench.corpus import bundled_corpus

    config = build_config(backend.config_type, DEFAULT_OPTIONS, where="the default tokenizer")
    tokenizer = backend.train(bundled_corpus(), config, progress=progress)
    try:
        tokenizer.save(directory, overwrite=True)
        return backend.load(directory)
    except TokbenchError:  # no place to keep it, or another process is replacing it at this moment
        return tokenizer
