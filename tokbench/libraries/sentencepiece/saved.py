"""A SentencePiece model as a folder: the manifest, and `tokenizer.model` as the library reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench import store
from tokbench.errors import ModelFormatError
from tokbench.libraries.sentencepiece.models import open_model
from tokbench.libraries.sentencepiece.tokenizer import MODEL_NAME, SentencePieceTokenizer

if TYPE_CHECKING:
    from pathlib import Path

_RETRAIN = "the folder is damaged: restore it, or train again"


def load(directory: Path) -> SentencePieceTokenizer:
    """Open a folder that `SentencePieceTokenizer.save` wrote, checked in every part.

    Raises:
        ModelFormatError: a file is damaged, or the manifest speaks of another model.
        SelfTestError: it gives other ids than when it was saved.
    """
    manifest = store.read_manifest(directory)
    files = store.read_files(directory, manifest)
    if MODEL_NAME not in files:
        raise ModelFormatError(directory, f"a file {MODEL_NAME}", "none in the manifest", hint=_RETRAIN)
    tokenizer = open_model(
        files[MODEL_NAME],
        name=manifest.name,
        backend=manifest.backend,
        path=directory / MODEL_NAME,
        config=manifest.config,
    )
    found = tokenizer.info
    if (manifest.vocab_size, dict(manifest.special_tokens)) != (found.vocab_size, found.special_tokens):
        raise ModelFormatError(
            directory / store.MANIFEST_NAME,
            f"{found.vocab_size} tokens and the special tokens of {MODEL_NAME}",
            f"{manifest.vocab_size} tokens, or other special tokens",
            hint=_RETRAIN,
        )
    tokenizer.hold_to(manifest, path=directory)
    return tokenizer
