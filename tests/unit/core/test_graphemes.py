"""Grapheme clusters, and the token boundaries inside them."""

from __future__ import annotations

import time

import pytest
import regex
from hypothesis import given
from support.segmentations import HARD_TEXTS, cut_at, in_words, tilings, token

from tokbench.core.graphemes import clusters, cut_clusters
from tokbench.core.tokens import Segmentation, Span

FAMILY = "👩\u200d👩\u200d👧"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("abc", ["a", "b", "c"]),
        ("e\u0301e", ["e\u0301", "e"]),
        ("a\r\nb", ["a", "\r\n", "b"]),
        (FAMILY + "👍🏽", [FAMILY, "👍🏽"]),
        ("🇩🇪🇫🇷🇮", ["🇩🇪", "🇫🇷", "🇮"]),
        ("🇩🇪\u0301🇫🇷", ["🇩🇪\u0301", "🇫🇷"]),
        ("\u1112\u1161\u11ab\uae00", ["\u1112\u1161\u11ab", "\uae00"]),
    ],
)
def test_clusters_are_user_perceived_characters(text: str, expected: list[str]) -> None:
    assert clusters(text) == expected


@given(HARD_TEXTS)
def test_clusters_equal_those_of_the_regex_package(text: str) -> None:
    assert clusters(text) == regex.findall(r"\X", text)


def test_cut_cluster_has_its_text_span_and_boundaries() -> None:
    (cut,) = cut_clusters(cut_at("a안b", 1, 2, 3, 4))
    assert (cut.text, cut.span, cut.boundaries) == ("안", Span(1, 4), (2, 3))
    assert cut.parts == (b"\xec", b"\x95", b"\x88")


@pytest.mark.parametrize("text", ["e\u0301", "🇩🇪", FAMILY, "❤\ufe0f", "é"])
def test_only_a_boundary_inside_a_cluster_is_a_cut(text: str) -> None:
    size = len(text.encode())
    assert [cut.text for cut in cut_clusters(cut_at(f"x{text}y", 1 + size // 2))] == [text]
    assert cut_clusters(cut_at(f"x{text}y", 1, 1 + size)) == ()


def test_boundary_inside_crlf_is_not_a_cut() -> None:
    """UAX 29 keeps CR LF together, but nobody reads it as one character."""
    assert cut_clusters(cut_at("x\r\ny", 2)) == ()
    (cut,) = cut_clusters(cut_at("\r\n\r\nxe\u0301", 1, 3, 6))
    assert (cut.text, cut.span) == ("e\u0301", Span(5, 8))


def test_cut_before_a_combining_mark_is_found() -> None:
    (cut,) = cut_clusters(cut_at("caffe\u0301s", 5))
    assert (cut.text, cut.span) == ("e\u0301", Span(4, 7))


def test_cut_inside_the_second_flag_is_found() -> None:
    (cut,) = cut_clusters(cut_at("🇩🇪🇫🇷", 12))
    assert (cut.text, cut.boundaries) == ("🇫🇷", (12,))


def test_empty_spans_and_whole_characters_cut_nothing() -> None:
    tokens = (token(1, 1), token(0, 2), token(0, 2), token(2, 3))
    assert cut_clusters(Segmentation("éx", tokens)) == ()


def test_whole_words_cut_nothing() -> None:
    assert cut_clusters(in_words("안녕", "하세요", " 👍🏽", "\r\n")) == ()


@given(tilings())
def test_cuts_equal_their_definition(segmentation: Segmentation) -> None:
    edges = {token.span.start for token in segmentation.tokens} - {0}
    expected, start = [], 0
    for cluster in regex.findall(r"\X", segmentation.text):
        stop = start + len(cluster.encode())
        inside = tuple(edge for edge in sorted(edges) if start < edge < stop)
        if inside and cluster != "\r\n":
            expected.append((cluster, Span(start, stop), inside))
        start = stop
    cuts = cut_clusters(segmentation)
    assert [(cut.text, cut.span, cut.boundaries) for cut in cuts] == expected
    assert all(b"".join(cut.parts).decode() == cut.text for cut in cuts)


@pytest.mark.timed
@pytest.mark.parametrize("unit", ["🇩🇪", "e\u0301", "\u0301", "\u200d👩", "\r\n", "क\u094d"])
def test_time_is_linear_in_the_text(unit: str) -> None:
    started = time.perf_counter()
    cut_clusters(cut_at(unit * 60_000, 4))
    assert time.perf_counter() - started < 5  # a row of 60,000 flags once took half a minute
