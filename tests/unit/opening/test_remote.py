"""Tests for common model names: they agree with tiktoken's, and the nearest name is suggested."""

from __future__ import annotations

import pytest
from tiktoken.model import MODEL_TO_ENCODING

import tokbench
from tokbench.errors import StoreError
from tokbench.opening.remote import nearest, where_to_get


@pytest.mark.parametrize("name", [name for name in MODEL_TO_ENCODING if where_to_get(name)])
def test_encodings_of_models_agree_with_tiktoken(name: str) -> None:
    encoding = where_to_get(name)
    assert encoding is not None
    assert encoding[0] == MODEL_TO_ENCODING[name]


def test_most_models_of_tiktoken_are_known() -> None:
    current = [name for name in MODEL_TO_ENCODING if name.startswith(("gpt-", "o1", "o3"))]
    assert sum(where_to_get(name) is not None for name in current) >= len(current) - 3


@pytest.mark.parametrize("name", ["GPT-4o", "gpt4o", "gpt_4o", "gpt 4o"])
def test_model_names_match_in_any_spelling(name: str) -> None:
    assert where_to_get(name) == where_to_get("gpt-4o")


def test_loading_a_model_by_its_name_suggests_its_source() -> None:
    with pytest.raises(StoreError, match="the model of that name uses meta-llama/Meta-Llama-3-8B") as caught:
        tokbench.load("llama-3")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("-t hf:meta-llama/Meta-Llama-3-8B fetches it")


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "O200K_base"])
def test_tiktoken_names_suggest_their_source(name: str) -> None:
    with pytest.raises(StoreError, match=f"^there is no tokenizer {name!r} here$") as caught:
        tokbench.load(name)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(f"-t tiktoken:{name.lower()} fetches it")


def test_the_nearest_name_is_suggested() -> None:
    assert nearest("lama-3", ["mine"]) == "llama-3"
    assert nearest("mien", ["mine"]) == "mine"
    assert nearest("zzzzzz", ["mine"]) is None
    with pytest.raises(StoreError) as caught:
        tokbench.load("gpt-4oo")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("did you mean 'gpt-4o'?")
