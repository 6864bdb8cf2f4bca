"""The conversion of a trained SentencePiece model into a tokenizer with its training record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tokbench.core.training import early_end, identity_of
from tokbench.formats.sentencepiece.model import ModelType, parse_model
from tokbench.formats.sentencepiece.pieces import PieceType
from tokbench.formats.sentencepiece.unigram_scores import with_rounded_scores
from tokbench.libraries.sentencepiece.config import UnigramConfig
from tokbench.libraries.sentencepiece.models import open_model

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokbench.core.interfaces import TrainingRecord
    from tokbench.formats.sentencepiece.model import SentencePieceFile
    from tokbench.libraries.sentencepiece.config import SentencePieceConfig
    from tokbench.libraries.sentencepiece.tokenizer import SentencePieceTokenizer


def trained_tokenizer(
    proto: bytes,
    *,
    config: SentencePieceConfig,
    backend: str,
    documents: Iterable[str] | None,
    wanted: int,
    record: TrainingRecord,
) -> SentencePieceTokenizer:
    """Return the tokenizer of a model that was just trained.

    Args:
        proto: the serialized model.
        config: the training options.
        backend: the name of the backend that loads the saved tokenizer.
        documents: the training documents; None if they are not known.
        wanted: the requested vocabulary size.
        record: the record of the trainer; the learned tokens and an early end are added to it.

    Raises:
        BackendUnavailableError: the library is not installed.
    """
    if isinstance(config, UnigramConfig) and config.round_scores:
        proto = with_rounded_scores(proto)
    model = parse_model(proto, path="the trained model")
    learned, unit = _learned_pieces(model)
    return open_model(
        proto,
        name=f"{backend}-{len(model.pieces)}",
        backend=backend,
        path="the trained model",
        model=model,
        config=config.as_saved(),
        identify_text=identity_of(documents),
        training=replace(
            record,
            learned_ids=learned,
            learned_unit=unit,
            requested_vocab_size=config.vocab_size,
            stopped_early=early_end(
                f"the text gives no more {unit}", learned=len(model.pieces), wanted=wanted
            ),
        ),
    )


def _learned_pieces(model: SentencePieceFile) -> tuple[range, str]:
    """Return the ids of the learned tokens and their unit: BPE's merges, or Unigram's pieces including characters."""
    normal = [id for id, piece in enumerate(model.pieces) if piece.type is PieceType.NORMAL]
    if not normal:
        return range(0), "pieces"
    first, end = normal[0], len(model.pieces)
    if model.model_type is not ModelType.BPE:
        return range(first, end), "pieces"
    while end > first and len(model.pieces[end - 1].text) == 1:
        end -= 1
    return range(first, end), "merges"
