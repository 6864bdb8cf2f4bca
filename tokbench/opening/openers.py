"""Which function opens which format; what is heavy is imported with it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from tokbench.opening.recognition import Format

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokbench.opening.recognition import Source
    from tokbench.opening.request import Opened, OpenRequest

_OPENERS = {
    Format.SAVED: "saved:open_saved",
    Format.TOKBIN: "saved:open_binary",
    Format.RANKS: "tiktoken_ranks:open_ranks",
    Format.TOKENIZER_JSON: "tokenizer_json:open_file",
    Format.SENTENCEPIECE: "sentencepiece:open_file",
    Format.VOCAB_AND_MERGES: "vocab_and_merges:open_merged",
    Format.WORDPIECE_VOCAB: "bare_vocabularies:open_word_list",
    Format.GGUF: "gguf.vocabularies:open_gguf",
    Format.LLAMA2C: "sentencepiece:open_llama2c",
}


def opener_of(format: Format) -> Callable[[Source, OpenRequest], Opened]:
    """The function that opens files of a format."""
    module, _, name = _OPENERS[format].partition(":")
    opener = getattr(import_module(f"tokbench.opening.{module}"), name)
    return cast("Callable[[Source, OpenRequest], Opened]", opener)
