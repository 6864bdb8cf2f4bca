"""Rank files with a custom pattern give tiktoken's ids and spans on tokbench's kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small_files import BYTES, opened, ranks
from support.texts import texts

from tokbench.native.kernel_choice import is_installed

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not is_installed("tokbench.native._bpe"), reason="needs the native kernel")

LETTERS = r"\p{Lm}\p{Lo}\p{M}"
PATTERNS = {
    "lazy": r"\[.*?\]|\p{L}+?b|[^\s\d]{1,3}?\d|\w+?|\s+|[^\s\w]",
    "tekken": rf"[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}{LETTERS}]*[\p{{Ll}}{LETTERS}]+"
    rf"|[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}{LETTERS}]+[\p{{Ll}}{LETTERS}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "kimi": rf"[\p{{Han}}]+|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}{LETTERS}&&[^\p{{Han}}]]+(?i:'s|'t|'ll)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "words": r"\w+|\W+",
    "possessive": r"[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s",
}
TOKENS = [
    *BYTES,
    None,
    b"lo",
    b"low",
    b" low",
    b"er",
    b"lower",
    b"  ",
    b"\xe6\xbc",
    "漢字".encode(),
    b"12",
    b"'s",
]


@pytest.fixture(scope="module", params=PATTERNS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    path = ranks(tmp_path_factory.mktemp("ranks"), TOKENS)
    made = [
        opened(path, pattern=PATTERNS[request.param], engine=engine, special_tokens={"<|end|>": None})
        for engine in ("auto", "library")
    ]
    assert [opened.engine for opened in made] == ["native", "library"]
    native, library = (opened.tokenizer for opened in made)
    return native, library


@given(given=st.lists(texts | st.text(alphabet="low er漢字12's<|end|>\u0301\n  A[]b"), max_size=4))
def test_ids_and_spans_equal_tiktokens(both: tuple[Any, Any], given: list[str]) -> None:
    native, library = both
    expected = [library.encode(text) for text in given]
    batch = native.encode_batch(given)
    assert [batch[number].tolist() for number in range(len(given))] == expected
    assert native.count_batch(given).tolist() == list(map(len, expected))
    for text, ids in zip(given, expected, strict=True):
        assert native.encode(text) == ids
        assert native.segment(text) == library.segment(text)
        assert native.decode_bytes(native.encode(text)) == text.encode()
    ours, theirs = native.encode_spans(given), library.encode_spans(given)
    assert (ours.starts == theirs.starts).all()
    assert (ours.stops == theirs.stops).all()


def test_most_texts_run_on_the_kernel(both: tuple[Any, Any]) -> None:
    agreement = both[0]._agreement
    assert all(map(agreement.covers, ["lower", "漢字 かな", "été\n", "\u0301 12½ ‘’", "👩\u200d👩", "नमस्ते"]))


def test_text_that_tiktoken_cannot_split_is_encoded(tmp_path: Path) -> None:
    """Rust's lookahead regular expressions need memory for each character of a run of spaces."""
    native = opened(ranks(tmp_path), pattern=PATTERNS["tekken"]).tokenizer
    assert len(native.encode(" " * 3_000_000 + "a")) == 3_000_001
