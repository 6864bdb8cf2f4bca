"""Convert to the `tokenizer.bin` of llama2.c, proved with a Python version of its encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokbench.convert.conversion import Product, Source, kind_of, undescribed
from tokbench.convert.post_processing import lost, post_processing_of
from tokbench.convert.proof import Peer
from tokbench.convert.targets.sentencepiece import bpe_model_of
from tokbench.core.descriptions import HuggingFaceModel, SentencePieceModel
from tokbench.errors import ConversionError
from tokbench.formats.llama2c import DOMAIN, EXCLUDED, Llama2cTokenizer, dump_llama2c
from tokbench.formats.sentencepiece.model import parse_model

if TYPE_CHECKING:
    from pathlib import Path

_LONGEST = 400  # its greedy search is quadratic


def make(source: Source) -> Product:
    """Convert a source to a `tokenizer.bin`. Raises `ConversionError`."""
    if source.description is None:
        raise undescribed(source)
    if not isinstance(source.description, SentencePieceModel | HuggingFaceModel):
        raise ConversionError(
            f"llama2.c reads the scores of a SentencePiece BPE model, and this is {kind_of(source.description)}"
        )
    data = dump_llama2c(parse_model(bpe_model_of(source).proto))

    def opened(path: Path) -> Peer:
        encoder = Llama2cTokenizer(path.read_bytes(), path=path)
        return Peer(
            name="llama2.c",
            encode=encoder.encode,
            decode=encoder.decode,
            excluded=EXCLUDED,
            domain=DOMAIN,
            longest=_LONGEST,
        )

    notes = (f"exact for {DOMAIN}", *lost(post_processing_of(source.description), who="a tokenizer.bin"))
    return Product(files={"": data}, open=opened, notes=notes)
