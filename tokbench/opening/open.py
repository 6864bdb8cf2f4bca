"""Open the tokenizers of other tools, recognized by the content of their files.

A byte-level BPE runs on our kernel where its ids are certain to equal the library's; everything else runs on the
library that the file comes from. `Opened` says which engine runs and why. No code that comes with a model is executed,
and only names that begin with `tiktoken:` or `hf:` use the network.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from tokbench.errors import ConfigError, ModelFormatError
from tokbench.files.garbage_collection import paused_garbage_collection
from tokbench.opening.config_files import with_config
from tokbench.opening.recognition import Format, recognize, recognize_without
from tokbench.store.saveable import SaveableTokenizer

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.opening.recognition import Source
    from tokbench.opening.request import Opened, OpenRequest

_OPENERS = {
    Format.SAVED: "saved:open_saved",
    Format.TOKBIN: "saved:open_binary",
    Format.RANKS: "tiktoken_ranks:open_ranks",
    Format.TOKENIZER_JSON: "tokenizer_json:open_file",
    Format.SENTENCEPIECE: "sentencepiece:open_file",
    Format.VOCAB_AND_MERGES: "vocab_and_merges:open_vocab_and_merges",
    Format.WORDPIECE_VOCAB: "vocab_txt:open_vocab_txt",
    Format.GGUF: "gguf.vocabularies:open_gguf",
    Format.LLAMA2C: "sentencepiece:open_llama2c",
    Format.TEKKEN: "tiktoken_ranks:open_tekken",
}
"""Format → module and function; a module is imported when a file of its format is opened."""


def open_path(path: Path, request: OpenRequest) -> Opened:
    """Open the tokenizer in a file or folder, recognized by its content.

    Args:
        path: a saved folder, `.tiktoken` ranks, `tokenizer.json`, a SentencePiece model, a vocabulary with
            merges, `vocab.txt`, GGUF, `tekken.json`, tokbin, or a folder with one of them.
        request: what the user asks for.

    Raises:
        StoreError: there is no such file or folder, or it cannot be read.
        ModelFormatError: it holds no tokenizer, or a damaged one.
        ConfigError: an option does not apply, a split pattern is needed and not given, or the demanded engine cannot
            run the tokenizer exactly.
    """
    return open_found(recognize(path), request)


def open_found(source: Source, request: OpenRequest) -> Opened:
    """Open a recognized source; in a folder, the first file that is not damaged. Raises as `open_path` does."""
    try:
        with paused_garbage_collection():
            return _open_recognized(source, request)
    except ModelFormatError as error:
        other = recognize_without(source, error)
    except ConfigError as error:
        if not source.damaged:
            raise
        wrong = "; ".join(damage.message for damage in source.damaged.values())
        raise ConfigError(f"{error.message} (skipped: {wrong})", hint=error.hint) from None
    return open_found(other, request)


def _open_recognized(source: Source, request: OpenRequest) -> Opened:
    module, _, name = _OPENERS[source.format].partition(":")
    opener = getattr(import_module(f"tokbench.opening.{module}"), name)
    opened: Opened = opener(with_config(source), request)
    config = opened.source.config
    if isinstance(opened.tokenizer, SaveableTokenizer):
        opened.tokenizer.tokenizer_config = config
    return replace(opened, find_warnings=lambda: (*source.passed_over, *opened.warnings, *config.problems))
