"""Tests for parsing a `tokenizer.json` and for its variant in which no text becomes a special token."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokbench.libraries.huggingface.engines import with_unspeakable_specials
from tokbench.libraries.huggingface.tokenizer_json import is_read_by_python_alone


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (rb'{"a": "\ud83d"}', True),
        (rb'{"a": "\uDE00"}', True),
        (rb'{"a": "\\ud83d"}', False),  # a backslash, as in tokens of code
        (rb'{"a": "\\\ud83d"}', True),
        (rb'{"a": "' + b"\\" * 3000 + rb'\ud83d"}', True),
        (rb'{"a": NaN}', True),
        (rb"[-Infinity]", True),
        (rb'["x" , NaN]', True),
        (rb'{"merges": ["is NaN", "- Infinity", ": NaN"]}', False),  # the merges of nearly every large BPE
        (b'{"a": NaN\n}', True),
        (b"NaN", False),  # no tokenizer.json looks like this
        (rb'{"NaN": 1, "\u0120Infinity": 2, "a": "\u00e9"}', False),
    ],
)
def test_documents_that_need_pythons_json_parser_are_recognized(data: bytes, expected: bool) -> None:
    assert is_read_by_python_alone(data) is expected


pieces = st.text("ab<>", min_size=1, max_size=3)


@st.composite
def merges_and_specials(draw: st.DrawFn) -> tuple[list[tuple[str, str]], set[str]]:
    merges = draw(st.lists(st.tuples(pieces, pieces), min_size=1, max_size=6))
    texts = {piece for left, right in merges for piece in (left, right, left + right)}
    # A special token of a single letter stays a letter in every text, so only longer texts are drawn.
    longer = sorted(text for text in texts if len(text) > 1)
    return merges, draw(st.sets(st.sampled_from(longer), min_size=1, max_size=2))


@given(
    given_merges=merges_and_specials(),
    spelling=st.sampled_from(["text", "list", "pair"]),
    prefix=st.sampled_from(["", None, "<"]),
)
def test_plain_variant_has_no_merges_with_special_tokens(
    given_merges: tuple[list[tuple[str, str]], set[str]], spelling: str, prefix: str | None
) -> None:
    merges, specials = given_merges
    spelled: dict[str, Any] = {"text": " ".join, "list": list, "pair": tuple}
    vocab = {piece for left, right in merges for piece in (left, right, left + right)}
    model = {
        "type": "BPE",
        "vocab": {each: id for id, each in enumerate(sorted(vocab))},
        "merges": [spelled[spelling](merge) for merge in merges],
        "continuing_subword_prefix": prefix,
    }
    added = [
        {"id": model["vocab"][token], "content": token, "special": True, "normalized": False}
        for token in sorted(specials)
    ]
    document = {"model": model, "added_tokens": added}
    plain = with_unspeakable_specials(document, {token: f"?{token}" for token in specials})
    kept = [merge for merge in merges if specials.isdisjoint((*merge, "".join(merge)))]
    assert plain["model"]["merges"] == [spelled[spelling](merge) for merge in kept]
