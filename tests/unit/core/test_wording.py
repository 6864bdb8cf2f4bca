"""A misspelled name suggests the right one, whatever it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.toys import Toy, documents_of, parallel_documents

import tokbench
from tokbench.backends.wordpiece.config import WordPieceConfig
from tokbench.config import load_preset
from tokbench.convert.conversion import target_named
from tokbench.corpus import CorpusOptions
from tokbench.errors import TokbenchError
from tokbench.evaluation.candidates import Candidate
from tokbench.evaluation.comparison import compare_candidates
from tokbench.formats.tokenizer_config.roles import check_roles
from tokbench.metrics.catalogue import metric_named
from tokbench.registry import get_backend

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokbench.evaluation.comparison import Comparison


def compared(**options: Any) -> Comparison:
    lines = ["a b", "b a", "a", "b b", "a a", "b"] * 4
    documents = (
        parallel_documents(en=lines, deu=lines) if "reference_group" in options else documents_of("ab")
    )
    return compare_candidates([Candidate(Toy("a", name="mine"))], documents, **options)


MISSES: dict[str, tuple[Callable[[], object], str]] = {
    "tokenizer": (lambda: tokbench.load("defualt"), "default"),
    "backend": (lambda: get_backend("word-piece"), "wordpiece"),
    "another case": (lambda: get_backend("BPE"), "bpe"),
    "preset": (lambda: load_preset("gpt44"), "gpt4"),
    "pattern": (lambda: tokbench.train(["a"], pattern="gtp2"), "gpt2"),
    "option": (lambda: tokbench.train(["a"], vocab_sise=300), "vocab_size"),
    "objective": (lambda: WordPieceConfig(objective="likelyhood"), "likelihood"),
    "normalization": (lambda: tokbench.train(["a"], backend="unigram", normalization="nmt_nfk"), "nmt_nfkc"),
    "metric": (lambda: metric_named("byte_per_token"), "bytes_per_token"),
    "format": (lambda: target_named("tokenizer"), "tokenizers"),
    "role": (lambda: check_roles({"boss": "<s>"}, WordPieceConfig()), "bos"),
    "way of grouping": (lambda: CorpusOptions(group_by="scrpt"), "script"),
    "documents": (lambda: CorpusOptions(documents="line"), "lines"),  # type: ignore[arg-type]
    "baseline": (lambda: compared(baseline="mien"), "mine"),
}


@pytest.mark.parametrize("what", MISSES)
def test_misspelled_name_suggests_the_right_one(what: str) -> None:
    call, right = MISSES[what]
    with pytest.raises(TokbenchError) as caught:
        call()
    assert caught.value.hint is not None
    assert "did you mean" in caught.value.hint
    assert right in caught.value.hint


def test_missing_path_suggests_its_neighbour(tmp_path: Any) -> None:
    (tmp_path / "small").mkdir()
    with pytest.raises(TokbenchError) as caught:
        tokbench.load(str(tmp_path / "smal"))
    assert f"did you mean '{tmp_path / 'small'}'?" in str(caught.value.hint)
