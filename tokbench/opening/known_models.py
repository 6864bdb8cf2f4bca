"""Map the common names of models to their tokenizers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.core.wording import near_names

if TYPE_CHECKING:
    from collections.abc import Iterable

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
