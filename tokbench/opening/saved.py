"""What tokbench wrote itself: a saved folder, and the binary format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench import store
from tokbench.models import ByteLevelBpe, DescribesItself
from tokbench.opening.request import Opened
from tokbench.registry import get_backend

if TYPE_CHECKING:
    from tokbench.interfaces import Tokenizer
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
    """A tokbin file. Raises `ModelFormatError`, `ConfigError`."""
    from tokbench.tokbin import open_tokbin

    request.takes_nothing("a tokbin file")
    tokenizer = open_tokbin(source.files[0])
    return _opened(tokenizer, source, request, reason="the file holds what the engine needs")


def _opened(tokenizer: Tokenizer, source: Source, request: OpenRequest, *, reason: str) -> Opened:
    engine = "native" if tokenizer.info.kernel in ("native", "python") else "library"
    if request.engine not in ("auto", engine):
        request.refuses(request.engine, reason)
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
