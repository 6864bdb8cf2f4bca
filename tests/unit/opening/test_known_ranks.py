"""Tests that the entries of the rank files known by their hash are consistent."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

import tokbench
from tokbench import SpecialPolicy
from tokbench.core.roles import ROLES
from tokbench.formats.tiktoken import dump_ranked, to_encoding
from tokbench.opening.known_ranks import _OF_ONE_FILE, KNOWN_BY_SHA256, KnownRanks, of_name
from tokbench.opening.patterns import known_pattern

if TYPE_CHECKING:
    from pathlib import Path

BYTES = [(bytes([byte]), byte) for byte in range(256)]


ALL = [*KNOWN_BY_SHA256.values(), *_OF_ONE_FILE.values()]


@pytest.mark.parametrize("known", ALL, ids=lambda known: known.name)
def test_ids_are_distinct_and_roles_name_special_tokens(known: KnownRanks) -> None:
    ids = set(known.special_tokens.values())
    assert len(ids) == len(known.special_tokens)
    assert ids.issuperset(known.eos_ids)
    assert set(known.roles) <= set(ROLES)
    assert set(known.roles.values()) <= known.special_tokens.keys()


@pytest.mark.parametrize("known", KNOWN_BY_SHA256.values(), ids=lambda known: known.name)
def test_patterns_cover_every_text(known: KnownRanks) -> None:
    encoding = to_encoding("x", pattern=known_pattern(known.pattern)[1], ranks=BYTES, special_tokens={})
    text = "It's 12345 camelCase 漢字かな été\r\n\n  ½ // \t end  "
    assert encoding.decode(encoding.encode_ordinary(text)) == text


def test_llama_4_special_tokens_have_their_published_ids() -> None:
    llama4 = next(known for known in KNOWN_BY_SHA256.values() if known.name == "llama4")
    assert len(llama4.special_tokens) == 2048
    assert llama4.special_tokens["<|eot|>"] == 200_008
    assert llama4.special_tokens["<|image|>"] == 200_090
    assert llama4.special_tokens["<|reserved_special_token_903|>"] == 202_047


def test_gpt_oss_has_other_special_tokens_than_the_file_that_it_shares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = next(known for known in KNOWN_BY_SHA256.values() if known.name == "o200k_base")
    data = dump_ranked([*BYTES, *((b"%d" % rank, rank) for rank in range(256, 199_998))])
    monkeypatch.setitem(KNOWN_BY_SHA256, hashlib.sha256(data).hexdigest(), base)
    for name in ("o200k_base.tiktoken", "o200k_harmony.tiktoken"):
        (tmp_path / name).write_bytes(data)
    plain = tokbench.load(tmp_path / "o200k_base.tiktoken")
    assert plain.info.special_tokens == base.special_tokens
    harmony = tokbench.load(tmp_path / "o200k_harmony.tiktoken")
    assert harmony.info.name == "o200k_harmony"
    assert harmony.info.vocab_size == 201_088
    ids = harmony.encode("<|start|>a<|message|>b<|call|>", special=SpecialPolicy.ENCODE)
    assert ids == [200_006, 97, 200_008, 98, 200_012]
    assert (
        harmony.decode([200_000, 200_018, 201_087]) == "<|reserved_200000|><|endofprompt|><|reserved_201087|>"
    )
    assert of_name(base, "mine") is base
