"""What tokbench wrote itself: a saved folder, the built-in tokenizer `default`, and the binary format."""

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
    """A folder that a backend saved. Raises `ModelFormatError`, `ConfigError`."""
    return opened_as_saved(load_saved(source.path, manifest=source.manifest), source, request)


def load_saved(directory: Path, *, manifest: Manifest | None = None) -> Tokenizer:
    """The tokenizer in a folder that a backend saved.

    Args:
        directory: the folder.
        manifest: what it says of itself, where that was read already.

    Raises:
        StoreError: there is no saved tokenizer.
        ModelFormatError: it is damaged.
    """
    manifest = manifest or store.read_manifest(directory)
    return get_backend(manifest.backend).load(directory, manifest)


def opened_as_saved(tokenizer: Tokenizer, source: Source, request: OpenRequest) -> Opened:
    """What a backend loaded. Raises `ConfigError`."""
    request.takes_nothing("a saved tokenizer")
    reason = f"the backend {tokenizer.info.backend!r} runs what it trained"
    return Opened(
        tokenizer=tokenizer,
        source=source,
        engine=_engine(tokenizer, request, reason=reason),
        reason=reason,
        compose=cache(partial(_composition, tokenizer)),
    )


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
    directory = default_directory()
    backend = get_backend(DEFAULT_BACKEND)
    if directory.is_dir():
        try:
            return backend.load(directory, store.read_manifest(directory))
        except (ModelFormatError, StoreError):
            import shutil

            shutil.rmtree(directory, ignore_errors=True)  # damaged: it is ours, and made anew
    from tokbench.config import build_config
    from tokbench.corpus import bundled_corpus

    config = build_config(backend.config_type, DEFAULT_OPTIONS, where="the default tokenizer")
    tokenizer = backend.train(bundled_corpus(), config, progress=progress)
    try:
        tokenizer.save(directory, overwrite=True)
        return backend.load(directory, store.read_manifest(directory))
    except TokbenchError:  # no place to keep it, or another process is replacing it at this moment
        return tokenizer


def open_binary(source: Source, request: OpenRequest) -> Opened:
    """Open a tokbin file; its description comes from the header, so nothing else is parsed.

    Raises:
        ModelFormatError: it is not a tokbin file, or a damaged one.
        ConfigError: the request asks for what it does not have.
    """
    from tokbench.formats.tokbin import Model
    from tokbench.opening.tokbin import open_tokbin

    request.takes_nothing("a tokbin file")
    tokenizer = open_tokbin(source.files[0])
    reason = "the file holds what the engine needs"
    file, texts = tokenizer.file, tokenizer.file.texts
    is_bpe = file.model in (Model.RANKS, Model.MERGES)
    return Opened(
        tokenizer=tokenizer,
        source=source,
        engine=_engine(tokenizer, request, reason=reason),
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


def _engine(tokenizer: Tokenizer, request: OpenRequest, *, reason: str) -> str:
    """The engine that it has. Raises `ConfigError` where another one is asked for."""
    engine = "native" if tokenizer.info.kernel in ("native", "python") else "library"
    if request.engine not in ("auto", engine):
        request.refuses(request.engine, reason)
    return engine
