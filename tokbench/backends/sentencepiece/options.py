"""SentencePiece's training options, parsed for the trainer of the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokbench.errors import BackendUnavailableError, TrainingError
from tokbench.formats.protobuf import fields
from tokbench.formats.sentencepiece.model import NORMALIZER_FIELDS, TRAINER_FIELDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokbench.formats.sentencepiece.model import SpecField
    from tokbench.libraries.sentencepiece.config import SentencePieceConfig

_ONLY_OF_THE_LIBRARY = (
    "treat_whitespace_as_suffix",
    "pretokenization_delimiter",
    "use_all_vocab",
    "auto_character_coverage",
)
_RANGES: dict[str, tuple[float, float]] = {
    "shrinking_factor": (0.5, 0.95),
    "num_sub_iterations": (1, 10),
    "seed_sentencepiece_size": (1, 1 << 30),
}
_NORMALIZER_MESSAGE, _CHARSMAP = 3, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The library's options that affect training.

    Attributes:
        seed_sentencepiece_size: the number of substrings that Unigram training starts with.
        shrinking_factor: the share of pieces that each pruning keeps.
        num_sub_iterations: the number of rounds before each pruning.
        split_by_unicode_script: whether a piece has characters of one script only.
        split_by_number: whether digits count as a script.
        split_by_whitespace: whether ▁ may only begin a piece.
        required_chars: characters that become pieces, however rare they are.
        hard_vocab_limit: whether it is an error if the text cannot fill the vocabulary.
        charsmap: the normalization table; empty for none.
        trainer: the trainer options that a model file stores, by name.
    """

    seed_sentencepiece_size: int
    shrinking_factor: float
    num_sub_iterations: int
    split_by_unicode_script: bool
    split_by_number: bool
    split_by_whitespace: bool
    required_chars: str
    hard_vocab_limit: bool
    charsmap: bytes
    trainer: Mapping[str, Any]


def library_options(config: SentencePieceConfig) -> list[str]:
    """Return the names of the options in a configuration that only the library's trainer supports."""
    given = config.library_options()
    return [
        name
        for name in _ONLY_OF_THE_LIBRARY
        if name in given and _typed(given[name], TRAINER_FIELDS[name]) != TRAINER_FIELDS[name].default
    ]


def chosen_options(config: SentencePieceConfig) -> Options:
    """Return the options of a configuration, converted to their types.

    Raises:
        TrainingError: an option is out of its range, or only the library's trainer supports it.
        BackendUnavailableError: the library is not installed.
    """
    given = config.library_options()
    values = {name: _typed(value, _FIELDS[name]) for name, value in given.items()}
    for name in library_options(config):
        raise TrainingError(
            f"{name}={given[name]} is an option of SentencePiece's own trainer",
            hint="add --option trainer=sentencepiece, or leave it out",
        )
    if values.get("input_format", "") not in ("", "text"):
        raise TrainingError(
            f"input_format is {values['input_format']!r}", hint="train on text: leave input_format out"
        )
    for name, (low, high) in _RANGES.items():
        if not low <= values.get(name, TRAINER_FIELDS[name].default) <= high:
            raise TrainingError(f"{name} is {given[name]}", hint=f"it must be from {low} to {high}")
    values.setdefault("hard_vocab_limit", False)
    values["trainer"] = {name: value for name, value in values.items() if name in TRAINER_FIELDS}
    names = [name for name in Options.__dataclass_fields__ if name not in ("charsmap", "trainer")]
    read = {name: values.get(name, _FIELDS[name].default) for name in names}
    return Options(**read, charsmap=_charsmap(config.normalization), trainer=values["trainer"])


_FIELDS: dict[str, SpecField] = {**NORMALIZER_FIELDS, **TRAINER_FIELDS}


def _typed(value: str, field: SpecField) -> Any:
    match field.kind:
        case "int":
            return int(value)
        case "float":
            return float(value)
        case "bool":
            return value == "true"
        case "texts":
            return tuple(value.split(","))
    return value


def _charsmap(normalization: str) -> bytes:
    """Return the library's table of a named normalization."""
    try:
        import sentencepiece
    except ImportError:
        raise BackendUnavailableError(
            "the library sentencepiece is not installed", hint="pip install sentencepiece"
        ) from None
    if normalization == "identity":
        return b""
    proto = sentencepiece.SentencePieceNormalizer(rule_name=normalization).serialized_model_proto()
    return _message(_message(proto, _NORMALIZER_MESSAGE), _CHARSMAP)


def _message(data: bytes, number: int) -> bytes:
    return next(value for field, value in fields(data) if field == number and isinstance(value, bytes))
