"""The settings other than tokens and merges that affect ids, by name: pattern, normalizer, template, flags."""

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
"""Settings that affect spans, but not ids."""
_SHOWN = 8
_BY_TOKEN = ("special token", "added token", "special piece")
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


def differing_settings(
    first: TokenizerContents, second: TokenizerContents
) -> dict[str, tuple[object, object]]:
    """Return the settings in which two tokenizers differ, as name → (first, second).

    They are compared in a form that both have: as byte-level BPE, as SentencePiece models, or as tokenizer.json;
    without a common form, nothing is compared.
    """
    if first.bpe is not None and second.bpe is not None:
        ours, theirs = _bpe_settings(first), _bpe_settings(second)
    elif first.sentencepiece is not None and second.sentencepiece is not None:
        ours, theirs = _sentencepiece_settings(first), _sentencepiece_settings(second)
    elif first.document is not None and second.document is not None:
        ours, theirs = _document_settings(first.document), _document_settings(second.document)
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
    """Yield the differing parts of two tokenizer.json: normalizer, pre_tokenizer, decoder, and settings of the model.

    Args:
        first: the first document, parsed.
        second: the second document, parsed.
        model: the settings of the model to compare.
    """
    for part in ("normalizer", "pre_tokenizer", "decoder"):
        ours, theirs = (_relevant_settings(document.get(part), part) for document in (first, second))
        if any(_differ(name, ours.get(name), theirs.get(name)) for name in {*ours, *theirs}):
            yield part
    for name in model:
        if _differ(name, first["model"].get(name), second["model"].get(name)):
            yield name


def _relevant_settings(step: object, part: str) -> dict[str, object]:
    """Return the settings of a component that affect ids or text; those of a ByteLevel decoder do not."""
    leaves = {
        name: value for name, value in _leaves(_unnested(step)) if name.rpartition(".")[2] not in _OFFSETS
    }
    if part == "decoder" and leaves.get("type") == "ByteLevel":
        return {"type": "ByteLevel"}
    return leaves


def _unnested(step: object) -> object:
    """Replace a sequence of one step by that step."""
    for key in ("normalizers", "pretokenizers", "decoders"):
        inner = step.get(key) if isinstance(step, dict) else None
        if isinstance(inner, list) and len(inner) == 1:
            return _unnested(inner[0])
    return step


def _leaves(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Yield nested values with names such as `pre_tokenizer.use_regex`."""
    if isinstance(value, list | tuple):
        value = {str(number): child for number, child in enumerate(value, 1)}
    if not isinstance(value, dict):
        yield name, value
        return
    for key, child in value.items():
        yield from _leaves(child, f"{name}.{key}" if name else str(key))


def _differ(name: str, first: object, second: object) -> bool:
    """Whether two values differ; values missing from older files take their defaults."""
    key = name.rpartition(".")[2]
    if key in _DEFAULTS:
        first, second = (_DEFAULTS[key] if value is None else value for value in (first, second))
    return first != second and (first or None) != (second or None)


def _bpe_settings(contents: TokenizerContents) -> dict[str, object]:
    bpe = contents.bpe
    assert bpe is not None
    return {
        "split pattern": bpe.pattern,
        "normalizer": bpe.normalization,
        "template": None
        if bpe.post_processing.template is None
        else _template_text(bpe.post_processing.template),
        "special token": {
            text: {"id": id, **_flags(contents, text)} for text, id in bpe.special_tokens.items()
        },
    }


def _flags(contents: TokenizerContents, text: str) -> dict[str, bool]:
    bpe = contents.bpe
    flags = None if bpe is None else bpe.token_flags.get(text)
    return {} if flags is None else asdict(flags)


def _template_text(template: Template) -> str:
    """Write the template for one text, as in `<s> $A </s>`."""
    parts = ("$A" if part.text is not None else " ".join(part.tokens) for part in template.single)
    return " ".join(parts)


def _sentencepiece_settings(contents: TokenizerContents) -> dict[str, object]:
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


def _document_settings(document: Mapping[str, Any]) -> dict[str, object]:
    model = document["model"]
    listed = document.get("added_tokens") or []
    return {
        **{section: document.get(section) for section in _SECTIONS},
        "model": {name: value for name, value in model.items() if name not in _MODEL_LEFT_OUT},
        "added token": {token["content"]: {name: token.get(name) for name in _FLAGS} for token in listed},
    }
