"""Open tokenizers by name from the network: `tiktoken:NAME` and `hf:ORG/MODEL`; and which of them a model has.

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
    from collections.abc import Iterable

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

    request.refuse_options(f"{TIKTOKEN}{name}")
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


_TIKTOKEN = {
    "o200k_harmony": ("gpt-oss", "gpt-oss-20b", "gpt-oss-120b"),
    "o200k_base": ("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.5", "gpt-5", "o1", "o3", "o4-mini"),
    "cl100k_base": (
        "gpt-4", "gpt-4-turbo", "gpt-3.5", "gpt-3.5-turbo",
        "text-embedding-ada-002", "text-embedding-3-small", "text-embedding-3-large",
    ),
    "p50k_base": ("text-davinci-003", "text-davinci-002", "code-davinci-002"),
    "r50k_base": ("gpt-3", "davinci", "text-davinci-001"),
    "gpt2": ("gpt-2", "gpt2"),
}  # fmt: skip
"""tiktoken's name of a tokenizer → names of models."""

_HUB = {
    "bert": "google-bert/bert-base-uncased",
    "bert-base-uncased": "google-bert/bert-base-uncased",
    "bert-base-cased": "google-bert/bert-base-cased",
    "bert-base-multilingual-cased": "google-bert/bert-base-multilingual-cased",
    "roberta": "FacebookAI/roberta-base",
    "xlm-roberta": "FacebookAI/xlm-roberta-base",
    "t5": "google-t5/t5-base",
    "llama-2": "meta-llama/Llama-2-7b-hf",
    "llama-3": "meta-llama/Meta-Llama-3-8B",
    "llama-3.1": "meta-llama/Llama-3.1-8B",
    "llama-4": "meta-llama/Llama-4-Scout-17B-16E",
    "mistral": "mistralai/Mistral-7B-v0.3",
    "mixtral": "mistralai/Mixtral-8x7B-v0.1",
    "gemma": "google/gemma-7b",
    "gemma-2": "google/gemma-2-9b",
    "gemma-3": "google/gemma-3-4b-it",
    "qwen": "Qwen/Qwen2.5-7B",
    "qwen2": "Qwen/Qwen2-7B",
    "qwen2.5": "Qwen/Qwen2.5-7B",
    "qwen3": "Qwen/Qwen3-8B",
    "deepseek-v3": "deepseek-ai/DeepSeek-V3",
    "phi-2": "microsoft/phi-2",
    "phi-3": "microsoft/Phi-3-mini-4k-instruct",
    "phi-4": "microsoft/phi-4",
    "falcon": "tiiuae/falcon-7b",
    "smollm2": "HuggingFaceTB/SmolLM2-135M",
    "whisper": "openai/whisper-large-v3",
    "clip": "openai/clip-vit-base-patch32",
}
"""Name → repository on the Hugging Face hub, for models whose tokenizer is stored there."""

_BY_NAME = {name: encoding for encoding, names in _TIKTOKEN.items() for name in (encoding, *names)}


def where_to_get(name: str) -> tuple[str, str] | None:
    """Return the tokenizer of a model, and a hint on how to get it.

    Args:
        name: a name for the model, or tiktoken's for the tokenizer; case, "_", " " and missing "-" do not matter.

    Returns:
        The tokenizer, and a hint; None if no model of that name is known.

    >>> where_to_get("GPT4")
    ('cl100k_base', '-t tiktoken:cl100k_base fetches it; or name the file: -t cl100k_base.tiktoken')
    """
    plain = {_plain(model): model for model in (*_BY_NAME, *_HUB)}
    model = plain.get(_plain(name))
    if model is None:
        return None
    if encoding := _BY_NAME.get(model):
        return encoding, f"-t tiktoken:{encoding} fetches it; or name the file: -t {encoding}.tiktoken"
    repository = _HUB[model]
    return repository, (
        f"-t hf:{repository} fetches it; or name the folder or file with its tokenizer.json or tokenizer.model"
    )


def nearest(name: str, others: Iterable[str]) -> str | None:
    """Return the name that was probably meant: one of `others`, or a model's; None if none is close.

    >>> nearest("lama-3", ["mine"]), nearest("mien", ["mine"])
    ('llama-3', 'mine')
    """
    return next(iter(near_names(name, [*others, *_BY_NAME, *_HUB])), None)


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")
