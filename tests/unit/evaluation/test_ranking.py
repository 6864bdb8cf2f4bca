"""Stars, bold names and ranks: only for tokenizers that keep the text, and for more than chance."""

from __future__ import annotations

import csv
import io
import random
import re
from io import StringIO
from typing import Literal

import numpy as np
import pytest
from rich.console import Console
from support.comparisons import compare
from support.toys import Toy, documents_of, parallel_documents
from support.units import one_document_units

from tokbench.corpus import Document
from tokbench.errors import ConfigError
from tokbench.evaluation.candidates import Candidate
from tokbench.evaluation.comparison import Comparison, compare_candidates
from tokbench.evaluation.counting_pass import evaluate
from tokbench.evaluation.evaluated_tokenizer import best_of, in_order
from tokbench.evaluation.fairness import fairness_of, gini
from tokbench.evaluation.figures import AGGREGATIONS, Aggregation
from tokbench.evaluation.units import AlignedLines, Alignment, UnitKeys, aligned_unit
from tokbench.metrics.bootstrap import resamples
from tokbench.metrics.catalogue import METRICS
from tokbench.render.comparison import comparison_forms, groups_table, render_comparison
from tokbench.render.comparison_tables import summary_table
from tokbench.render.html.report import figures_table

TOKENS = METRICS["bytes_per_token"]
LETTERS = Toy("a", "b", " ", name="letters")
PAIRS = Toy("a", "b", " ", "ab", name="pairs")
DROPPING = Toy("a", "ab", "ba", "aa", otherwise="nothing", name="dropping")


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    generator = random.Random(4)
    return documents_of(*("".join(generator.choices("ab ", k=generator.randint(20, 60))) for _ in range(40)))


def printed(comparison: Comparison) -> str:
    text = StringIO()
    console = Console(file=text, width=300, color_system=None, highlight=False)
    render_comparison(comparison, metrics=[TOKENS], console=console)
    return text.getvalue()


def starred(comparison: Comparison) -> dict[str, bool]:
    """Return whether the best figure, of `pairs`, is marked in each form."""
    chosen = [TOKENS]
    [row] = [row for row in summary_table(comparison, metrics=chosen).rows if row[0].text == "pairs"]
    [figures] = [row for row in figures_table(comparison).rows if row[0].text == TOKENS.title]
    [line] = [line for line in printed(comparison).splitlines() if line.startswith(" pairs ")]
    forms = comparison_forms(comparison, metrics=chosen)
    markdown, latex = (forms[form]().decode() for form in ("markdown", "latex"))
    return {
        "terminal": "*" in line,
        "markdown": "*" in markdown.split("| pairs |")[1].split("\n")[0],
        "latex": "textbf" in latex.split("pairs &")[1].split("\n")[0],
        "html": any(cell.best for cell in row),
        "html, all figures": any(cell.best for cell in figures),
    }


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_best_lossless_tokenizer_has_a_star_in_every_format(
    documents: list[Document], aggregation: Aggregation
) -> None:
    """Whatever the aggregation, a tokenizer that loses text gets no star, though it has the fewest tokens."""
    comparison = compare(LETTERS, PAIRS, DROPPING, documents=documents, aggregation=aggregation)
    values = {
        tokenizer.name: tokenizer.figures["bytes_per_token"].value or 0 for tokenizer in comparison.tokenizers
    }
    assert max(values, key=lambda name: values[name]) == "dropping"
    assert best_of(comparison.tokenizers, TOKENS) == "pairs"
    assert starred(comparison) == dict.fromkeys(starred(comparison), True)
    assert comparison.summary[0].startswith("of the lossless tokenizers, pairs compresses best")
    assert comparison.summary[1].startswith("dropping loses ")
    alone = compare(DROPPING, LETTERS, documents=documents, aggregation=aggregation)
    assert alone.summary[0] == f"only letters is lossless: {values['letters']:.3f} bytes per token"
    assert not any("best" in sentence for sentence in alone.summary)
    unknown = Toy("a", " ", otherwise="unknown", name="unknown")
    none = compare(DROPPING, unknown, documents=documents, aggregation=aggregation)
    assert none.summary[0].startswith("all tokenizers lose more than 1 % of the text: ")
    assert not any("best" in sentence for sentence in none.summary)
    [only] = compare(DROPPING, documents=documents, aggregation=aggregation).summary
    assert only.startswith("dropping loses ")


def test_of_lossy_tokenizers_only_those_that_lose_little_are_called_the_best() -> None:
    documents = documents_of(*("ab xy " * (100 + number) + "cd" for number in range(9)))
    much = Toy("ab", " ", otherwise="unknown", name="much")
    letters = Toy(*"abxy ", otherwise="unknown", name="letters")
    pairs = Toy(*"abxy ", "ab", "xy", otherwise="unknown", name="pairs")
    two = compare(much, letters, documents=documents)
    assert two.summary[0].startswith("only letters loses no more than 1 % as unknown or dropped: ")
    three = compare(much, letters, pairs, documents=documents)
    assert three.summary[0].startswith(
        "all tokenizers lose text; of those with at most 1 % unknown or dropped, pairs compresses best: "
    )
    much_row, _, pairs_row = printed(three).splitlines()[3:6]
    assert much_row.split()[2].endswith("?")
    assert not pairs_row.split()[2].endswith("?")
    assert "? more than 1 % unknown or dropped" in printed(three)


@pytest.mark.parametrize(
    ("other", "texts"),
    [
        (Toy("a", "b", " ", "ab", name="equal"), 40),
        (Toy("a", "b", " ", "ba", name="about as good"), 7),
        (LETTERS, 4),
    ],
    ids=lambda value: getattr(getattr(value, "info", None), "name", str(value)),
)
def test_tie_or_too_few_documents_give_no_star(documents: list[Document], other: Toy, texts: int) -> None:
    comparison = compare(PAIRS, other, documents=documents[:texts])
    assert best_of(comparison.tokenizers, TOKENS) is None
    assert starred(comparison) == dict.fromkeys(starred(comparison), False)


def test_single_tokenizer_has_no_star(documents: list[Document]) -> None:
    assert best_of(compare(PAIRS, documents=documents).tokenizers, TOKENS) is None
    assert best_of(compare(PAIRS, DROPPING, documents=documents).tokenizers, TOKENS) is None


def test_star_requires_difference_to_every_other_tokenizer() -> None:
    """The second is worse by one token in every document, the third by more on average, but not in every document."""
    documents = documents_of(*(f"xy{'cc' * 30}" if number % 2 else f"xy{'dd' * 27}" for number in range(40)))
    letters = ("x", "y", "c", "d")
    first = Toy(*letters, "xy", "cc", name="first")
    second = Toy(*letters, "cc", name="second")
    third = Toy(*letters, "xy", "dd", name="third")
    comparison = compare(first, second, third, documents=documents)
    values = [one.figures["bytes_per_token"].value or 0 for one in comparison.tokenizers]
    assert values == sorted(values, reverse=True)
    assert best_of(comparison.tokenizers[:2], TOKENS) == "first"
    assert comparison.summary[0].endswith("no significant difference to third on this text")
    assert best_of(comparison.tokenizers, TOKENS) is None


def test_metric_without_direction_or_interval_is_not_ranked(documents: list[Document]) -> None:
    comparison = compare(LETTERS, PAIRS, documents=documents)
    for name, metric in METRICS.items():
        best = best_of(comparison.tokenizers, metric)
        if best is not None:
            assert metric.direction != "neither"
            assert all(tokenizer.figures[name].interval is not None for tokenizer in comparison.tokenizers)
    assert METRICS["digit_boundary_f1"].direction == "neither"
    assert best_of(comparison.tokenizers, METRICS["vocab_utilization"]) is None


# --- aligned lines ----------------------------------------------------------------------------


def five_languages() -> list[Document]:
    """Return forty lines in five languages, whose costs differ far more than those of the two tokenizers."""
    generator = random.Random(3)
    lines = ["".join(generator.choices(["ab", "a", "b"], [6, 2, 2], k=25)) for _ in range(40)]
    letters = dict(zip(("de", "en", "fr", "ka", "zh"), ("", "", "c", "ccc", "c" * 12), strict=True))
    return parallel_documents(
        **{name: ["".join(one + extra for one in line) for line in lines] for name, extra in letters.items()}
    )


def test_varied_languages_do_not_widen_the_interval_of_differences() -> None:
    documents = five_languages()
    better = Toy("a", "b", "\n", "c", "cc", name="better")
    worse = Toy("a", "b", "\n", "c", name="worse")
    aligned = compare(
        worse, better, documents=documents, alignment=Alignment(("de", "en", "fr", "ka", "zh"), 40)
    )
    by_file = compare(worse, better, documents=documents)
    assert aligned.units == {"aligned lines": 40}
    assert by_file.units == {"documents": 5}
    narrow, wide = (comparison.tokenizers[1].figures["bytes_per_token"] for comparison in (aligned, by_file))
    assert narrow.value == wide.value
    assert narrow.difference == wide.difference
    assert narrow.difference_interval is not None
    assert wide.difference_interval is not None
    low, high = narrow.difference_interval
    assert low <= (narrow.difference or 0) <= high
    assert high - low < (wide.difference_interval.high - wide.difference_interval.low) / 20
    assert aligned.tokenizers[1].groups["zh"]["bytes_per_token"].interval is not None
    assert set(aligned.group_interval_gaps) == set()
    assert set(by_file.group_interval_gaps) == {"de", "en", "fr", "ka", "zh"}
    assert "paired bootstrap over 40 aligned lines" in printed(aligned)
    assert "no interval for de, en, fr and 2 more" in printed(by_file)


def test_premiums_and_gini_have_intervals_in_every_format() -> None:
    generator = random.Random(5)
    lines = ["ab" * generator.randint(3, 30) for _ in range(30)]
    documents = parallel_documents(en=lines, de=[line + "a" * generator.randint(0, 9) for line in lines])
    comparison = compare(PAIRS, LETTERS, documents=documents, alignment=Alignment(("de", "en"), 30))
    fairness = comparison.tokenizers[0].fairness
    assert fairness is not None
    premium, inequality = fairness.premium_interval("de"), fairness.gini_interval
    assert premium is not None
    assert inequality is not None
    assert premium.low < (fairness.premiums["de"] or 0) < premium.high
    assert inequality.low < (fairness.gini or 0) < inequality.high
    assert fairness.premium_interval("en") is None
    for form in (
        printed(comparison),
        comparison_forms(comparison, metrics=[TOKENS])["markdown"]().decode().replace("\\", ""),
    ):
        assert f"{fairness.premiums['de']:.3f}" in form
        assert f"{fairness.gini:.3f}" in form
    text = comparison_forms(comparison, metrics=[TOKENS])["latex"]().decode()
    assert f"{fairness.premiums['de']:.3f}" in text
    rows = list(csv.DictReader(io.StringIO(comparison_forms(comparison, metrics=[TOKENS])["csv"]().decode())))
    by_metric = {(row["tokenizer"], row["group"], row["metric"]): row for row in rows}
    assert float(by_metric["pairs", "de", "premium"]["value"]) == fairness.premiums["de"]
    assert float(by_metric["pairs", "de", "premium"]["low"]) == premium.low
    assert float(by_metric["pairs", "", "gini"]["high"]) == inequality.high


def test_resamples_of_premiums_and_gini_equal_those_of_the_drawn_lines() -> None:
    """The resamples are compared with adding up the drawn lines one by one."""
    languages = {
        "de": ["a", "bb", "", "abab", "b b", "aaaa", "", "ab", "b"],
        "en": ["ab", "b", "x", "ab a", "b", "a", "", "a", "b"],
        "ta": ["aaaa", "bbb", "y", "ab", "", "bbbb", "", "a", "bb"],
    }
    complete = [number for number, lines in enumerate(zip(*languages.values(), strict=True)) if all(lines)]
    documents = parallel_documents(**languages)
    alignment = Alignment(("de", "en", "ta"), 9)
    toy = Toy("a", "b", " ", "ab")
    fairness = fairness_of(
        evaluate(toy, AlignedLines(documents, alignment)), alignment, reference="en", seed=5
    )
    assert fairness.incomplete_lines == 2  # the line that is empty in all languages does not count
    # Lines are drawn in the order of their keys.
    lines = [Document("x", "en", "", aligned_unit(number + 1)) for number in complete]
    complete = [complete[position] for position in np.argsort(UnitKeys().of(lines)).tolist()]
    drawn = resamples(one_document_units(len(complete)), seed=5)
    assert drawn is not None
    tokens = {
        name: [len(toy.encode(lines[number])) for number in complete] for name, lines in languages.items()
    }
    assert fairness.premiums == {name: sum(counts) / sum(tokens["en"]) for name, counts in tokens.items()}
    assert fairness.gini == pytest.approx(gini([sum(counts) for counts in tokens.values()]))
    for draw in range(50):
        sums = {
            name: sum(weight * count for weight, count in zip(drawn.weights[draw], counts, strict=True))
            for name, counts in tokens.items()
        }
        assert fairness.resampled["gini"].values[draw] == pytest.approx(gini(list(sums.values())))
        premium = fairness.resampled["premium of ta"].values[draw]
        assert premium == pytest.approx(sums["ta"] / sums["en"])


def test_incomplete_translation_does_not_look_cheap() -> None:
    english, german = ["a b"] * 12, ["aa bb"] * 12
    toy = Toy("a", "b", " ")
    whole = parallel_documents(de=german, en=english)
    cut = parallel_documents(de=[*german[:6], *[""] * 6], en=english)
    full, halved = (
        compare(toy, documents=documents, alignment=Alignment(("de", "en"), 12)) for documents in (whole, cut)
    )
    premiums = [comparison.tokenizers[0].fairness for comparison in (full, halved)]
    assert [fairness and fairness.premiums["de"] for fairness in premiums] == [5 / 3, 5 / 3]
    assert [fairness and fairness.complete_lines for fairness in premiums] == [12, 6]
    told = "premiums leave out 6 of 12 aligned lines: not every language has text there"
    assert told in halved.provenance.warnings
    assert not any("leave out" in warning for warning in full.provenance.warnings)


@pytest.mark.parametrize("blank", ["", "  "])
def test_translation_without_text_has_no_premium(blank: str) -> None:
    lines = ["a b", "bb", "ab a", "b b b", "a"]
    toy = Toy("a", "b", " ")
    languages = parallel_documents(de=["aa b"] * 5, en=lines)
    documents = [*languages, *parallel_documents(sw=[blank] * 5)]
    empty = compare(toy, documents=documents, alignment=Alignment(("de", "en", "sw"), 5))
    without = compare(toy, documents=languages, alignment=Alignment(("de", "en"), 5))
    [fairness], [expected] = (
        [tokenizer.fairness for tokenizer in comparison.tokenizers] for comparison in (empty, without)
    )
    assert fairness is not None
    assert expected is not None
    assert dict(fairness.premiums) == {**expected.premiums, "sw": None}
    assert (fairness.gini, fairness.gini_interval) == (expected.gini, expected.gini_interval)
    assert (fairness.without_text, expected.without_text) == (("sw",), ())
    told = "sw has no text on its aligned lines: it has no premium and no part in the Gini coefficient"
    assert told in empty.provenance.warnings
    assert told not in without.provenance.warnings
    assert re.search(r"^ sw +no text", printed(empty), re.MULTILINE)
    with pytest.raises(ConfigError, match="the reference language 'sw' has no text"):
        compare_candidates(
            [Candidate(toy)],
            documents,
            alignment=Alignment(("de", "en", "sw"), 5),
            reference_group="sw",
            times=False,
        )


@pytest.mark.parametrize("otherwise", ["nothing", "unknown"])
@pytest.mark.parametrize("line", ["ccc", "ccc a"])
def test_language_with_lost_text_is_marked(line: str, otherwise: Literal["nothing", "unknown"]) -> None:
    documents = parallel_documents(en=["aaa a a aaa"] * 6, de=[line] * 6)
    lossy, kept = (
        Toy("a", " ", "\n", otherwise=otherwise),
        Toy("a", " ", "\n", otherwise="bytes", name="kept"),
    )
    shown = printed(compare(lossy, kept, documents=documents, alignment=Alignment(("de", "en"), 6)))
    assert re.search(r"^ de +\d\.\d+\? ±?[\d.…]+ +\d\.\d+ ", shown, re.MULTILINE)
    assert re.search(r"^ en +1\.000 +1\.000 ", shown, re.MULTILINE)
    assert re.search(r"^ Gini +\d\.\d+\? ±?[\d.…]+ +\d\.\d+ ", shown, re.MULTILINE)


@pytest.mark.parametrize("name", ["bytes_per_token", "unk_rate"])
def test_group_with_lost_text_is_marked(name: str) -> None:
    documents = [*documents_of("aa a", group="known"), *documents_of("ccc c a", group="foreign")]
    comparison = compare(Toy("a", " "), Toy("a", " ", otherwise="bytes", name="kept"), documents=documents)
    table = groups_table(comparison, METRICS[name])
    marked = {row[0].text: ["?" in cell.text for cell in row[2:]] for row in table.rows}
    is_marked = name == "bytes_per_token"  # the share of unknown tokens is what is lost
    assert marked == {"known": [False, False], "foreign": [is_marked, False]}
    assert ("cheap because text is lost" in table.caption) == is_marked
    assert "? more than 1 % unknown or dropped" in printed(comparison)


def test_one_language_with_text_has_no_gini() -> None:
    documents = parallel_documents(de=[""] * 5, en=["a b"] * 5)
    [tokenizer] = compare(Toy("a"), documents=documents, alignment=Alignment(("de", "en"), 5)).tokenizers
    assert tokenizer.fairness is not None
    assert tokenizer.fairness.gini is None
    assert dict(tokenizer.fairness.premiums) == {"de": None, "en": 1.0}


def test_summary_has_the_paired_interval_of_a_difference(documents: list[Document]) -> None:
    comparison = compare(LETTERS, PAIRS, documents=documents)
    pairs, letters = comparison.tokenizers[1], comparison.tokenizers[0]
    low, high = pairs.figures["bytes_per_token"].difference_interval or (0.0, 0.0)
    more = (pairs.figures["bytes_per_token"].difference or 0) * 100
    said = f"{more:.1f} % ({low * 100:.1f}…{high * 100:.1f}) more than {letters.name}, the second best"
    assert comparison.summary[0].endswith(said)
    for form in (printed(comparison), comparison_forms(comparison, metrics=[TOKENS])["markdown"]().decode()):
        assert said in form.replace("\\", "")


def test_significant_difference_is_not_rounded_to_zero() -> None:
    """A large corpus tells tokenizers apart that differ by less than a tenth of a percent."""
    generator = random.Random(7)
    documents = documents_of(*(f"{'ab' * generator.randint(1700, 1900)}cc" for _ in range(10)))
    better, worse = Toy("a", "b", "c", "cc", name="better"), Toy("a", "b", "c", name="worse")
    comparison = compare(worse, better, documents=documents)
    assert comparison.summary[0].endswith("0.03 % (0.03…0.03) more than worse, the second best")
    assert re.search(r"^ better .* \+0\.03 % ±0\.00 .* -0\.03 % ±0\.00", printed(comparison), re.MULTILINE)


# --- groups -----------------------------------------------------------------------------------


def test_groups_are_sorted_only_by_comparable_figures() -> None:
    code = (
        documents_of("ab ab ab", group="x") + documents_of("b b", group="w") + documents_of("abab", group="v")
    )
    [one] = compare(PAIRS, documents=code).tokenizers
    assert in_order(one, "vwx", TOKENS) == ["w", "x", "v"]
    assert in_order(one, "vwx", METRICS["tokens_per_word"]) == ["v", "x", "w"]
    assert in_order(one, "vwx", METRICS["tokens_per_number"]) == ["v", "w", "x"]
    scripts = code + documents_of("é" * 9, group="a")
    [one] = compare(PAIRS, documents=scripts).tokenizers
    assert in_order(one, "xwva", TOKENS) == ["a", "v", "w", "x"]


def test_number_metrics_have_no_star_and_no_rank() -> None:
    """Splitting numbers into groups of three is one way of many, and no tokenizer is better for it."""
    documents = documents_of(
        *(f"{number} 1234567" for number in range(1000, 1040)), group="x"
    ) + documents_of(*(f"{number} 12" for number in range(10, 50)), group="a")
    digits = [str(digit) for digit in range(10)]
    compared_digits = compare(
        Toy(*digits, " ", name="single"), Toy(*digits, " ", "234", "567", name="threes"), documents=documents
    )
    metric = METRICS["digit_boundary_f1"]
    values = [tokenizer.figures[metric.name].value for tokenizer in compared_digits.tokenizers]
    assert values[0] != values[1]
    assert best_of(compared_digits.tokenizers, metric) is None
    assert in_order(compared_digits.tokenizers[0], ["x", "a"], metric) == ["a", "x"]
    text = StringIO()
    render_comparison(compared_digits, metrics=[metric], console=Console(file=text, width=100))
    rows = [line for line in text.getvalue().splitlines() if line.startswith((" single", " threes"))]
    assert len(rows) == 2
    assert not any("*" in row for row in rows)
    assert b"**" not in comparison_forms(compared_digits, metrics=[metric])["markdown"]()
    assert b"textbf" not in comparison_forms(compared_digits, metrics=[metric])["latex"]()
