"""What tokbench wrote itself: a saved folder, and the binary format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench import store
from tokbench.core.descriptions import ByteLevelBpe, DescribesItself
from tokbench.opening.request import Opened
from tokbench.registry import get_backend

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer
    from tokbench.opening.recognition import Source
    from tokbench.opening.request import OpenRequest


def open_saved(source: Source, request: OpenRequest) -> Opened:
    """A folder that a backend saved. Raises `ModelFormatError`, `ConfigError`."""
    backend = get_backend(store.read_manifest(source.path).backend)
    return opened_as_saved(backend.load(source.path), source, request)


def opened_as_saved(tokenizer: Tokenizer, source: Source, request: OpenRequest) -> Opened:
    """What a backend loaded. Raises `ConfigError`."""
    request.takes_nothing("a saved tokenizer")
    reason = f"the backend {tokenizer.info.backend!r} runs what it trained"
    return _opened(tokenizer, source, request, reason=reason)


def open_binary(source: Source, request: OpenRequest) -> Opened:
    """A tokbin file; what is told of it is in its header, so that nothing is parsed.

    Raises:
        ModelFormatError: it is no tokbin file, or a damaged one.
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
        model="byte-level BPE" if is_bpe else tokenizer.info.backend,
        engine=_engine(tokenizer, request, reason=reason),
        reason=reason,
        parts={"normalizer": texts.normalization.upper() if texts.normalization else None} if is_bpe else {},
        merges=file.num_merges if file.model is Model.MERGES else None,
        pattern=(texts.pattern_name or "custom", texts.pattern) if is_bpe else None,
    )


def _opened(tokenizer: Tokenizer, source: Source, request: OpenRequest, *, reason: str) -> Opened:
    engine = _engine(tokenizer, request, reason=reason)
    described = tokenizer.description() if isinstance(tokenizer, DescribesItself) else None
    bpe = described if isinstance(described, ByteLevelBpe) else None
    return Opened(
        tokenizer=tokenizer,
        source=source,
        model="byte-level BPE" if bpe else tokenizer.info.backend,
        engine=engine,
        reason=reason,
        parts={"normalizer": bpe.normalization.upper() if bpe.normalization else None} if bpe else {},
        merges=len(bpe.merges) if bpe and bpe.merges is not None else None,
        pattern=(bpe.pattern_name, bpe.pattern) if bpe else None,
    )


def _engine(tokenizer: Tokenizer, request: OpenRequest, *, reason: str) -> str:
    """The engine that it has. Raises `ConfigError` where another one is asked for."""
    engine = "native" if tokenizer.info.kernel in ("native", "python") else "library"
    if request.engine not in ("auto", engine):
        request.refuses(request.engine, reason)
    return engine
