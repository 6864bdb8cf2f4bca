"""Tests that a SentencePiece model has the special tokens that its class in transformers gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.model_folders import put
from support.sentencepiece_models import scored, unknown, written

import tokbench
from tokbench.formats.sentencepiece.pieces import ModelPiece, PieceType
from tokbench.opening.class_tokens import CLASS_ROLES

if TYPE_CHECKING:
    from pathlib import Path

transformers = pytest.importorskip("transformers")

RENUMBERED = ("Camembert", "LayoutXLM", "MBart", "MBart50", "MLuke", "Nllb", "XLMRoberta")
"""Classes whose versions number the pieces differently, and which define all of their tokens by that."""
OTHERS = sorted({name.removesuffix("Tokenizer") for name in CLASS_ROLES} - {*RENUMBERED})


@pytest.mark.parametrize("name", OTHERS)
def test_roles_and_the_ids_of_missing_tokens_are_those_of_the_class(tmp_path: Path, name: str) -> None:
    made = getattr(transformers, f"{name}Tokenizer", None)
    if made is None:
        pytest.skip(f"this version of transformers has no {name}Tokenizer")
    ends = (ModelPiece(text, 0.0, PieceType.CONTROL) for text in ("<s>", "</s>", "[CLS]", "[SEP]"))
    pieces = [unknown(), *ends, *scored({"▁": -2.0, "▁hi": -1.0})]
    settings = {"tokenizer_class": f"{name}Tokenizer", "extra_ids": 0}
    files = {made.vocab_files_names["vocab_file"]: written(pieces), "tokenizer_config.json": settings}
    peer: Any = made.from_pretrained(put(tmp_path, files))
    tokenizer: Any = tokbench.load(tmp_path)
    roles = CLASS_ROLES[f"{name}Tokenizer"]
    assert roles == {role: getattr(peer, f"{role}_token") for role in roles}
    assert {role: tokenizer.role_ids[role] for role in roles} == {
        role: peer.convert_tokens_to_ids(text) for role, text in roles.items()
    }
