"""Well-known sets of special tokens, trained into and added to vocabularies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import tokbench
from tokbench.core.roles import ROLES, role_ids_of, roles_of
from tokbench.core.special_presets import SPECIAL_PRESETS
from tokbench.core.special_tokens import check_special_tokens
from tokbench.core.tokens import SpecialPolicy
from tokbench.errors import ConfigError
from tokbench.formats.tiktoken import dump_ranks

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["low lower lowest, wide wider widest"] * 20
BYTES = [bytes([byte]) for byte in range(256)]


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    path = tmp_path / "ranks.tiktoken"
    path.write_bytes(dump_ranks([*BYTES, b"lo", b"low"]))
    return path


@pytest.mark.parametrize("preset", SPECIAL_PRESETS.values(), ids=lambda preset: preset.name)
def test_preset_is_consistent(preset: Any) -> None:
    check_special_tokens(preset.tokens)
    assert set(preset.roles) <= set(ROLES)
    assert set(preset.roles.values()) <= set(preset.tokens)
    assert preset.source
    assert preset.description


def test_presets_have_their_published_tokens() -> None:
    llama = SPECIAL_PRESETS["llama3"].tokens
    assert len(llama) == 256
    # Ids from Llama 3's generation_config.json and documentation, starting at 128000.
    assert [
        128_000 + llama.index(f"<|{name}|>") for name in ("begin_of_text", "end_of_text", "eom_id", "eot_id")
    ] == [*(128_000, 128_001, 128_008, 128_009)]
    assert llama[-1] == "<|reserved_special_token_245|>"
    assert len(SPECIAL_PRESETS["nanochat"].tokens) == 9
    assert SPECIAL_PRESETS["nanochat"].tokens[:2] == ("<|bos|>", "<|user_start|>")


@pytest.mark.real
def test_presets_of_bert_and_gpt2_match_the_real_vocabularies(shared: Path) -> None:
    bert = tokbench.load(shared / "vocab/bert-base-uncased")
    preset = SPECIAL_PRESETS["bert"]
    assert {bert.token_id(text.encode()) for text in preset.tokens} == {0, 100, 101, 102, 103}
    assert roles_of(bert) == preset.roles
    gpt2 = tokbench.load(shared / "vocab/gpt2")
    assert tuple(gpt2.info.special_tokens) == SPECIAL_PRESETS["gpt2"].tokens


@pytest.mark.parametrize("backend", ["bpe", "wordpiece", "sentencepiece", "unigram", "byte", "char"])
@pytest.mark.parametrize("name", SPECIAL_PRESETS)
def test_every_backend_trains_with_every_preset(backend: str, name: str) -> None:
    preset = SPECIAL_PRESETS[name]
    tokenizer = tokbench.train(TEXTS, backend=backend, special_preset=name, special_tokens=["<|more|>"])
    specials = tokenizer.info.special_tokens
    unknown = roles_of(tokenizer).get("unk")
    assert [text for text in specials if text != unknown] == [
        *(text for text in preset.tokens if text != unknown),
        "<|more|>",
    ]
    ids = list(specials.values())
    assert sorted(ids) == ids
    assert {role: text for role, text in roles_of(tokenizer).items() if role in preset.roles} == {
        **preset.roles,
        **({"unk": "[UNK]"} if backend == "char" and "unk" in preset.roles else {}),
    }


def test_sentencepiece_numbers_gemmas_tokens_as_gemma_does() -> None:
    tokenizer = tokbench.train(TEXTS, backend="sentencepiece", special_preset="gemma")
    assert role_ids_of(tokenizer) == {"pad": 0, "eos": 1, "bos": 2, "unk": 3, "mask": 4, "turn_end": 6}


def test_roles_given_by_the_user_override_the_preset() -> None:
    tokenizer = tokbench.train(
        TEXTS, special_preset="chatml", roles={"eos": "<|im_end|>", "pad": "<|endoftext|>"}
    )
    assert roles_of(tokenizer) == {"eos": "<|im_end|>", "pad": "<|endoftext|>", "turn_end": "<|im_end|>"}


def test_preset_is_added_after_the_ranks_of_a_rank_file(ranks: Path) -> None:
    opened = tokbench.load(ranks, pattern="llama3", special_preset="llama3")
    assert opened.vocab_size == 258 + 256
    assert role_ids_of(opened) == {"bos": 258, "eos": 259, "pad": 262, "turn_end": 267}
    assert opened.encode("low<|eot_id|>", special=SpecialPolicy.ENCODE) == [257, 267]
    assert 267 not in opened.encode("low<|eot_id|>")


def test_preset_tokens_that_are_already_known_keep_their_ids(ranks: Path) -> None:
    known = {
        "tokenizer_config.json": {
            "added_tokens_decoder": {"300": {"content": "<|endoftext|>", "special": True}}
        }
    }
    for name, document in known.items():
        (ranks.parent / name).write_text(json.dumps(document))
    opened = tokbench.load(ranks, pattern="gpt4", special_preset="chatml")
    assert opened.info.special_tokens == {"<|endoftext|>": 300, "<|im_start|>": 301, "<|im_end|>": 302}


def test_chatml_has_openais_ids_for_openais_ranks() -> None:
    ids = SPECIAL_PRESETS["chatml"].ids(100_256)
    assert ids == {"<|endoftext|>": 100_257, "<|im_start|>": 100_264, "<|im_end|>": 100_265}


@pytest.mark.real
def test_chatml_is_added_to_cl100k_and_r50k(shared: Path) -> None:
    opened = tokbench.load(shared / "vocab/openai/cl100k_base.tiktoken", special_preset="chatml")
    assert opened.info.special_tokens["<|im_end|>"] == 100_265
    assert opened.info.special_tokens["<|endofprompt|>"] == 100_276
    assert role_ids_of(opened) == {"eos": 100_257, "turn_end": 100_265}
    opened = tokbench.load(shared / "vocab/openai/r50k_base.tiktoken", special_preset="gpt2")
    assert opened.info.special_tokens == {"<|endoftext|>": 50_256}


def test_conflicting_ids_are_refused(ranks: Path) -> None:
    taken = {"<|mine|>": 301, "<|im_end|>": 301}
    with pytest.raises(ConfigError, match="has the id 301, which is of"):
        tokbench.load(ranks, pattern="gpt4", special_preset="chatml", special_tokens=taken)


def test_preset_for_a_complete_file_is_refused(tmp_path: Path) -> None:
    tokbench.train(TEXTS).save(tmp_path / "mine")
    with pytest.raises(ConfigError, match="--special-preset"):
        tokbench.load(tmp_path / "mine", special_preset="gpt2")


def test_unknown_preset_is_refused_with_a_suggestion(ranks: Path) -> None:
    with pytest.raises(ConfigError, match="no set of special tokens 'lama3'") as caught:
        tokbench.load(ranks, special_preset="lama3")
    assert caught.value.hint == "did you mean 'llama3'?"
    with pytest.raises(ConfigError, match="no set"):
        tokbench.train(TEXTS, special_preset="x")
