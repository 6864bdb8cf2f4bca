"""sentencepiece: its own models."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from tokbench.bench.runner import Runner
from tokbench.core.descriptions import SentencePieceModel
from tokbench.errors import ConversionError

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.convert.conversion import Source

_MODEL_NAME = "tokenizer.model"


def prepare(source: Source, folder: Path) -> None:
    """Write the model. Raises `ConversionError`."""
    if not isinstance(source.description, SentencePieceModel):
        raise ConversionError("it runs SentencePiece models only, and this is another kind of tokenizer")
    (folder / _MODEL_NAME).write_bytes(source.description.proto)


def opened(folder: Path) -> Runner:
    """Open the model."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / _MODEL_NAME))
    return Runner(
        version=f"sentencepiece {version('sentencepiece')}",
        encode=processor.encode,
        encode_batch=lambda texts, threads: processor.encode(texts, num_threads=threads),
    )
