"""Tests for the HTML report: one complete file, inert for any texts, and true to the comparison."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from support.comparisons import HOSTILE, TEXTS, Texts, compared, named, tokenizers
from support.segmentations import HARD_TEXTS, cut_at, token

from tokbench.core.tokens import Segmentation, TokenKind
from tokbench.corpus import bundled_corpus
from tokbench.evaluation.costs import Model
from tokbench.evaluation.figures import Figure
from tokbench.evaluation.samples import Sample, draw_samples, samples_of
from tokbench.evaluation.sweep import Sweep
from tokbench.evaluation.sweep_point import Recommendation, SweepPoint
from tokbench.metrics.catalogue import METRICS, metrics_named
from tokbench.render.comparison import groups_table, premiums_table
from tokbench.render.comparison_tables import summary_table
from tokbench.render.glyphs import glyphs_of, text_of
from tokbench.render.html import report as tables
from tokbench.render.html.report import html_report
from tokbench.render.html.samples import UNCOVERED, samples_document
from tokbench.workbench.compare import compare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.evaluation.comparison import Comparison

VOID = {"meta", "input", "br", "hr", "img", "link"}
INVISIBLE = "\0\x07\x1b\u202e\u2066\u2028\u2029"


class Page(HTMLParser):
    """The elements of a parsed page and the texts inside them."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(data.decode())
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), (tag, attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open[-1]][-1] += data

    @property
    def data(self) -> dict[str, Any]:
        """Return the viewer's data."""
        return json.loads(self.texts["script"][0])

    @property
    def policy(self) -> str:
        return next(attrs["content"] or "" for tag, attrs in self.tags if "http-equiv" in attrs)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compared(tokenizers(), TEXTS, parallel=["en", "fr", "he"])


@pytest.fixture(scope="module")
def samples(comparison: Comparison) -> tuple[Sample, ...]:
    return draw_samples(Texts(TEXTS), [tokenizer.candidate.tokenizer for tokenizer in comparison.tokenizers])


@pytest.fixture(scope="module")
def page(comparison: Comparison, samples: tuple[Sample, ...]) -> bytes:
    return html_report(comparison, samples)


def swept(
    *points: tuple[int, float], groups: Sequence[str] = (), knee: int, recommended: int | None = None
) -> Sweep:
    """Return a sweep with these sizes and bytes per token, the same in each group."""
    return Sweep(
        backend="bpe",
        num_bytes=1,
        documents=1,
        parts="1 document",
        units={},
        interval_gap=None,
        group_interval_gaps={},
        training_bytes=1,
        shares={},
        model=Model(),
        points=tuple(
            SweepPoint(size, 1, value, dict.fromkeys(groups, Figure(value))) for size, value in points
        ),
        trainings=1,
        knee=knee,
        recommendation=Recommendation(recommended, "why"),
        missing=(),
        mix=None,
        mix_summary=(),
        largest=tokenizers()[0],
    )


@pytest.fixture(scope="module")
def hostile() -> bytes:
    """A report in which every name, group, place and line is hostile text, such as markup."""
    evaluated = named(*HOSTILE)
    texts = dict.fromkeys(HOSTILE, "\n".join(line.replace("\n", "") for line in HOSTILE) + "\n")
    comparison = compared(evaluated, texts, parallel=HOSTILE)
    return html_report(
        comparison,
        draw_samples(Texts(texts), evaluated),
        sweep=swept((1, 2.0), (2, 3.0), groups=(HOSTILE[0], HOSTILE[3]), knee=2),
    )


# --- one file, alone ------------------------------------------------------------------------------


def pages() -> Any:
    return pytest.mark.parametrize("name", ["page", "hostile"])


@pages()
def test_page_is_well_formed(name: str, request: pytest.FixtureRequest) -> None:
    data = request.getfixturevalue(name)
    assert b"In depth" not in data
    page = Page(data)
    assert data.startswith(b"<!DOCTYPE html>")
    assert [tag for tag, _ in page.tags[:2]] == ["html", "head"]
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(set(ids)) == len(ids)
    labels = {attrs["for"] for tag, attrs in page.tags if "for" in attrs}
    targets = {(attrs["href"] or "")[1:] for tag, attrs in page.tags if tag == "a"}
    assert labels | targets <= set(ids)


@pages()
def test_page_fetches_nothing(name: str, request: pytest.FixtureRequest) -> None:
    data = request.getfixturevalue(name)
    page = Page(data)
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in page.tags}
    for tag, attrs in page.tags:
        assert not {"src", "srcset", "action", "xlink:href", "style"} & set(attrs)
        assert "href" not in attrs or (tag == "a" and (attrs["href"] or "").startswith("#"))
    namespaces = {b"http://www.w3.org/2000/svg", b"http://www.w3.org/1999/xlink"}
    assert set(re.findall(rb"https?://[^\"' ]*", data)) <= namespaces
    assert b"url(" not in data
    assert b"@import" not in data


@pages()
def test_page_runs_only_its_own_script(name: str, request: pytest.FixtureRequest) -> None:
    data = request.getfixturevalue(name)
    page = Page(data)
    assert [attrs for tag, attrs in page.tags if tag == "script"] == [
        {"type": "application/json", "id": "data"},
        {},
    ]
    assert not [attr for _, attrs in page.tags for attr in attrs if attr.startswith("on")]
    assert re.findall(rb"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(", data) == []


@pages()
def test_content_security_policy_allows_only_its_script_and_style(
    name: str, request: pytest.FixtureRequest
) -> None:
    page = Page(request.getfixturevalue(name))
    hashes = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (page.texts["style"][0], page.texts["script"][1])
    ]
    assert page.policy == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_names_and_lines_are_text(hostile: bytes) -> None:
    text = hostile.decode()
    assert not set(INVISIBLE) & set(text)
    assert "<script>alert" not in text
    assert "onerror" not in {attr for _, attrs in Page(hostile).tags for attr in attrs}
    heads = [head.strip() for head in Page(hostile).texts["th"]]
    for name in ("<script>alert(1)</script>", "a⟨RLO⟩b⟨LRI⟩c", "{{ 7 * 7 }}{% raw %}"):
        assert name in heads
    data = Page(hostile).data
    assert {tokenizer["name"] for tokenizer in data["tokenizers"]} >= {
        "<script>alert(1)</script>",
        "a⟨RLO⟩b⟨LRI⟩c",
    }
    assert "nul␀bell␇escape␛[31m" in {sample["label"] for sample in data["samples"]}


def test_equal_comparisons_give_equal_bytes(
    comparison: Comparison, samples: tuple[Sample, ...], page: bytes
) -> None:
    assert html_report(comparison, samples) == page


# --- contents -------------------------------------------------------------------------------------


def test_every_tokenizer_has_a_row(comparison: Comparison) -> None:
    table = summary_table(comparison)
    assert [row[0].text for row in table.rows] == [tokenizer.name for tokenizer in comparison.tokenizers]
    place = [column.title for column in table.columns].index("bytes/token")
    values = [tokenizer.figures["bytes_per_token"].value for tokenizer in comparison.tokenizers]
    assert [row[place].value for row in table.rows] == values
    best = max(value for value in values if value is not None)
    assert [row[place].best for row in table.rows] == [value == best for value in values]


def test_chosen_metrics_are_the_columns(comparison: Comparison) -> None:
    table = summary_table(comparison, metrics=metrics_named(["unk_rate"]))
    assert [column.title for column in table.columns][:3] == ["tokenizer", "vocab", "UNK"]
    assert [column.first for column in table.columns][:3] == ["ascending", "descending", "ascending"]


def test_rows_have_as_many_cells_as_the_table_has_columns(comparison: Comparison) -> None:
    every = [
        summary_table(comparison),
        tables.figures_table(comparison),
        groups_table(comparison, METRICS["bytes_per_token"]),
        premiums_table(comparison),
        tables.lengths_table(comparison),
        tables.frequencies_table(comparison),
        tables.provenance_table(comparison),
    ]
    for table in every:
        assert table is not None
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_page_has_summary_and_notes(comparison: Comparison, page: bytes) -> None:
    parsed = Page(page)
    items = [item.strip() for item in parsed.texts["li"]]
    assert items == list(comparison.summary)
    without = html_report(compared(tokenizers(), TEXTS)).decode()
    assert "no language premiums" in without
    assert "Tokens of each language" not in without


def test_every_chart_is_drawn_for_wide_and_narrow_windows(page: bytes) -> None:
    parsed = Page(page)
    shown = [attrs.get("class") for tag, attrs in parsed.tags if tag == "div"]
    assert shown.count("wide") == shown.count("narrow") == 4
    assert len([tag for tag, _ in parsed.tags if tag == "svg"]) == 8


def test_sweep_is_shown_if_there_is_one(comparison: Comparison) -> None:
    sweep = swept((1024, 2.0), (2048, 3.0), (4096, 3.1), knee=2048, recommended=4096)
    page = html_report(comparison, sweep=sweep).decode()
    for words in ("knee: 2,048", "2,048 (knee)", "recommended: 4,096", "4,096 (recommended)"):
        assert words in page


def test_without_samples_there_is_no_viewer(comparison: Comparison) -> None:
    ids = {attrs.get("id") for _, attrs in Page(html_report(comparison)).tags}
    assert "viewer" not in ids
    assert "summary" in ids


@pytest.mark.slow
def test_report_on_the_bundled_texts_is_below_3_mb() -> None:
    corpus = bundled_corpus()
    comparison = compare(corpus, times=False)
    data = html_report(comparison, samples_of(comparison, corpus))
    assert len(data) < 3_000_000
    Page(data)


# --- the viewer's data ----------------------------------------------------------------------------


def rows_of(document: dict[str, Any], number: int) -> list[list[tuple[Any, ...]]]:
    """Return the tokens of one tokenizer in each sample as (look, start, stop)."""
    looks = document["tokenizers"][number]["looks"]
    return [
        [
            (looks[row[at]], row[at + 1], row[at + 2])
            for row in [sample["rows"][number]]
            for at in range(0, len(row), 3)
        ]
        for sample in document["samples"]
    ]


def test_viewer_has_every_token(comparison: Comparison, samples: tuple[Sample, ...], page: bytes) -> None:
    document = Page(page).data
    for number, one in enumerate(comparison.tokenizers):
        frequencies = one.evaluation.frequencies
        for sample, row in zip(samples, rows_of(document, number), strict=True):
            tokens = [(look[0], start, stop) for look, start, stop in row if look[0] != UNCOVERED]
            assert tokens == [(token.id, *token.span) for token in sample.segmentations[number].tokens]
        for id, (pieces, times, rank) in document["tokenizers"][number]["tokens"].items():
            assert bytes.fromhex(pieces) == one.candidate.tokenizer.token_bytes(int(id))
            assert times == frequencies[int(id)]
            assert rank == 1 + np.count_nonzero(frequencies > times)


def test_viewer_starts_with_the_reference(samples: tuple[Sample, ...], page: bytes) -> None:
    assert samples[Page(page).data["first"]].group == "en"


def test_samples_have_a_text_direction(samples: tuple[Sample, ...], page: bytes) -> None:
    directions = {sample["group"]: sample["direction"] for sample in Page(page).data["samples"]}
    assert directions == {"en": "ltr", "fr": "ltr", "code": "ltr", "he": "rtl"}


def tokenizer_json_of(comparison: Comparison, segmentation: Segmentation) -> dict[str, Any]:
    """Return the viewer's data for one line with the same segmentation for each tokenizer."""
    cut = (segmentation,) * len(comparison.tokenizers)
    return samples_document(comparison, [Sample("x", "x.txt", segmentation.text, cut)])


@given(HARD_TEXTS)
def test_viewer_shows_every_character(comparison: Comparison, text: str) -> None:
    size = len(text.encode())
    document = tokenizer_json_of(comparison, cut_at(text, *range(3, size, 3)))
    [row] = rows_of(document, 0)
    assert [edge for _, start, stop in row for edge in (start, stop)][1:-1] == [
        edge for edge in range(3, size, 3) for _ in range(2)
    ]
    whole = tokenizer_json_of(comparison, cut_at(text))
    [row] = rows_of(whole, 0)
    assert "".join("".join(look[3][::2]) for look, _, _ in row) == (
        text_of(glyphs_of(text.encode())) or "⟨empty⟩"
    )


def test_uncovered_text_is_marked(comparison: Comparison) -> None:
    segmentation = Segmentation(
        "a bé",
        (token(0, 1, "a", id=1), token(2, 4, "b?", id=2, kind=TokenKind.UNKNOWN), token(5, 5, "x", id=3)),
    )
    [row] = rows_of(tokenizer_json_of(comparison, segmentation), 0)
    assert row == [
        ((1, "normal", False, ("a", 0)), 0, 1),
        ((UNCOVERED, "uncovered", False, ("·", 1)), 1, 2),
        ((2, "unknown", False, ("⟨?⟩", 1, "b", 0, "⟨C3⟩", 3)), 2, 4),
        ((UNCOVERED, "uncovered", False, ("⟨A9⟩", 3)), 4, 5),
        ((3, "normal", True, ("x", 0)), 5, 5),
    ]
