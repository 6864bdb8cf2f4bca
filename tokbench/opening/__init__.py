"""Opening what exists: tokenizers of other tools, by the content of their files.

A byte-level BPE runs on our kernel where its ids are provably the library's, and everything else
runs on the library it came from; `Opened` says which, and why. Nothing here runs code that comes
with a model, and only a name that begins with `tiktoken:` or `hf:` touches the network.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tokbench.errors import ConfigError, ModelFormatError
from tokbench.opening.recognition import Format, Source, recognise, recognise_without
from tokbench.opening.request import ENGINES, Opened, OpenRequest
from tokbench.store.saveable import SaveableTokenizer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.core.interfaces import Tokenizer

__all__ = ["ENGINES", "Format", "OpenRequest", "Opened", "Source", "open_found", "open_path", "recognise"]


def open_path(
    path: Path | str,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int | None] | None = None,
    engine: str = "auto",
) -> Tokenizer:
    """The tokenizer in a file or folder, recognised by content.

    Args:
        path: a saved folder, `.tiktoken` ranks, `tokenizer.json`, a SentencePiece model, a vocabulary with
            merges, `vocab.txt`, GGUF, tokbin, or a folder with one of them.
        pattern: how text is split, a name or a regular expression, where the file does not say.
        special_tokens: text → id where the file does not say; None for the next free id.
        engine: "native", "library", or "auto", which is native where that is provably the same.

    Raises:
        StoreError: nothing is there, or it cannot be read.
        ModelFormatError: it is no tokenizer, or a damaged one.
        ConfigError: an option that cannot be used, or a pattern that is needed and not given; or
            an engine was asked for that cannot run it exactly.

    Usage:

        open_path("ranks.tiktoken", pattern="gpt4o", special_tokens={"<|eot|>": 200000})
    """
    request = OpenRequest(pattern=pattern, special_tokens=special_tokens or {}, engine=engine)
    return open_found(recognise(Path(path)), request).tokenizer


def open_found(source: Source, request: OpenRequest) -> Opened:
    """Open what was recognised, in a folder the first file that is whole. Raises as `open_path` does."""
    try:
        return _open_recognised(source, request)
    except ModelFormatError as error:
        other = recognise_without(source, error)
    except ConfigError as error:
        if not source.damaged:
            raise
        wrong = "; ".join(damage.message for damage in source.damaged.values())
        raise ConfigError(f"{error.message} (passed over: {wrong})", hint=error.hint) from None
    return open_found(other, request)


def _open_recognised(source: Source, request: OpenRequest) -> Opened:
    from tokbench.opening.config_files import with_config
    from tokbench.opening.openers import opener_of

    opened = opener_of(source.format)(with_config(source), request)
    config = opened.source.config
    if isinstance(opened.tokenizer, SaveableTokenizer):
        opened.tokenizer.tokenizer_config = config
    return replace(opened, find_warnings=lambda: (*source.passed_over, *opened.warnings, *config.problems))
