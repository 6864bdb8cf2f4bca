"""One tokenizer in depth: what a report adds to a comparison, and how it is shown."""

from __future__ import annotations

import csv
import io
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pytest
from rich.cells import cell_len
from rich.console import Console
from support.toys import Toy

from tokbench.core.progress import no_progress
from tokbench.corpus import Corpus, open_corpus
from tokbench.evaluation.corpus_scan import CorpusScan
from tokbench.evaluation.costs import Model
from tokbench.evaluation.report import kind_of, report_document, robustness_of, vocabulary_usage_of
from tokbench.files.bundled import corpora_directory
from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.vocabulary import vocabulary_from
from tokbench.registry import get_backend
from tokbench.render.html.report import html_report
from tokbench.render.report import render_report, reports_forms
from tokbench.workbench.report import report

if TYPE_CHECKING:
    from pathlib import Path

    from tokbench.core.interfaces import Tokenizer
    from tokbench.evaluation.report import Report

MODEL = Model(dim=64, layers=2, kv_heads=2, head_dim=16, context=128, price=0.5)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    folder = corpora_directory()
    paths = [folder / "parallel" / "en.txt", folder / "parallel" / "ja.txt", folder / "code" / "python.py"]
    return open_corpus(*paths)


@pytest.fixture(scope="module")
def tokenizer(corpus: Corpus) -> Tokenizer:
    backend = get_backend("bpe")
    config = backend.config_type(vocab_size=500, special_tokens=("<|pad|>",))
    return backend.train(corpus, config, progress=no_progress)


@pytest.fixture(scope="module")
def result(corpus: Corpus, tokenizer: Tokenizer) -> Report:
    return report(corpus, tokenizer=tokenizer, model=MODEL, times=False)


def shown(result: Report, *, width: int = 100) -> str:
    text = StringIO()
    render_report(result, console=Console(file=text, width=width, color_system=None, highlight=False))
    return text.getvalue()


def test_report_has_the_figures_of_a_comparison_of_one_tokenizer(result: Report) -> None:
    assert [tokenizer.name for tokenizer in result.comparison.tokenizers] == [result.evaluated.name]
    assert list(result.evaluated.figures) == list(METRICS)


def test_histogram_uses_and_kinds_cover_every_token(result: Report, tokenizer: Tokenizer) -> None:
    evaluation = result.evaluated.evaluation
    tokens = evaluation.total["tokens"]
    assert sum(result.lengths) == tokens
    assert sum(usage.occurrences for usage in result.vocabulary_usage) == tokens
    assert sum(usage.tokens for usage in result.vocabulary_usage) == tokenizer.info.vocab_size
    assert sum(usage.used for usage in result.vocabulary_usage) == np.count_nonzero(evaluation.frequencies)
    weighted = sum(size * count for size, count in enumerate(result.lengths[:-1]))
    assert weighted + result.lengths[-1] * 16 <= evaluation.num_bytes


def test_most_and_least_used_tokens_are_listed(result: Report, tokenizer: Tokenizer) -> None:
    frequencies = result.evaluated.evaluation.frequencies
    counts = sorted((count for count in frequencies.tolist() if count), reverse=True)
    assert [use.count for use in result.most_used] == counts[:20]
    assert [use.count for use in result.least_used] == counts[-20:]
    for use in (*result.most_used, *result.least_used):
        assert use.piece == tokenizer.token_bytes(use.id)
        assert use.count == frequencies[use.id]
    assert result.unused == 499 - len(counts)
    assert result.deciles is not None
    assert (result.deciles[0], result.deciles[-1]) == (counts[-1], counts[0])


def test_rarely_used_tokens_are_listed_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("abba\n" * 3)
    result = report(open_corpus(tmp_path), tokenizer=Toy("a", "b", "c", "\n"), times=False)
    assert [(use.piece, use.count) for use in result.most_used] == [(b"a", 6), (b"b", 6), (b"\n", 3)]
    assert result.least_used == ()
    assert result.unused == 1  # c; the unknown token is special
    assert result.intermediate_tokens is None


def test_unused_intermediate_tokens_are_counted(result: Report) -> None:
    frequencies = result.evaluated.evaluation.frequencies
    assert result.intermediate_tokens is not None
    assert 0 <= result.intermediate_tokens <= np.count_nonzero(frequencies[256:499] == 0)


def test_numbers_by_length_add_up_to_all_numbers(result: Report) -> None:
    total = result.evaluated.evaluation.total
    assert sum(number.numbers for number in result.numbers) == total["numbers"]
    assert sum(number.tokens for number in result.numbers) == total["number_tokens"]
    assert all(number.numbers for number in result.numbers)


def test_last_row_of_number_lengths_is_open_ended(tmp_path: Path) -> None:
    """The row also counts numbers of twenty digits, so its label must not be just 16."""
    (tmp_path / "a.txt").write_text(f"{'1' * 15} {'2' * 16} {'3' * 20} " * 9, encoding="utf-8")
    result = report(open_corpus(tmp_path / "a.txt"), tokenizer=Toy("1", "2", "3" * 20, " "), times=False)
    assert [(number.label, number.numbers) for number in result.numbers] == [("15", 9), ("16+", 18)]
    rows = [line.split()[:2] for line in shown(result).splitlines()]
    assert ["15", "9"] in rows
    assert ["16+", "18"] in rows
    assert ["16+", "9"] in rows  # tokens of twenty bytes; all others have one
    document: Any = report_document(result)
    assert [(number["digits"], number["or_more"]) for number in document["numbers"]] == [
        (15, False),
        (16, True),
    ]


def test_costs_are_computed_from_model_and_groups(result: Report) -> None:
    cost = result.cost
    assert cost.embedding_bytes == 500 * 64 * 2
    assert cost.untied_bytes == 2 * cost.embedding_bytes
    assert cost.kv_cache_bytes == 2 * 2 * 2 * 16 * 128 * 2
    assert cost.attention_flops == 4 * 2 * 64 * 128**2
    for group, tally in result.evaluated.evaluation.groups.items():
        assert cost.groups[group].context_chars == tally["chars"] / tally["tokens"] * 128
        assert cost.groups[group].price_per_million_chars == pytest.approx(
            tally["tokens"] / tally["chars"] * 0.5
        )
        assert cost.groups[group].attention_flops_per_thousand_chars == pytest.approx(
            4 * 2 * 64 * (tally["tokens"] / tally["chars"] * 1000) ** 2
        )


def test_report_without_a_model_has_no_cost(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ab\n" * 3)
    result = report(open_corpus(tmp_path), tokenizer=Toy("a", "b"), times=False)
    assert result.cost.embedding_bytes is result.cost.kv_cache_bytes is None
    assert "What it costs" not in shown(result)


# --- rewritings -------------------------------------------------------------------------------


def test_robustness_of_an_example_worked_by_hand() -> None:
    tokenizer = Toy("ab", "A", "B", " ")
    result = {
        rewriting.rewriting: rewriting for rewriting in robustness_of(tokenizer, {"a": ["ab ab", "ab"]})
    }
    upper = result["upper case"]  # ab| |ab and ab: A|B| |A|B and A|B
    assert (upper.lines, upper.growth, upper.distance) == (2, 7 / 4, 6 / 4)
    before = result["space before"]
    assert (before.lines, before.growth, before.distance) == (2, 6 / 4, 2 / 4)
    unchanged = result["NFD for NFC"]
    assert (unchanged.lines, unchanged.growth, unchanged.distance) == (0, None, None)


def test_robustness_uses_lines_of_every_group(corpus: Corpus, tokenizer: Tokenizer) -> None:
    [before] = [
        rewriting
        for rewriting in robustness_of(tokenizer, CorpusScan(corpus.documents()).lines)
        if rewriting.rewriting == "space before"
    ]
    assert before.lines == 3 * (200 // 3)


# --- how the vocabulary is used ----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (" the", "Latin"),
        ("▁the", "Latin"),
        ("▁", "white space"),
        ("\n\n  ", "white space"),
        ("東京", "Han"),
        ("2024", "digits"),
        ("!=", "punctuation and symbols"),
        ("1st", "Latin"),
        ("aб", "letters of several scripts"),
        ("\x00", "controls and unassigned"),
        ("می\u200cشود", "Arabic"),
        ("क्\u200d", "Devanagari"),
        ("👩\u200d🚀", "punctuation and symbols"),
        ("\u200d", "controls and unassigned"),
    ],
)
def test_token_kind_follows_its_characters(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_tokens_are_counted_by_kind() -> None:
    vocabulary = vocabulary_from([b"a", b"b", b"\xc3", b"<s>", None], special_ids=[3])
    result = vocabulary_usage_of(vocabulary, np.array([5, 0, 2, 0, 0]))
    assert [(usage.kind, usage.tokens, usage.used, usage.occurrences) for usage in result] == [
        ("Latin", 2, 1, 5),
        ("special tokens", 2, 0, 0),
        ("bytes and parts of characters", 1, 1, 2),
    ]


# --- how it is shown --------------------------------------------------------------------------


def test_json_extends_that_of_a_comparison(result: Report) -> None:
    document: Any = orjson.loads(orjson.dumps(report_document(result)))
    assert document["schema"] == "tokbench.report/1"
    assert list(document["tokenizer"]["metrics"]) == list(METRICS)
    assert document["lengths"] == list(result.lengths)
    assert [bytes.fromhex(use["bytes"]) for use in document["most_used"]] == [
        use.piece for use in result.most_used
    ]
    assert document["cost"]["embedding_bytes"] == result.cost.embedding_bytes
    assert set(document["worst_words"]) == {"en", "ja", "python"}


@pytest.mark.parametrize("width", [80, 120, 200])
def test_output_fits_the_terminal_width(result: Report, width: int) -> None:
    lines = shown(result, width=width).splitlines()
    assert max(map(cell_len, lines)) <= width
    titles = ["Compression", "Vocabulary", "Fidelity", "Numbers", "Code", "Groups", "Model cost"]
    for title in titles:
        assert any(line.startswith(title) for line in lines), title


def test_failed_roundtrip_is_shown_with_its_offset(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("abé[bold]\n", encoding="utf-8")
    text = shown(report(open_corpus(tmp_path), tokenizer=Toy("a", "b", "[", "\n"), times=False))
    assert "byte 2" in text
    assert "abé[bold]" in text
    assert "ab<unk>[" in text


def test_sections_without_data_are_omitted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("!?\n")
    text = shown(report(open_corpus(tmp_path), tokenizer=Toy("!", "?", "\n"), times=False))
    for title in ("Most fragmented words", "Numbers by", "Groups", "Documents that do not"):
        assert title not in text


FIRSTS = {
    "Most fragmented words": "group",
    "Vocabulary by kind of token": "kind",
    "Numbers by digits": "digits",
    "Robustness to rewriting": "written",
    "Model cost": "cost",
    "Model cost by group": "group",
}


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_markdown_and_latex_have_every_section(result: Report, form: Any) -> None:
    text = reports_forms([result])[form]().decode().replace("\\", "")
    for title, first in FIRSTS.items():
        assert title in text
        assert first in text[text.index(title) :]
    for part in ("Latin", "upper case", "KV cache of a context", "price/M chars", "Gini", "roundtrip_rate"):
        assert part in text
    figure = result.evaluated.figures["bytes_per_token"]
    assert f"{figure.value:.3f}" in text


def test_text_columns_are_left_aligned(result: Report) -> None:
    markdown, latex = (reports_forms([result])[form]().decode() for form in ("markdown", "latex"))
    assert "| figure | value | 95 % interval | meaning |\n| --- | ---: | --- | --- |" in markdown
    assert r"\begin{tabular}{lrll}" in latex


def test_csv_has_the_figures_of_every_section(result: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(reports_forms([result])["csv"]().decode())))
    values = {(row["group"], row["metric"]): row["value"] for row in rows}
    assert len(values) == len(rows)
    for usage in result.vocabulary_usage:
        assert values[usage.kind, "vocabulary_usage.tokens"] == str(usage.tokens)
    for number in result.numbers:
        assert values[str(number.digits), "numbers.tokens"] == str(number.tokens)
    for rewriting in result.robustness:
        assert values[rewriting.rewriting, "robustness.growth"] == str(rewriting.growth or "")
    assert values["", "cost.kv_cache_bytes"] == str(result.cost.kv_cache_bytes)
    assert float(values["en", "price_per_million_chars"]) == result.cost.groups["en"].price_per_million_chars
    longest = len(result.lengths) - 1
    assert values[f"{longest}+", "lengths.tokens"] == str(result.lengths[-1])


def test_html_page_has_every_section(result: Report) -> None:
    pytest.importorskip("vl_convert")
    page = html_report(result.comparison, report=result).decode()
    for title in FIRSTS:
        assert page.count(f"<caption>{title}</caption>") == 1
    assert "price/M chars" in page
