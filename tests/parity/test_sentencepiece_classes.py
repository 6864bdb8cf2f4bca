"""The pipelines that lint expects of SentencePiece's classes equal those that transformers builds."""

from __future__ import annotations

import base64
import json
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from support.lint import findings_of, target_of

from tokbench.lint.class_pipeline import kind_of_class, kind_of_document
from tokbench.opening.sentencepiece_classes import (
    CLASSES,
    Declared,
    Step,
    class_pipeline,
    precompiled_rules,
)

if TYPE_CHECKING:
    from pathlib import Path

transformers = pytest.importorskip("transformers")
if int(transformers.__version__.partition(".")[0]) < 5:
    pytest.skip("transformers 4 takes tokenizer.json as it is", allow_module_level=True)

PIECES = [
    "<pad>",
    "<unk>",
    "<s>",
    "</s>",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "<bos>",
    "<eos>",
    "<mask>",
    "▁",
    "a",
    "b",
]
RULES = base64.b64encode(b"\0\4\0\0" + b"\0" * 1024 + b"\0").decode()
"""Rules that change no character: a table of 256 units without replacements."""
SETTINGS: list[dict[str, Any]] = [
    {},
    {"add_prefix_space": False},
    {"add_prefix_space": None},
    {"legacy": True},
    {"do_lower_case": True},
    {"do_lower_case": False},
    {"keep_accents": True},
    {"keep_accents": False},
    {"split_by_punct": True},
]


def built(name: str, settings: dict[str, Any], rules: Step | None) -> dict[str, Any]:
    """Return the tokenizer.json of a class with a small vocabulary."""
    made = getattr(transformers, f"{name}Tokenizer")
    options = dict(settings)
    if rules is not None:
        options["_spm_precompiled_charsmap"] = base64.b64decode(rules["precompiled_charsmap"])
    if made.model is not None and made.model.__name__ == "BPE":
        options |= {"vocab": {piece: id for id, piece in enumerate([*PIECES, "▁a"])}, "merges": [("▁", "a")]}
    else:
        options |= {"vocab": [(piece, 0.0 if piece[0] in "<[" else -1.0) for piece in PIECES]}
    return json.loads(made(**options)._tokenizer.to_str())


def written(parts: dict[str, Any]) -> dict[str, Any]:
    """Return parts as the library serializes them."""
    model = {"type": "BPE", "vocab": {}, "merges": []}
    document = {"version": "1.0", "added_tokens": [], "model": model, **parts}
    return json.loads(tokenizers.Tokenizer.from_str(json.dumps(document)).to_str())


def steps(document: dict[str, Any], part: str) -> list[Any]:
    """Return a part as a list, because transformers writes sequences of one step and of none."""
    step, key = document[part], {"pre_tokenizer": "pretokenizers"}.get(part, f"{part}s")
    if step is None:
        return []
    return step[key] if step["type"] == "Sequence" else [step]


@pytest.mark.parametrize("name", CLASSES)
def test_known_pipelines_equal_those_that_transformers_builds(name: str) -> None:
    for settings, rules in product(SETTINGS, (None, {"type": "Precompiled", "precompiled_charsmap": RULES})):
        theirs = built(name, settings, rules)
        pipeline = class_pipeline(name, Declared(rules, settings))
        assert pipeline is not None
        ours = written(pipeline.parts())
        for part in ("normalizer", "pre_tokenizer", "decoder"):
            assert steps(ours, part) == steps(theirs, part), (part, settings)
        assert pipeline.byte_fallback == theirs["model"]["byte_fallback"]
        assert kind_of_class(f"{name}TokenizerFast") == kind_of_document(theirs)


# MBart50 writes its special pieces twice, and vocabularies with duplicate pieces are refused.
@pytest.mark.parametrize("name", [name for name in CLASSES if name != "MBart50"])
def test_document_built_by_a_class_agrees_with_it(name: str, tmp_path: Path) -> None:
    document = built(name, {}, None)
    beside = {"tokenizer_config.json": {"tokenizer_class": f"{name}Tokenizer"}}
    assert findings_of("class-disagrees", target_of(document, tmp_path, beside=beside)) == ()


def test_precompiled_rules_are_found_as_by_transformers() -> None:
    rules = {"type": "Precompiled", "precompiled_charsmap": RULES}
    assert precompiled_rules(rules) == rules
    assert precompiled_rules({"type": "Sequence", "normalizers": [{"type": "NFC"}, rules]}) == rules
    assert precompiled_rules({"type": "NFC"}) is None
    assert precompiled_rules(None) is None
