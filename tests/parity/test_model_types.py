"""Tests that a model_type implies the tokenizer class that transformers chooses for it."""

from __future__ import annotations

import pytest

from tokbench.opening.model_types import CLASS_OF_MODEL_TYPE

pytest.importorskip("transformers")
auto = pytest.importorskip("transformers.models.auto.tokenization_auto")

MERGED = {
    "BartTokenizer": "RobertaTokenizer",
    "LEDTokenizer": "RobertaTokenizer",
    "LongformerTokenizer": "RobertaTokenizer",
    "MvpTokenizer": "RobertaTokenizer",
    "CodeGenTokenizer": "GPT2Tokenizer",
}
"""Classes that version 5 replaces by another one with the same rules."""
GENERIC = {"TokenizersBackend", "MistralCommonBackend", "PreTrainedTokenizer"}
DIFFERENT = {"nystromformer", "lilt", "siglip2"}
"""Types whose class changed with version 5."""


def test_types_imply_the_classes_of_transformers() -> None:
    theirs = {}
    for model_type, named in auto.TOKENIZER_MAPPING_NAMES.items():
        name = next(filter(None, named), None) if isinstance(named, tuple) else named
        if name is not None and name.removesuffix("Fast") not in GENERIC:
            theirs[model_type] = name.removesuffix("Fast")
    ours = {
        model_type: CLASS_OF_MODEL_TYPE[model_type]
        for model_type in theirs
        if model_type in CLASS_OF_MODEL_TYPE
    }
    assert len(ours) > 100
    for model_type, name in ours.items():
        if model_type not in DIFFERENT:
            assert theirs[model_type] in (name, MERGED.get(name), f"M{name}"), model_type
