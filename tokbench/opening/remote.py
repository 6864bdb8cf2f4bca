"""Open tokenizers by name from the network: `tiktoken:NAME` and `hf:ORG/MODEL`.

Only these forms use the network, through the libraries `tiktoken` and `huggingface_hub`, which look into their caches
first (TIKTOKEN_CACHE_DIR; HF_HOME, HF_HUB_OFFLINE).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tokbench.core.wording import near_names
from tokbench.errors import BackendUnavailableError, StoreError
from tokbench.opening.config_files import NAMES, TEMPLATES
from tokbench.opening.recognition import Format, Source, recognize

if TYPE_CHECKING:
    from tokbench.opening.request import Opened, OpenRequest

TIKTOKEN, HUB = "tiktoken:", "hf:"

_HUB_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    *NAMES,
    f"{TEMPLATES}/*.jinja",
    "config.json",
)
"""The files to download: data only, neither weights nor code."""


def is_remote(name: str) -> bool:
    """Whether a name refers to a tokenizer that may have to be downloaded.

    >>> is_remote("hf:org/model"), is_remote("tokenizers/mine")
    (True, False)
    """
    return name.startswith((TIKTOKEN, HUB))


def open_remote(name: str, request: OpenRequest) -> Opened:
    """Open the tokenizer of a remote name.

    Raises:
        StoreError: there is no such tokenizer, or it cannot be downloaded; the hint says which file to put where.
        BackendUnavailableError: the library that downloads it is not installed.
        ModelFormatError, ConfigError: as `open_path`.
    """
    if name.startswith(TIKTOKEN):
        return _open_tiktoken(name.removeprefix(TIKTOKEN), request)
    return _open_hub(name.removeprefix(HUB), request)


def _open_tiktoken(name: str, request: OpenRequest) -> Opened:
    import tiktoken

    from tokbench.opening.tiktoken_ranks import open_encoding

    request.takes_nothing(f"{TIKTOKEN}{name}")
    known = tiktoken.list_encoding_names()
    if name not in known:
        close = near_names(name, known)
        meant = f"did you mean tiktoken:{close[0]}? " if close else ""
        raise StoreError(f"tiktoken has no {name!r}", hint=f"{meant}it has {', '.join(known)}")
    try:
        encoding = tiktoken.get_encoding(name)
    except Exception as error:  # whatever its HTTP client raises
        raise StoreError(
            f"tiktoken cannot fetch {name!r}: {_first_line(error)}",
            hint=f"get {name}.tiktoken on a machine that can, and name the file: -t {name}.tiktoken; "
            "or copy that machine's cache and set TIKTOKEN_CACHE_DIR",
        ) from None
    return open_encoding(
        encoding, source=Source(Format.RANKS, Path(f"{TIKTOKEN}{name}"), ()), request=request
    )


def _open_hub(name: str, request: OpenRequest) -> Opened:
    from tokbench.opening.open import open_found

    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise BackendUnavailableError(
            "huggingface_hub is not installed", hint="pip install huggingface_hub"
        ) from None
    try:
        folder = snapshot_download(name, allow_patterns=list(_HUB_FILES))
    except Exception as error:  # its own errors, its HTTP client's, and ValueError for odd names
        raise StoreError(
            f"{HUB}{name} cannot be fetched: {_first_line(error)}",
            hint="download its tokenizer.json (or tokenizer.model) into a folder and name the folder: -t FOLDER; "
            "a private model needs HF_TOKEN",
        ) from None
    source = recognize(Path(folder))
    return open_found(source, request)


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:200]
