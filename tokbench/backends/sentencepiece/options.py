"""The library's options as the trainer here reads them."""

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
    """What the library's options say of training.

    Attributes:
        seed_sentencepiece_size: substrings to begin with.
        shrinking_factor: the share of pieces that pruning leaves.
        num_sub_iterations: rounds before each pruning.
        split_by_unicode_script: whether a piece is of one script.
        split_by_number: whether digits count as a script.
        split_by_whitespace: whether ▁ only begins a piece.
        required_chars: characters that become pieces, however rare.
        hard_vocab_limit: whether a text that cannot fill the vocabulary is an error.
        charsmap: the normalization table; empty for none.
        trainer: all options of the trainer that a model file keeps, by name.
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
    """The options of a configuration that only the library's trainer has."""
    given = config.library_options()
    return [
        name
        for name in _ONLY_OF_THE_LIBRARY
        if name in given and _typed(given[name], TRAINER_FIELDS[name]) != TRAINER_FIELDS[name].default
    ]


def chosen_options(config: SentencePieceConfig) -> Options:
    """The options of a configuration, those of the library by their types.

    Raises:
        TrainingError: one that only the library's trainer has, or that is out of its range.
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
    """The table of a named normalization, as the library has it."""
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
    return next(value for each, value in fields(data) if each == number and isinstance(value, bytes))
