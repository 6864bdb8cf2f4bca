"""Tests for the names of formats to convert to, and for what users call them."""

from __future__ import annotations

import pytest

from tokbench.convert.conversion import TARGETS, target_named
from tokbench.errors import ConfigError


def test_unknown_format_suggests_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match="no format 'tiktokn'") as refused:
        target_named("tiktokn")
    assert refused.value.hint == "did you mean 'tiktoken'?"
    with pytest.raises(ConfigError) as refused:
        target_named("xyz")
    assert all(name in str(refused.value.hint) for name in TARGETS)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("HF", "did you mean 'transformers'?"),
        ("tokenizer.json", "did you mean 'tokenizers'?"),
        ("spm", "did you mean 'sentencepiece'?"),
        ("gguf", "llama.cpp's convert_hf_to_gguf.py makes one of a folder"),
        ("llama.cpp", "llama.cpp's convert_hf_to_gguf.py makes one of a folder"),
    ],
)
def test_other_names_of_a_format_are_understood_in_the_hint(name: str, hint: str) -> None:
    with pytest.raises(ConfigError, match="no format") as refused:
        target_named(name)
    assert str(refused.value.hint).startswith(hint)
