"""Tests that lint finds texts for which the classes of transformers give other ids than a SentencePiece model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.lint import findings_of, outcome_of, target_of
from support.model_folders import put
from support.sentencepiece_models import variant

from tokbench.lint.findings import Severity
from tokbench.lint.piece_pipelines import class_document, classes_of_pieces, merges_of_pieces

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.lint.target import LintTarget


def folder_of(
    tmp_path: Path, name: str, model: str, *, model_type: str | None = None, **settings: Any
) -> LintTarget:
    """Open the folder of a class with a trained model and nothing else."""
    config = {"config.json": {"model_type": model_type}} if model_type else {}
    beside = {"tokenizer_config.json": {"tokenizer_class": name, **settings}, **config}
    folder = put(tmp_path / "folder", {"tokenizer.model": variant(model).proto, **beside})
    return target_of(folder, tmp_path)


def test_classes_of_both_versions_are_found_with_a_text_and_one_around_special_tokens(tmp_path: Path) -> None:
    target = folder_of(tmp_path, "LlamaTokenizer", "bpe", legacy=False)
    fourth, fifth = findings_of("class-disagrees", target)
    assert fourth.subject == "the LlamaTokenizer of transformers 4 with legacy=false"
    assert fifth.subject == "the LlamaTokenizer of transformers 5"
    for finding in (fourth, fifth):
        assert finding.severity is Severity.WARNING
        assert finding.evidence.count(" by the model, and ") == 2
        assert '; "<' in finding.evidence  # the second text has a special token
    assert fourth.details["text"] == " "  # no second ▁ in front of a text that begins with one


@pytest.mark.parametrize("legacy", [None, True])
def test_the_old_behavior_of_version_4_is_that_of_the_model(tmp_path: Path, legacy: bool | None) -> None:
    said = {} if legacy is None else {"legacy": legacy}
    target = folder_of(tmp_path, "LlamaTokenizerFast", "bpe", **said)
    assert [made_by.version for made_by in classes_of_pieces(target)] == [5]


def test_a_model_like_gemmas_has_no_findings(tmp_path: Path) -> None:
    target = folder_of(tmp_path, "GemmaTokenizer", "bpe without prefix")
    assert classes_of_pieces(target)
    assert findings_of("class-disagrees", target) == ()


def test_rare_differences_are_notes(tmp_path: Path) -> None:
    target = folder_of(tmp_path, "T5Tokenizer", "unigram as t5")
    assert {finding.severity for finding in findings_of("class-disagrees", target)} <= {Severity.NOTE}


@pytest.mark.parametrize(
    ("name", "model", "settings"),
    [
        ("PreTrainedTokenizerFast", "bpe", {}),
        ("XGLMTokenizer", "unigram", {}),
        ("LlamaTokenizer", "unigram", {}),
        ("LlamaTokenizer", "bpe", {"model_type": "mistral"}),
    ],
    ids=["no class", "not known", "of another kind", "the class of no model"],
)
def test_other_folders_are_left_out(tmp_path: Path, name: str, model: str, settings: dict[str, Any]) -> None:
    outcome = outcome_of("class-disagrees", folder_of(tmp_path, name, model, **settings))
    assert outcome.skipped == "no class is named that makes a tokenizer of its own of the model"


def test_a_model_that_is_named_by_itself_is_left_out(tmp_path: Path) -> None:
    folder_of(tmp_path, "LlamaTokenizer", "bpe")
    assert classes_of_pieces(target_of(tmp_path / "folder" / "tokenizer.model", tmp_path)) == ()


def test_of_a_model_type_without_a_class_the_setting_counts(tmp_path: Path) -> None:
    target = folder_of(tmp_path, "LlamaTokenizer", "bpe", model_type="mistral", legacy=False)
    assert list(map(str, classes_of_pieces(target))) == [
        "the LlamaTokenizer of transformers 4 with legacy=false",
        "the TokenizersBackend of transformers 5 with legacy=false",
    ]
    fourth, fifth = findings_of("class-disagrees", target)
    assert fourth.evidence == fifth.evidence


def test_merges_of_version_4_follow_the_scores_and_those_of_version_5_the_ids(tmp_path: Path) -> None:
    vocab = {"a": 0, "b": 1, "aab": 2, "aa": 3, "ab": 4}
    scores = [0.0, 0.0, -3.0, -1.0, -2.0]
    assert merges_of_pieces(vocab, scores=None) == [["a", "ab"], ["aa", "b"], ["a", "a"], ["a", "b"]]
    assert merges_of_pieces(vocab, scores=scores) == [["a", "a"], ["a", "b"], ["aa", "b"], ["a", "ab"]]
    target = folder_of(tmp_path, "LlamaTokenizer", "bpe", legacy=False)
    model = target.sentencepiece
    assert model is not None
    documents = [class_document(target, model, made_by) for made_by in classes_of_pieces(target)]
    assert [document["pre_tokenizer"]["prepend_scheme"] for document in documents] == ["first", "first"]
    assert sorted(documents[0]["model"]["merges"]) == sorted(documents[1]["model"]["merges"])
