"""Open what tokbench wrote: saved folders, the built-in tokenizer `default`, and the binary format tokbin."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from tokbench import __version__, store
from tokbench.core.descriptions import ByteLevelBpe, DescribesItself
from tokbench.core.progress import no_progress
from tokbench.errors import ModelFormatError, StoreError, TokbenchError
from tokbench.opening.request import Composition, Opened
from tokbench.registry import get_backend

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer
    from tokbench.core.manifest import Manifest
    from tokbench.core.progress import Progress
    from tokbench.opening.recognition import Source
    from tokbench.opening.request import OpenRequest

DEFAULT_NAME = "default"
DEFAULT_BACKEND = "bpe"
DEFAULT_OPTIONS = {"vocab_size": 8192, "pattern": "gpt4", "special_tokens": ["<|endoftext|>"]}


def open_saved(source: Source, request: OpenRequest) -> Opened:
    """Open a folder that a backend saved. Raises `ModelFormatError`, `ConfigError`."""
    return opened_as_saved(load_saved(source.path, manifest=source.manifest), source, request)


def load_saved(directory: Path, *, manifest: Manifest | None = None) -> Tokenizer:
    """Load the tokenizer from a folder that a backend saved.

    Args:
        directory: the folder.
        manifest: its manifest, if already read.

    Raises:
        StoreError: the folder holds no saved tokenizer.
        ModelFormatError: the folder is damaged.
    """
    manifest = manifest or store.read_manifest(directory)
    return get_backend(manifest.backend).load(directory, manifest)


def opened_as_saved(tokenizer: Tokenizer, source: Source, request: OpenRequest) -> Opened:
    """Wrap a tokenizer that its backend has loaded. Raises `ConfigError`."""
    request.refuse_options("a saved tokenizer")
    reason = f"the backend {tokenizer.info.backend!r} runs what it trained"
    return Opened(
        tokenizer=tokenizer,
        source=source,
        engine=_checked_engine(tokenizer, request, reason=reason),
        reason=reason,
        compose=cache(partial(_composition, tokenizer)),
    )


def default_directory() -> Path:
    """Return the cache folder of the default tokenizer of this version and these bundled texts."""
    import hashlib

    import platformdirs

    from tokbench.files.bundled import corpora_directory

    manifest = (corpora_directory() / "MANIFEST.toml").read_bytes()
    key = hashlib.sha256(
        b"\0".join([__version__.encode(), repr(DEFAULT_OPTIONS).encode(), manifest])
    ).hexdigest()
    return Path(platformdirs.user_cache_dir("tokbench", appauthor=False)) / key[:12] / DEFAULT_NAME


def default_tokenizer(*, progress: Progress = no_progress) -> Tokenizer:
    """Return the default tokenizer, trained at first use; if the cache cannot be written, at every use."""
    directory = default_directory()
    backend = get_backend(DEFAULT_BACKEND)
    if directory.is_dir():
        try:
            return backend.load(directory, store.read_manifest(directory))
        except (ModelFormatError, StoreError):
            import shutil

            shutil.rmtree(directory, ignore_errors=True)  # damaged: it is our own cache, so train it again
    from tokbench.config import build_config
    from tokbench.corpus import bundled_corpus

    config = build_config(backend.config_type, DEFAULT_OPTIONS, where="the default tokenizer")
    tokenizer = backend.train(bundled_corpus(), config, progress=progress)
    try:
        tokenizer.save(directory, overwrite=True)
        return backend.load(directory, store.read_manifest(directory))
    except TokbenchError:  # the cache cannot be written, or another process is replacing it right now
        return tokenizer


def open_binary(source: Source, request: OpenRequest) -> Opened:
    """Open a tokbin file; its description comes from the header, so nothing else is parsed.

    Raises:
        ModelFormatError: it is not a tokbin file, or a damaged one.
        ConfigError: an option sets what the file already defines, or another engine is demanded.
    """
    from tokbench.formats.tokbin.layout import Model
    from tokbench.opening.tokbin import open_tokbin

    request.refuse_options("a tokbin file")
    tokenizer = open_tokbin(source.files[0])
    reason = "the file contains what the engine needs"
    file, texts = tokenizer.file, tokenizer.file.texts
    is_bpe = file.model in (Model.RANKS, Model.MERGES)
    return Opened(
        tokenizer=tokenizer,
        source=source,
        engine=_checked_engine(tokenizer, request, reason=reason),
        reason=reason,
        compose=lambda: Composition(
            model="byte-level BPE" if is_bpe else tokenizer.info.backend,
            parts={"normalizer": texts.normalization.upper() if texts.normalization else None}
            if is_bpe
            else {},
            merges=file.num_merges if file.model is Model.MERGES else None,
            pattern=(texts.pattern_name or "custom", texts.pattern) if is_bpe else None,
        ),
    )


def _composition(tokenizer: Tokenizer) -> Composition:
    described = tokenizer.description() if isinstance(tokenizer, DescribesItself) else None
    if not isinstance(described, ByteLevelBpe):
        return Composition(model=tokenizer.info.backend)
    return Composition(
        model="byte-level BPE",
        parts={"normalizer": described.normalization.upper() if described.normalization else None},
        merges=None if described.merges is None else len(described.merges),
        pattern=(described.pattern_name, described.pattern),
    )


def _checked_engine(tokenizer: Tokenizer, request: OpenRequest, *, reason: str) -> str:
    """Return the tokenizer's engine. Raises `ConfigError` if the user demands another one."""
    engine = "native" if tokenizer.info.kernel in ("native", "python") else "library"
    if request.engine not in ("auto", engine):
        request.refuse_engine(request.engine, reason)
    return engine
