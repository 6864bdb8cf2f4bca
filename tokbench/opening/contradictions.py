"""Find settings of a tokenizer_config.json that contradict the vocabulary beside it.

A class of `transformers` may follow the configuration. Here the vocabulary's own file takes precedence, and the
difference is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tokbench.opening.tokenizer_classes import json_beside

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_CONFIG = "tokenizer_config.json"
_BERT = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}
"""Options of BERT's classes → the options of the normalizer that they set."""


class Contradiction(NamedTuple):
    """A setting whose value differs from the vocabulary's own file.

    Attributes:
        option: its name in tokenizer_config.json.
        said: its value there.
        its: its value in the vocabulary's own file.
    """

    option: str
    said: bool
    its: bool

    def sentence(self, name: str) -> str:
        """Return a sentence about the contradiction, for a vocabulary file of that name."""
        return (
            f"{_CONFIG} says {self.option}={str(self.said).lower()}, and {name} {str(self.its).lower()}, "
            f"which is used: transformers may give other ids"
        )


def contradictions(document: Mapping[str, Any], *, folder: Path) -> Iterator[Contradiction]:
    """Yield contradictions between a `tokenizer.json` and the configuration beside it.

    Args:
        document: the parsed `tokenizer.json`.
        folder: its folder.
    """
    configured = json_beside(folder / _CONFIG)
    for normalizer in _steps(document.get("normalizer")):
        if normalizer.get("type") == "BertNormalizer":
            for option, normalizer_option in _BERT.items():
                yield from _contradiction(configured, option, normalizer.get(normalizer_option))
    prefixes = [
        step["add_prefix_space"]
        for step in _steps(document.get("pre_tokenizer"))
        if step.get("type") == "ByteLevel" and "add_prefix_space" in step
    ]
    if prefixes:
        yield from _contradiction(configured, "add_prefix_space", any(prefixes))


def contradicted_tokenizer_json(document: Mapping[str, Any], *, folder: Path, name: str) -> Iterator[str]:
    """Yield the contradictions as sentences, in which the document is called `name`."""
    return (contradiction.sentence(name) for contradiction in contradictions(document, folder=folder))


def contradicted_model(*, add_dummy_prefix: bool, folder: Path, name: str) -> Iterator[str]:
    """Yield a sentence for each contradiction between a SentencePiece model and the configuration beside it.

    Args:
        add_dummy_prefix: whether the model puts a space in front of a text.
        folder: its folder.
        name: its name in the sentences.
    """
    found = _contradiction(json_beside(folder / _CONFIG), "add_prefix_space", add_dummy_prefix)
    return (contradiction.sentence(name) for contradiction in found)


def _contradiction(configured: Mapping[str, Any], option: str, own_value: object) -> Iterator[Contradiction]:
    configured_value = configured.get(option)
    if isinstance(configured_value, bool) and isinstance(own_value, bool) and configured_value != own_value:
        yield Contradiction(option, configured_value, own_value)


def _steps(step: object) -> Iterator[Mapping[str, Any]]:
    """Yield a step, or the steps of an arbitrarily nested sequence."""
    if not isinstance(step, dict):
        return
    inner = step.get("normalizers") or step.get("pretokenizers")
    if step.get("type") == "Sequence" and isinstance(inner, list):
        for child in inner:
            yield from _steps(child)
    else:
        yield step
