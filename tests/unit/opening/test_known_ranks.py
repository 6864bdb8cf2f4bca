"""Tests that the entries of the rank files known by their hash are consistent."""

from __future__ import annotations

import pytest

from tokbench.core.roles import ROLES
from tokbench.formats.tiktoken import to_encoding
from tokbench.opening.known_ranks import KNOWN_BY_SHA256, KnownRanks
from tokbench.opening.patterns import known_pattern

BYTES = [(bytes([byte]), byte) for byte in range(256)]


@pytest.mark.parametrize("known", KNOWN_BY_SHA256.values(), ids=lambda known: known.name)
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
