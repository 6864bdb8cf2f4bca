"""Tests for SentencePiece training options: refused options, options passed to the library, and presets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.sentencepiece_models import trained

from tokbench.config import build_config, load_preset
from tokbench.errors import ConfigError
from tokbench.formats.sentencepiece.model import parse_model
from tokbench.libraries.sentencepiece.config import SentencePieceConfig, UnigramConfig
from tokbench.registry import get_backend

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"vocab_size": 3}, "too small", "4"),
        ({"vocab_size": 1 << 40}, "too large", "at most"),
        ({"normalization": "nfk"}, "unknown normalization", "'nfkc'"),
        ({"character_coverage": 0.5}, "character_coverage is 0.5", "0.98"),
        ({"max_token_length": 0}, "max_token_length is 0", "from 1"),
        ({"threads": 0}, "threads is 0", "from 1"),
        ({"input_sentence_size": -1}, "input_sentence_size is -1", "from 0"),
        ({"unk_id": -1}, "unk_id", "unk_id = 0"),
        ({"bos_id": 2}, "are the same", "-1"),
        ({"bos_piece": "<unk>"}, "are the same", "rename"),
        ({"pad_piece": ""}, "empty", "<pad>"),
        ({"special_tokens": ("<s>",)}, "already the piece with id 1", "leave it out"),
        ({"special_tokens": ("<0x4A>",)}, "'<0x4A>' is already the piece of a byte", "--no-byte-fallback"),
        ({"user_defined_symbols": ("<0xFF>",)}, "already the piece of a byte", "rename"),
        ({"unk_piece": "<0x00>"}, "already the piece of a byte", "rename"),
        ({"special_tokens": ("<a>", "<a>")}, "twice", "once"),
        ({"special_tokens": ("<a>",), "user_defined_symbols": ("<a>",)}, "twice", "once"),
        ({"user_defined_symbols": ("a▁b",)}, "line end", "space"),
        ({"bos_piece": "▁"}, "line end", "space"),
        ({"unk_piece": "a\0b"}, "a NUL", "lines"),
        ({"unk_piece": "\ud800"}, "no UTF-8 form", ""),
        ({"user_defined_symbols": ("\udcff",)}, "no UTF-8 form", ""),
        ({"options": ("unk_surface=\ud800",)}, "no UTF-8 form", ""),
        ({"options": ("split_by_number",)}, "no value", "key=value"),
        ({"options": ("split_by_numbers=true",)}, "no option", "'split_by_number'"),
        ({"options": ("split_by_number=yes",)}, "'yes'", "true or false"),
        ({"options": ("num_sub_iterations=x",)}, "'x'", "whole number"),
        ({"options": ("split_digits=true",)}, "option of its own", "split_digits"),
        ({"options": ("model_type=word",)}, "cannot be set here", "the backend"),
        ({"options": ("seed_sentencepieces_file=x",)}, "no option", ""),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str, hint: str) -> None:
    for config_type in (SentencePieceConfig, UnigramConfig):
        with pytest.raises(ConfigError, match=message) as caught:
            config_type(**options)
        assert hint in str(caught.value.hint)


def test_options_reach_the_library() -> None:
    tokenizer = trained(
        "sentencepiece",
        vocab_size=600,
        split_digits=True,
        max_token_length=5,
        pad_id=3,
        special_tokens=['a,"b'],
        user_defined_symbols=["x y"],
        options=("split_by_unicode_script=false",),
    )
    trainer = tokenizer.model.trainer
    assert trainer["split_digits"] is True
    assert trainer["split_by_unicode_script"] is False
    assert trainer["control_symbols"] == ('a,"b',)
    assert trainer["user_defined_symbols"] == ("x y",)
    assert tokenizer.info.special_tokens == {"<s>": 1, "</s>": 2, "<pad>": 3, 'a,"b': 4}
    assert max(len(tokenizer.model.pieces[id].text) for id in range(262, 600)) <= 5


@pytest.mark.parametrize(
    ("name", "first"), [("llama2", ["<unk>", "<s>", "</s>"]), ("t5", ["<pad>", "</s>", "<unk>"])]
)
def test_presets_train_the_named_model_type(name: str, first: list[str]) -> None:
    preset = load_preset(name)
    config = build_config(get_backend(preset.backend).config_type, preset.options, where="the preset")
    assert config.vocab_size == 32000
    tokenizer = trained(preset.backend, **(dict(preset.options) | {"vocab_size": 600}))
    assert [piece.text for piece in tokenizer.model.pieces[:3]] == first
    assert tokenizer.model.normalizer["name"] == preset.options["normalization"]


@pytest.mark.real
def test_llama_preset_equals_the_options_of_a_real_model(shared: Path) -> None:
    """Mistral's model was trained with Llama's options: all of them but those of a single run equal the preset's."""
    real = parse_model((shared / "vocab" / "mistral" / "tokenizer.model.v1").read_bytes())
    ours = trained("sentencepiece", **(dict(load_preset("llama2").options) | {"vocab_size": 600})).model
    differing = {name for name, value in real.trainer.items() if ours.trainer[name] != value}
    own = {
        *("input", "input_format", "input_sentence_size", "model_prefix", "vocab_size"),
        *("num_threads", "hard_vocab_limit"),
    }
    assert differing <= own | {"max_sentence_length"}
    assert ours.normalizer == real.normalizer
