"""Small tokenizers to convert: a trained BPE, and variants that change one part of it."""

from __future__ import annotations

import atexit
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import tokbench
from tokbench.opening.tokbin import tokenizer_of

if TYPE_CHECKING:
    from tokbench.core.descriptions import ByteLevelBpe
    from tokbench.core.interfaces import Tokenizer

TRAINING_TEXT = (
    "the cat, the hat and the 1234 mat; aaaa aaab das Haus, дом дома, 東京 東京都 तमिल\n    if x:\n"
    "Some words occur more often than others: other words, often; it's what we'd expect, isn't it?\n" * 4
)
SPECIALS = ("<|end|>", "<|pad|>")


@cache
def trained(pattern: str = "gpt4", vocab_size: int = 340) -> Any:
    """Train a byte-level BPE with two special tokens."""
    return tokbench.train([TRAINING_TEXT], vocab_size=vocab_size, pattern=pattern, special_tokens=SPECIALS)


atexit.register(trained.cache_clear)  # nanobind reports encoders that are alive at exit as leaks


def described(pattern: str = "gpt4") -> ByteLevelBpe:
    """Return the description of the trained BPE."""
    return trained(pattern).description()


def changed(pattern: str = "gpt4", **changes: Any) -> ByteLevelBpe:
    """Return the same description with other parts."""
    return replace(described(pattern), **changes)


def ranked(pattern: str = "gpt4", *, gap: int = 0) -> ByteLevelBpe:
    """Return the same description by ranks alone, as tiktoken has it, with the special tokens' ids raised by `gap`."""
    special = {text: id + gap for text, id in described(pattern).special_tokens.items()}
    return changed(pattern, merges=None, whole_tokens_first=True, special_tokens=special)


def running(description: ByteLevelBpe, *, name: str = "mine") -> Tokenizer:
    """Build a tokenizer from a description."""
    return tokenizer_of(description, name=name, backend="bpe")
