"""The vocabulary of a trained model: symbols have fixed ids, and learned pieces take the remaining ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokbench.errors import TrainingError
from tokbench.formats.sentencepiece.model import dump_model
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.libraries.sentencepiece.config import LONGEST_LINE, NUM_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokbench.backends.sentencepiece.options import Options
    from tokbench.libraries.sentencepiece.config import SentencePieceConfig


def symbols_of(config: SentencePieceConfig) -> list[str]:
    """Return all pieces that exist before training, in the order in which they take the lowest free ids."""
    return [*config.named_ids, *(text for text, _ in _unnumbered(config))]


def model_bytes(pieces: Sequence[tuple[str, float]], config: SentencePieceConfig, options: Options) -> bytes:
    """Return the content of the `.model` file of learned pieces.

    Args:
        pieces: the pieces and their scores, the best first.
        config: the configuration of the training.
        options: the library's options.

    Raises:
        TrainingError: a symbol has an id beyond the vocabulary.
    """
    vocabulary = _vocabulary(pieces, config)
    trainer = {
        "model_type": int(config.model_type),
        "vocab_size": len(vocabulary),
        "character_coverage": config.character_coverage,
        "max_sentencepiece_length": config.max_token_length,
        "max_sentence_length": LONGEST_LINE,
        "split_digits": config.split_digits,
        "allow_whitespace_only_pieces": config.allow_whitespace_only_pieces,
        "control_symbols": config.special_tokens,
        "user_defined_symbols": config.user_defined_symbols,
        "byte_fallback": config.byte_fallback,
        **{
            f"{role}_{field}": getattr(config, f"{role}_{field}")
            for role in _ROLES
            for field in ("id", "piece")
        },
        **options.trainer,
    }
    normalizer: dict[str, Any] = {
        "name": config.normalization,
        "precompiled_charsmap": options.charsmap,
        "add_dummy_prefix": config.add_dummy_prefix,
        "remove_extra_whitespaces": config.remove_extra_whitespaces,
        "escape_whitespaces": True,
    }
    return dump_model(vocabulary, trainer=trainer, normalizer=normalizer)


_ROLES = ("unk", "bos", "eos", "pad")


def _unnumbered(config: SentencePieceConfig) -> Iterator[tuple[str, PieceType]]:
    """Yield the symbols whose ids the configuration does not fix."""
    yield from ((text, PieceType.CONTROL) for text in config.special_tokens)
    yield from ((text, PieceType.USER_DEFINED) for text in config.user_defined_symbols)
    if config.byte_fallback:
        yield from ((f"<0x{byte:02X}>", PieceType.BYTE) for byte in range(NUM_BYTES))


def _vocabulary(pieces: Sequence[tuple[str, float]], config: SentencePieceConfig) -> list[ModelPiece]:
    by_id = {
        id: ModelPiece(text, 0.0, PieceType.UNKNOWN if text == config.unk_piece else PieceType.CONTROL)
        for text, id in config.named_ids.items()
    }
    others = iter(
        [
            *(ModelPiece(text, 0.0, kind) for text, kind in _unnumbered(config)),
            *(ModelPiece(text, score, PieceType.NORMAL) for text, score in pieces),
        ]
    )
    size = config.reserved + len(pieces)
    if beyond := {piece.text: id for id, piece in by_id.items() if id >= size}:
        text, id = next(iter(beyond.items()))
        raise TrainingError(
            f"{text!r} has the id {id}, and the text gives a vocabulary of {size:,}",
            hint="give it a lower id, or train on more text",
        )
    return [by_id[id] if id in by_id else next(others) for id in range(size)]
