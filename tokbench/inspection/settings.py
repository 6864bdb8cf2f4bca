"""The settings that affect ids besides tokens and merges: pattern, normalizer, template, flags, by name."""

from __future__ import annotations

from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from tokbench.core.wording import quoted
from tokbench.formats.sentencepiece.pieces import PieceType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokbench.core.descriptions import Template
    from tokbench.inspection.contents import TokenizerContents

_SECTIONS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_MODEL_LEFT_OUT = ("vocab", "merges", "type")
_TRAINER = ("model_type", "byte_fallback", "treat_whitespace_as_suffix", "unk_surface")
_DEFAULTS: dict[str, object] = {"use_regex": True, "split": True}
_OFFSETS = ("trim_offsets",)
"""Settings that change where tokens are said to be, and no ids."""
_SHOWN = 8
_BY_TOKEN = ("special token", "added token", "special piece")
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


def differing_settings(
    first: TokenizerContents, second: TokenizerContents
) -> dict[str, tuple[object, object]]:
    """The settings in which two tokenizers differ, as (first, second) by name.

    They are compared in the form that both have: as byte-level BPE, as SentencePiece models, or as tokenizer.json;
    nothing is compared of two that have none in common.
    """
    if first.bpe is not None and second.bpe is not None:
        ours, theirs = _of_bpe(first), _of_bpe(second)
    elif first.sentencepiece is not None and second.sentencepiece is not None:
        ours, theirs = _of_sentencepiece(first), _of_sentencepiece(second)
    elif first.document is not None and second.document is not None:
        ours, theirs = _of_document(first.document), _of_document(second.document)
    else:
        return {}
    found: dict[str, tuple[object, object]] = {}
    for group in _BY_TOKEN:
        first_tokens, second_tokens = ours.pop(group, {}), theirs.pop(group, {})
        assert isinstance(first_tokens, dict)
        assert isinstance(second_tokens, dict)
        alone = [sorted(first_tokens.keys() - second_tokens), sorted(second_tokens.keys() - first_tokens)]
        if any(alone):
            first_alone, second_alone = (", ".join(map(quoted, texts[:_SHOWN])) or None for texts in alone)
            found[f"{group}s of one alone"] = first_alone, second_alone
        for text in sorted(first_tokens.keys() & second_tokens.keys()):
            ours[f"{group} {quoted(text)}"], theirs[f"{group} {quoted(text)}"] = (
                first_tokens[text],
                second_tokens[text],
            )
    first_leaves, second_leaves = (dict(_leaves(settings)) for settings in (ours, theirs))
    names = dict.fromkeys((*first_leaves, *second_leaves))
    pairs = {name: (first_leaves.get(name), second_leaves.get(name)) for name in names}
    return found | {name: pair for name, pair in pairs.items() if _differ(name, *pair)}


def differing_parts(
    first: Mapping[str, Any], second: Mapping[str, Any], *, model: Sequence[str]
) -> Iterator[str]:
    """The parts in which two tokenizer.json differ: normalizer, pre_tokenizer, decoder, and settings of the model.

    Args:
        first: the one, parsed.
        second: the other.
        model: the settings of the model that are compared.
    """
    for part in ("normalizer", "pre_tokenizer", "decoder"):
        ours, theirs = (_deciding(document.get(part), part) for document in (first, second))
        if any(_differ(name, ours.get(name), theirs.get(name)) for name in {*ours, *theirs}):
            yield part
    for name in model:
        if _differ(name, first["model"].get(name), second["model"].get(name)):
            yield name


def _deciding(step: object, part: str) -> dict[str, object]:
    """The settings of a part that decide ids or text: ByteLevel decodes alike whatever its settings."""
    leaves = {
        name: value for name, value in _leaves(_unnested(step)) if name.rpartition(".")[2] not in _OFFSETS
    }
    if part == "decoder" and leaves.get("type") == "ByteLevel":
        return {"type": "ByteLevel"}
    return leaves


def _unnested(step: object) -> object:
    """A sequence of one step as that step."""
    for key in ("normalizers", "pretokenizers", "decoders"):
        inner = step.get(key) if isinstance(step, dict) else None
        if isinstance(inner, list) and len(inner) == 1:
            return _unnested(inner[0])
    return step


def _leaves(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Values within others, under names as `pre_tokenizer.use_regex`."""
    if isinstance(value, list | tuple):
        value = {str(number): each for number, each in enumerate(value, 1)}
    if not isinstance(value, dict):
        yield name, value
        return
    for key, each in value.items():
        yield from _leaves(each, f"{name}.{key}" if name else str(key))


def _differ(name: str, first: object, second: object) -> bool:
    """Whether values differ; what older files leave out has a default."""
    key = name.rpartition(".")[2]
    if key in _DEFAULTS:
        first, second = (_DEFAULTS[key] if value is None else value for value in (first, second))
    return first != second and (first or None) != (second or None)


def _of_bpe(contents: TokenizerContents) -> dict[str, object]:
    bpe = contents.bpe
    assert bpe is not None
    return {
        "split pattern": bpe.pattern,
        "normalizer": bpe.normalization,
        "template": None if bpe.post_processing.template is None else _written(bpe.post_processing.template),
        "special token": {
            text: {"id": id, **_flags(contents, text)} for text, id in bpe.special_tokens.items()
        },
    }


def _flags(contents: TokenizerContents, text: str) -> dict[str, bool]:
    bpe = contents.bpe
    flags = None if bpe is None else bpe.token_flags.get(text)
    return {} if flags is None else asdict(flags)


def _written(template: Template) -> str:
    """The template of one text: `<s> $A </s>`."""
    parts = ("$A" if part.text is not None else " ".join(part.tokens) for part in template.single)
    return " ".join(parts)


def _of_sentencepiece(contents: TokenizerContents) -> dict[str, object]:
    file = contents.sentencepiece
    assert file is not None
    rules = file.normalizer.get("precompiled_charsmap") or b""
    options = {name: value for name, value in file.normalizer.items() if name != "precompiled_charsmap"}
    return {
        "normalizer": {**options, "rules": sha256(rules).hexdigest()},
        "trainer": {name: file.trainer.get(name) for name in _TRAINER},
        "special piece": {
            piece.text: piece.type.name.lower() for piece in file.pieces if piece.type is not PieceType.NORMAL
        },
    }


def _of_document(document: Mapping[str, Any]) -> dict[str, object]:
    model = document["model"]
    listed = document.get("added_tokens") or []
    return {
        **{section: document.get(section) for section in _SECTIONS},
        "model": {name: value for name, value in model.items() if name not in _MODEL_LEFT_OUT},
        "added token": {token["content"]: {name: token.get(name) for name in _FLAGS} for token in listed},
    }
