"""The library parses the vocabulary of a checked document only when it is needed; until then its ids are computed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.huggingface import added, document, dump

import tokbench
from tokbench.errors import ModelFormatError
from tokbench.libraries.huggingface.engines import Engines
from tokbench.libraries.huggingface.tokenizer_json import assigned_ids, checked_document

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TEXTS = ["a", "b", "ab", "<s>", "</s>", "<0x41>", "", "é", "##b"]
MODELS: dict[str, dict[str, Any]] = {
    "BPE": {"type": "BPE", "merges": []},
    "BPE with byte fallback": {"type": "BPE", "merges": [], "byte_fallback": True},
    "BPE without its type": {"merges": []},
    "WordPiece": {
        "type": "WordPiece",
        "unk_token": "a",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    },
    "WordLevel": {"type": "WordLevel", "unk_token": "a"},
}


def engines_of(made: dict[str, Any]) -> Engines:
    return Engines(checked_document(made, source="a file"), limits={}, source="a file")


@pytest.mark.parametrize("kind", MODELS)
@given(
    pieces=st.lists(st.sampled_from(TEXTS), min_size=1, unique=True),
    ids=st.permutations(range(12)) | st.just(range(12)),
    tokens=st.lists(
        st.tuples(st.sampled_from([*filter(None, TEXTS), "<x>", "<y>"]), st.booleans()), max_size=6
    ),
)
@example(pieces=["a"], ids=[*range(7, 12), *range(7)], tokens=[("<x>", False), ("a", True), ("<y>", False)])
@example(pieces=["<0x41>", "a"], ids=[11, *range(11)], tokens=[("<0x41>", True), ("<x>", True)])
def test_assigned_ids_are_those_of_the_library(
    kind: str, pieces: list[str], ids: Sequence[int], tokens: list[tuple[str, bool]]
) -> None:
    model = MODELS[kind] | {"vocab": dict(zip(pieces, ids, strict=False))}
    listed = [
        added(text, number + 20, special=is_special) for number, (text, is_special) in enumerate(tokens)
    ]
    made = document(model, added_tokens=listed)
    defined = engines_of(made).vocabulary(is_checked=False)
    assert engines_of(made).vocabulary(is_checked=True) == defined
    if max(model["vocab"].values()) < len(model["vocab"]):
        assert assigned_ids(made) == defined


def test_library_parses_the_vocabulary_when_a_text_needs_it(tmp_path: Path) -> None:
    vocab = {"a": 0, "[UNK]": 1, "b": 2}
    made = document({"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"})
    made["pre_tokenizer"] = {"type": "Whitespace"}
    (tmp_path / "tokenizer.json").write_bytes(dump(made))
    tokenizer: Any = tokbench.load(tmp_path / "tokenizer.json", engine="library")
    assert "plain" not in vars(tokenizer._engines)
    assert tokenizer.encode("a b c") == [0, 2, 1]
    assert "plain" in vars(tokenizer._engines)


def test_ids_after_a_vocabulary_with_gaps_are_left_to_the_library() -> None:
    made = document(MODELS["WordLevel"] | {"vocab": {"a": 0, "b": 9}})
    made["added_tokens"] = [added("b", 9), added("<s>", 10)]
    assert assigned_ids(made) is None


@pytest.mark.parametrize("kind", ["BPE", "BPE without its type", "WordPiece", "WordLevel"])
@pytest.mark.parametrize(
    "wrong",
    [
        {"normalizer": {"type": "Strip", "strip_left": "yes"}},
        {
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"Regex": "("},
                "behavior": "Isolated",
                "invert": False,
            }
        },
        {"decoder": {"type": "Unheard"}},
        {"post_processor": {"type": "TemplateProcessing", "single": 5}},
        {"added_tokens": [{"id": 0, "content": "<s>", "special": "yes"}]},
        {"model": {"unk_token": 5}},
    ],
    ids=["normalizer", "pre_tokenizer", "decoder", "post_processor", "added_tokens", "model"],
)
def test_document_that_the_library_rejects_is_refused_when_it_is_opened(
    tmp_path: Path, kind: str, wrong: dict[str, Any]
) -> None:
    made = document(MODELS[kind] | {"vocab": {"a": 0, "b": 1}})
    model = made["model"] | wrong.get("model", {})
    (tmp_path / "tokenizer.json").write_text(json.dumps({**made, **wrong, "model": model}))
    with pytest.raises(ModelFormatError):
        tokbench.load(tmp_path / "tokenizer.json")
