"""Tests for numbers with nouns and for amounts of text: singular for one, and never a rounded 0.0."""

from __future__ import annotations

import pytest

from tokbench.core.wording import counted
from tokbench.corpus import Problems
from tokbench.render.console import amount, rate


@pytest.mark.parametrize(("number", "shown"), [(0, "0 tokens"), (1, "1 token"), (2, "2 tokens")])
def test_count_of_one_is_singular(number: int, shown: str) -> None:
    assert counted(number, "token") == shown


def test_skipped_text_is_reported_in_singular_and_plural() -> None:
    one = Problems(replaced_bytes=1, skipped_documents=3, long_documents=1, textless_documents=1)
    assert str(one) == (
        "1 byte that is not UTF-8 was replaced by U+FFFD; 1 document that is not UTF-8 was left out; "
        "1 document longer than --max-document-bytes was left out; 1 record without a text was left out"
    )
    several = Problems(replaced_bytes=3, skipped_documents=8, long_documents=2, textless_documents=2)
    assert str(several) == (
        "3 bytes that are not UTF-8 were replaced by U+FFFD; 4 documents that are not UTF-8 were left out; "
        "2 documents longer than --max-document-bytes were left out; 2 records without a text were left out"
    )


@pytest.mark.parametrize("num_bytes", [0, 1, 12, 99_999])
def test_small_text_has_no_rate(num_bytes: int) -> None:
    assert rate(num_bytes, 0.01) is None


@pytest.mark.parametrize("seconds", [0.001, 0.1, 1.0, 60.0, 3600.0])
def test_rate_is_never_rounded_to_zero(seconds: float) -> None:
    shown = rate(200_000, seconds)
    assert shown is not None
    assert float(shown.split()[0].replace(",", "")) > 0


def test_amount_is_never_rounded_to_zero() -> None:
    assert [amount(size, digits=2) for size in (1, 999, 1_500, 95_000, 250_000)] == [
        "1 B",
        "999 B",
        "1.50 kB",
        "95.00 kB",
        "0.25 MB",
    ]
