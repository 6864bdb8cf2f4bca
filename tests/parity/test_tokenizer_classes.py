"""A vocabulary with merges is opened like by the class of transformers that its configuration names."""

from __future__ import annotations

import json
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from support.texts import texts

import tokbench
from tokbench.core.capabilities import SupportsTemplate
from tokbench.core.tokens import SpecialPolicy
from tokbench.formats.tokenizer_json import to_byte_level
from tokbench.opening.tokenizer_classes import known_class

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer

transformers = pytest.importorskip("transformers")
convert_slow_tokenizer = pytest.importorskip("transformers.convert_slow_tokenizer")

Pairs = list[tuple[str, str]]
BYTES = [to_byte_level(bytes([byte])) for byte in range(256)]
MERGES: Pairs = [
    ("l", "o"),
    ("lo", "w"),
    ("Ġ", "low"),
    ("'", "s"),
    ("Ġ", "Ġ"),
    ("1", "2"),
    ("Ã", "©"),
    ("Ċ", "Ċ"),
]
ENDED: Pairs = [
    ("l", "o"),
    ("lo", "w</w>"),
    ("lo", "w"),
    ("e", "r</w>"),
    ("'", "s</w>"),
    ("1", "2"),
    ("!", "!</w>"),
]
BART = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CLIP = ["<|startoftext|>", "<|endoftext|>"]
CLASSES: dict[str, tuple[list[str], Pairs, list[str]]] = {
    "GPT2Tokenizer": (BYTES, MERGES, ["<|endoftext|>"]),
    "CodeGenTokenizer": (BYTES, MERGES, ["<|endoftext|>"]),
    "WhisperTokenizer": (BYTES, MERGES, ["<|endoftext|>"]),
    "Qwen2Tokenizer": (BYTES, MERGES, ["<|endoftext|>"]),
    "RobertaTokenizer": (BYTES, MERGES, BART),
    "BartTokenizer": (BYTES, MERGES, BART),
    "LEDTokenizer": (BYTES, MERGES, BART),
    "LongformerTokenizer": (BYTES, MERGES, BART),
    "MvpTokenizer": (BYTES, MERGES, BART),
    "BlenderbotTokenizer": (BYTES, MERGES, BART),
    "DebertaTokenizer": (BYTES, MERGES, BERT),
    "CLIPTokenizer": ([*BYTES, *(f"{byte}</w>" for byte in BYTES)], ENDED, CLIP),
    "OpenAIGPTTokenizer": (
        [piece for letter in "lowers'123!,.abé" for piece in (letter, f"{letter}</w>")], ENDED, ["<unk>"],
    ),
    "HerbertTokenizer": (
        [piece for letter in "lLowers'123!,.abé" for piece in (letter, f"{letter}</w>")], ENDED, BART,
    ),
}  # fmt: skip
FRAGMENTS = [
    "low",
    " low",
    "Lower",
    "é",
    "e\u0301",
    "12",
    "'s",
    "!!",
    " ",
    "\n\n",
    "<mask>",
    "<|endoftext|>",
    "[SEP]",
    "</s>",
]
marked_texts = st.lists(st.sampled_from(FRAGMENTS) | texts, max_size=6).map("".join)


def vocabulary(name: str) -> tuple[dict[str, int], Pairs]:
    pieces, merges, specials = CLASSES[name]
    made = [left + right for left, right in merges]
    return {piece: id for id, piece in enumerate(dict.fromkeys([*pieces, *made, *specials]))}, merges


def folder_of(folder: Path, name: str, **config: Any) -> Path:
    vocab, merges = vocabulary(name)
    (folder / "vocab.json").write_text(json.dumps(vocab), encoding="utf-8")
    lines = "".join(f"{left} {right}\n" for left, right in merges)
    (folder / "merges.txt").write_text(f"#version: 0.2\n{lines}", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@cache
def peer_of(name: str, **config: Any) -> Any:
    vocab, merges = vocabulary(name)
    if "<mask>" in vocab and name != "HerbertTokenizer":  # as in the models of these classes
        config["mask_token"] = tokenizers.AddedToken("<mask>", lstrip=True, normalized=False)
    return getattr(transformers, name)(vocab=vocab, merges=merges, **config)


@pytest.fixture(scope="module", params=[*CLASSES, "GPT2Tokenizer, prefixed", "RobertaTokenizer, prefixed"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Tokenizer, Any]:
    name, _, prefixed = request.param.partition(", ")
    config = {"add_prefix_space": True} if prefixed else {}
    folder = folder_of(tmp_path_factory.mktemp("model"), name, tokenizer_class=f"{name}Fast", **config)
    return tokbench.load(folder), peer_of(name, **config)


@given(text=marked_texts)
def test_ids_equal_those_of_the_class(pair: tuple[Tokenizer, Any], text: str) -> None:
    tokenizer, peer = pair
    backend = peer.backend_tokenizer
    expected = backend.encode(text, add_special_tokens=False).ids
    assert tokenizer.encode(text, special=SpecialPolicy.ENCODE) == expected
    assert tokenizer.decode(expected) == type(backend).decode(backend, expected, skip_special_tokens=False)


def converted(name: str) -> tokenizers.Tokenizer:
    """Convert a vocabulary by the converter of a class, with its template."""
    vocab, merges = vocabulary(name)
    roles = class_roles(name)
    original = SimpleNamespace(
        encoder=vocab,
        bpe_ranks={pair: rank for rank, pair in enumerate(merges)},
        add_prefix_space=name == "BlenderbotTokenizer",
        convert_tokens_to_ids=vocab.get,
        **{f"{role}_token": text for role, text in roles.items()},
        **{f"{role}_token_id": vocab.get(text) for role, text in roles.items()},
    )
    return convert_slow_tokenizer.SLOW_TO_FAST_CONVERTERS[name](original).converted()


def class_roles(name: str) -> dict[str, str]:
    known = known_class(name)
    assert known is not None
    return dict(known.roles)


@pytest.mark.parametrize("name", [name for name in CLASSES if name != "WhisperTokenizer"])
def test_template_equals_that_of_the_class(tmp_path: Path, name: str) -> None:
    """Whisper is excluded: its template depends on a language that no file states."""
    tokenizer = tokbench.load(folder_of(tmp_path, name, tokenizer_class=name))
    peer = converted(name)
    ids = peer.encode("low 12").ids, peer.encode("low 12", "lower").ids
    if isinstance(tokenizer, SupportsTemplate):
        assert (tokenizer.with_template("low 12"), tokenizer.with_template("low 12", "lower")) == ids
    else:
        assert ids[0] == tokenizer.encode("low 12")
