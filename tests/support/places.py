"""Paths of the material beside the project, for tests that are parametrized by its files."""

from __future__ import annotations

from pathlib import Path

SHARED = Path(__file__).parents[3] / "shared" / "real"
"""The folder of real vocabularies, vectors and texts, which may be absent."""

VOCABULARIES = (
    *("openai/cl100k_base.tiktoken", "openai/r50k_base.tiktoken", "gpt2/tokenizer.json", "gpt2/vocab.bpe"),
    *("gguf/ggml-vocab-gpt-2.gguf", "falcon", "t5-small", "t5-base", "mistral", "bert-base-uncased"),
    "baai-bge-small-en",
)
"""Every real vocabulary, as a path for `tokbench.load`."""
