"""A small corpus to write as shards, and the tokenizer for it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import tokbench

if TYPE_CHECKING:
    from tokbench.core.interfaces import Tokenizer

TEXTS = ["one", "two words", "drei Wörter", "四", "<|endoftext|>", "a longer document " * 9, "x", "end"]
EOS = "<|endoftext|>"


@cache
def tokenizer(vocab_size: int = 300, special: tuple[str, ...] = (EOS, "<pad>")) -> Tokenizer:
    return tokbench.train(TEXTS * 3, vocab_size=vocab_size, special_tokens=special)
