"""The tokenizers that lint expects transformers to make of a SentencePiece model equal those that it makes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from support.lint import target_of
from support.model_folders import put
from support.sentencepiece_models import training_text, variant

from tokbench.lint.agreement import PROBES
from tokbench.lint.piece_pipelines import class_document, classes_of_pieces
from tokbench.opening.model_types import FILE_AS_IT_IS

if TYPE_CHECKING:
    from pathlib import Path

transformers = pytest.importorskip("transformers")
if int(transformers.__version__.partition(".")[0]) < 5:
    pytest.skip("version 4 makes other tokenizers", allow_module_level=True)

TEXTS = (
    *PROBES,
    *training_text(),
    *(f"{token}a {token} b {token}" for token in ("<s>", "</s>", "<sep>", "ab")),
)


@pytest.mark.parametrize(
    ("name", "model", "settings"),
    [
        ("LlamaTokenizer", "bpe", {}),
        ("LlamaTokenizer", "bpe as llama", {"legacy": False}),
        ("LlamaTokenizer", "bpe", {"legacy": True}),
        ("LlamaTokenizer", "bpe", {"legacy": False, "add_prefix_space": False}),
        ("LlamaTokenizer", "bpe with symbols", {}),
        ("CodeLlamaTokenizer", "bpe", {}),
        ("GemmaTokenizer", "bpe without prefix", {}),
        ("T5Tokenizer", "unigram as t5", {}),
        ("XLMRobertaTokenizer", "unigram without bytes", {}),
        ("CamembertTokenizer", "unigram without bytes", {}),
        ("MBartTokenizer", "unigram without bytes", {}),
        ("MBart50Tokenizer", "unigram without bytes", {}),
        ("PegasusTokenizer", "unigram as t5", {}),
        ("DebertaV2Tokenizer", "unigram without bytes", {}),
    ],
)
def test_documents_give_the_ids_of_the_classes(
    tmp_path: Path, name: str, model: str, settings: dict[str, Any]
) -> None:
    file = getattr(transformers, name).vocab_files_names.get("vocab_file", "tokenizer.model")
    beside = {"tokenizer_config.json": {"tokenizer_class": name, **settings}}
    folder = put(tmp_path / "folder", {file: variant(model).proto, **beside})
    target = target_of(folder, tmp_path)
    assert target.sentencepiece is not None
    document = class_document(target, target.sentencepiece, classes_of_pieces(target)[-1])
    ours = tokenizers.Tokenizer.from_str(json.dumps(document))
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    assert type(theirs).__name__ == name
    for text in TEXTS:
        expected = theirs.encode(text, add_special_tokens=False)
        assert ours.encode(text, add_special_tokens=False).ids == expected, text


def test_models_whose_file_is_taken_as_it_is_have_no_class_of_their_own() -> None:
    auto = pytest.importorskip("transformers.models.auto.tokenization_auto")
    named = {model_type: auto.TOKENIZER_MAPPING_NAMES.get(model_type) for model_type in FILE_AS_IT_IS}
    assert {*named.values()} <= {"TokenizersBackend", "MistralCommonBackend", None}
    assert sum(name is not None for name in named.values()) > 50
