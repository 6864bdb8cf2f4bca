"""Tokenizers are freed with their last reference: none of what they hold refers to them."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any
from weakref import ref

import pytest
from support import huggingface
from support.descriptions import trained
from support.sentencepiece_models import VARIANTS, variant

import tokbench
from tokbench.core.tokens import SpecialPolicy
from tokbench.core.weak_methods import weakly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer

TEXTS = ["the ab of wörld, 日本\n", "the " * 9000, "ÅÉ ab" * 3]


class Owner:
    def __init__(self) -> None:
        self.joined = weakly(self._joined)

    def _joined(self, *parts: str, end: str = "") -> str:
        return "".join(parts) + end


def test_method_is_called_with_its_arguments() -> None:
    assert Owner().joined.__name__ == "call"
    owner = Owner()
    assert owner.joined("a", "b", end="!") == "ab!"


@pytest.fixture
def without_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    yield
    if was_enabled:
        gc.enable()


def use_in_every_way(tokenizer: Any) -> None:
    for text in TEXTS:
        tokenizer.decode(tokenizer.encode(text))
        tokenizer.segment(text)
        tokenizer.encode(text, special=SpecialPolicy.ENCODE)
    for special in (SpecialPolicy.TEXT, SpecialPolicy.ENCODE, SpecialPolicy.RAISE):
        tokenizer.encode_batch(TEXTS, special=special)
        tokenizer.count_batch(TEXTS, special=special)
    tokenizer.encode_spans(TEXTS)
    tokenizer.token_bytes(0)


def assert_freed(opened: Callable[[], Tokenizer]) -> None:
    tokenizer = opened()
    use_in_every_way(tokenizer)
    use_in_every_way(tokenizer)  # once more, as some encoders are built after some text
    alive = ref(tokenizer)
    del tokenizer
    assert alive() is None, gc.get_referrers(alive())


@pytest.mark.usefixtures("without_collection")
@pytest.mark.parametrize("name", huggingface.DOCUMENTS)
def test_tokenizer_json_is_freed(tmp_path: Path, name: str) -> None:
    (tmp_path / "tokenizer.json").write_bytes(huggingface.DOCUMENTS[name]())
    assert_freed(lambda: tokbench.load(tmp_path / "tokenizer.json"))


@pytest.mark.usefixtures("without_collection")
@pytest.mark.parametrize("name", VARIANTS)
def test_sentencepiece_model_is_freed(tmp_path: Path, name: str) -> None:
    (tmp_path / "it.model").write_bytes(variant(name).proto)
    assert_freed(lambda: tokbench.load(tmp_path / "it.model"))


@pytest.mark.usefixtures("without_collection")
def test_byte_level_bpe_is_freed(tmp_path: Path) -> None:
    trained().save(tmp_path / "it")
    assert_freed(lambda: tokbench.load(tmp_path / "it"))


@pytest.mark.real
@pytest.mark.usefixtures("without_collection")
@pytest.mark.parametrize(
    "path",
    ["t5-small", "t5-base/spiece.model", "clip", "falcon", "phi-2", "bert-base-uncased", "gpt2",
     "openai/cl100k_base.tiktoken", "mistral/tokenizer.model.v1"],
)  # fmt: skip
def test_real_tokenizer_is_freed(shared: Path, path: str) -> None:
    assert_freed(lambda: tokbench.load(shared / "vocab" / path))
