"""Tokenizers side by side: names, differences, premiums, the summary, and the same as JSON."""

from __future__ import annotations

import random
import re
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pytest
from rich.console import Console
from support.comparisons import compare
from support.toys import Toy, documents_of, parallel_documents

from tokbench.core.wording import unique_names
from tokbench.errors import ConfigError
from tokbench.evaluation.comparison_json import comparison_document
from tokbench.evaluation.fairness import gini
from tokbench.evaluation.units import NO_TRANSLATIONS, Alignment, align, lines_of
from tokbench.metrics.catalogue import METRICS, metrics_named
from tokbench.render.comparison import comparison_forms, render_comparison
from tokbench.render.figures import shown
from tokbench.render.terminal import bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.corpus import Document
    from tokbench.evaluation.comparison import Comparison

LETTERS = Toy("a", "b", " ", name="letters")
PAIRS = Toy("a", "b", " ", "ab", name="pairs")
DROPPING = Toy("a", "ab", otherwise="nothing", name="dropping")


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    """Return forty texts of a, b and spaces, in two groups."""
    generator = random.Random(4)
    texts = ["".join(generator.choices("ab ", k=generator.randint(20, 60))) for _ in range(40)]
    return [*documents_of(*texts[:25], group="x"), *documents_of(*texts[25:], group="y")]


@pytest.fixture(scope="module")
def comparison(documents: list[Document]) -> Comparison:
    return compare(LETTERS, PAIRS, DROPPING, documents=documents)


def printed(comparison: Comparison) -> str:
    """Return the comparison as the terminal shows it."""
    text = StringIO()
    render_comparison(comparison, console=Console(file=text, width=300, color_system=None, highlight=False))
    return text.getvalue()


def by_name(comparison: Comparison, name: str) -> Any:
    return next(tokenizer for tokenizer in comparison.tokenizers if tokenizer.name == name)


# --- names and differences --------------------------------------------------------------------


def test_names_are_unique() -> None:
    assert unique_names(["a", "b", "a", "a#2", "a"]) == ["a", "b", "a#2", "a#2#2", "a#3"]


def test_tokenizers_of_the_same_name_are_numbered(documents: list[Document]) -> None:
    comparison = compare(LETTERS, LETTERS, documents=documents, baseline="letters#2")
    assert [tokenizer.name for tokenizer in comparison.tokenizers] == ["letters", "letters#2"]
    assert comparison.tokenizers[0].figures["bytes_per_token"].difference == 0
    assert comparison.tokenizers[0].figures["bytes_per_token"].is_distinguishable is False


def test_unknown_baseline_is_refused(documents: list[Document]) -> None:
    with pytest.raises(ConfigError, match="no tokenizer 'other'") as error:
        compare(LETTERS, PAIRS, documents=documents, baseline="other")
    assert error.value.hint == "available: letters, pairs"


def test_figures_of_the_total_and_of_groups_equal_the_metrics(comparison: Comparison) -> None:
    for tokenizer in comparison.tokenizers:
        evaluation = tokenizer.evaluation
        for name, metric in METRICS.items():
            assert tokenizer.figures[name].value == metric.value(evaluation.total, evaluation.vocabulary)
            for group, tally in evaluation.groups.items():
                assert tokenizer.groups[group][name].value == metric.value(tally, evaluation.vocabulary)
    assert comparison.documents == 40
    assert comparison.num_bytes == comparison.tokenizers[0].evaluation.total["bytes"]


def test_differences_are_relative_to_the_baseline(comparison: Comparison, documents: list[Document]) -> None:
    base = by_name(comparison, "letters").figures
    pairs = by_name(comparison, "pairs").figures
    ratio = pairs["bytes_per_token"].value / base["bytes_per_token"].value
    assert pairs["bytes_per_token"].difference == pytest.approx(ratio - 1)
    assert pairs["bytes_per_token"].is_distinguishable
    low, high = pairs["bytes_per_token"].difference_interval
    assert low < ratio - 1 < high
    turned = compare(LETTERS, PAIRS, documents=documents, baseline="pairs")
    assert by_name(turned, "letters").figures["bytes_per_token"].difference == pytest.approx(1 / ratio - 1)
    dropping = by_name(comparison, "dropping").figures["roundtrip_rate"]
    assert dropping.difference == dropping.value - 1  # for shares, the difference itself
    assert dropping.difference_interval is not None
    assert dropping.is_distinguishable


def test_one_document_gives_no_interval() -> None:
    comparison = compare(LETTERS, PAIRS, documents=documents_of("ab ab"))
    assert comparison.tokenizers[1].figures["bytes_per_token"].interval is None
    assert comparison.tokenizers[1].figures["bytes_per_token"].difference == pytest.approx(5 / 3 - 1)
    assert comparison.summary == (
        "pairs compresses best: 1.667 bytes per token; no interval: all text comes from one file or record; an "
        "interval needs 5",
    )
    assert (
        comparison.interval_gap == "no interval: all text comes from one file or record; an interval needs 5"
    )
    assert set(comparison.group_interval_gaps) == {"all"}
    forms = comparison_forms(comparison)
    for form in ("markdown", "latex", "json"):
        assert b"no interval: all text comes from one file or record" in forms[form]()
    assert "no interval: all text comes from one file or record" in printed(comparison)


def test_seed_changes_intervals_and_no_value(documents: list[Document]) -> None:
    one, same, other = (compare(LETTERS, PAIRS, documents=documents, seed=seed) for seed in (1, 1, 2))
    figures = [comparison.tokenizers[1].figures["bytes_per_token"] for comparison in (one, same, other)]
    assert figures[0] == figures[1]
    assert figures[0].value == figures[2].value
    assert figures[0].interval != figures[2].interval


# --- fairness ---------------------------------------------------------------------------------

LANGUAGES = parallel_documents(
    en=["ab ab", "a", "b", "ab", "a b"], de=["aba ab", "aa", "b", "ab", "a b"], ta=["b" * 9] * 5
)


def aligned(documents: Sequence[Document]) -> Alignment | str:
    return align(lines_of(documents, {document.group for document in documents}))


def test_premiums_are_relative_to_english_on_the_same_lines() -> None:
    tokenizer = Toy("a", "b", " ", "ab", "\n")
    fairness = compare(tokenizer, documents=LANGUAGES, alignment=aligned(LANGUAGES)).tokenizers[0].fairness
    assert fairness is not None
    tokens = {"en": 3 + 1 + 1 + 1 + 3, "de": 4 + 2 + 1 + 1 + 3, "ta": 45}  # without line ends
    assert fairness.reference == "en"
    assert fairness.lines == 5
    assert fairness.premiums == {name: count / tokens["en"] for name, count in sorted(tokens.items())}
    assert fairness.max_premium == 45 / 9
    assert fairness.worst_language == "ta"
    assert fairness.gini == gini([count / 5 for count in tokens.values()])


def test_without_english_the_baselines_cheapest_language_is_the_reference() -> None:
    """One language is the reference of all, though another is the cheapest for the second tokenizer."""
    documents = parallel_documents(de=["ab"] * 5, ta=["aac"] * 5)
    comparison = compare(
        Toy("a", "b", "c", "ab", name="one"),
        Toy("a", "b", "c", "aac", name="other"),
        documents=documents,
        alignment=aligned(documents),
    )
    fairness = [tokenizer.fairness for tokenizer in comparison.tokenizers]
    assert [each.reference for each in fairness if each] == ["de", "de"]
    chosen = compare(LETTERS, documents=documents, alignment=aligned(documents), reference_group="ta")
    assert chosen.tokenizers[0].fairness is not None
    assert chosen.tokenizers[0].fairness.premiums["ta"] == 1
    with pytest.raises(ConfigError, match="'fr' is not among the aligned ones") as error:
        compare(LETTERS, documents=documents, alignment=aligned(documents), reference_group="fr")
    assert error.value.hint == "available: de, ta"


def test_reference_language_without_tokens_gives_no_premium() -> None:
    documents = parallel_documents(en=["x"] * 5, de=["a"] * 5)
    fairness = compare(DROPPING, documents=documents, alignment=aligned(documents)).tokenizers[0].fairness
    assert fairness is not None
    assert fairness.premiums == {"de": None, "en": None}
    assert fairness.max_premium is fairness.worst_language is None
    assert fairness.gini == 0.5


def test_alignment_includes_as_many_languages_as_possible() -> None:
    assert align({"a": 9, "b": 9, "c": 7, "d": 7, "e": 7}) == Alignment(("c", "d", "e"), 7, ("a", "b"))
    assert align({"a": 7, "b": 7, "c": 9, "d": 9}) == Alignment(("c", "d"), 9, ("a", "b"))
    assert align({}) == NO_TRANSLATIONS
    assert align({"a": 4, "b": 4}) == "the translations have 4 lines, too few to compare languages on"


def test_lines_are_counted_across_all_documents_of_a_language() -> None:
    documents = documents_of("a\nb", "c\n", group="de") + documents_of("a\n\n", group="en")
    assert lines_of(documents, {"de", "en"}) == {"de": 3, "en": 2}
    assert lines_of(documents, {"en"}) == {"en": 2}


def test_missing_alignment_is_explained(comparison: Comparison) -> None:
    assert comparison.fairness_gap == NO_TRANSLATIONS
    assert {tokenizer.fairness for tokenizer in comparison.tokenizers} == {None}


# --- the summary ------------------------------------------------------------------------------


def test_summary_names_the_best_lossless_tokenizer(comparison: Comparison) -> None:
    best, loses = comparison.summary
    value = by_name(comparison, "pairs").figures["bytes_per_token"].value
    more = value / by_name(comparison, "letters").figures["bytes_per_token"].value - 1
    assert best == (
        f"of the lossless tokenizers, pairs compresses best: {value:.3f} bytes per token, "
        f"{more * 100:.1f} % (10.6…13.7) more than letters, the second best"
    )
    assert re.match(r"dropping loses \d\d\.\d % of characters, mostly white space: ", loses)
    assert by_name(comparison, "dropping").figures["bytes_per_token"].value > value


def test_summary_reports_an_insignificant_difference(documents: list[Document]) -> None:
    about = Toy("a", "b", " ", "ba", name="about as good")
    sentence, *_ = compare(PAIRS, about, documents=documents[:7]).summary
    assert sentence.endswith("; no significant difference to about as good on this text")


@pytest.mark.parametrize("texts", [40, 3])
def test_equal_tokenizers_are_named_together(documents: list[Document], texts: int) -> None:
    two, three = (
        compare(*toys, documents=documents[:texts]) for toys in ([PAIRS] * 2, [PAIRS, LETTERS, PAIRS])
    )
    value = two.tokenizers[0].figures["bytes_per_token"].value
    assert two.summary == (f"pairs and pairs#2 compress equally: {value:.3f} bytes per token",)
    assert three.summary[0].startswith(f"pairs and pairs#2 compress best: {value:.3f} bytes per token")
    assert ("more than letters, the second best" in three.summary[0]) == (texts == 40)


def test_summary_reports_unknown_tokens() -> None:
    [*_, last] = compare(Toy("a"), documents=documents_of("aab", "a")).summary
    assert last == (
        "toy loses 25.0 % of characters (unknown characters): 50.0 % of the documents are preserved, "
        "and 25.0 % of its tokens are unknown"
    )


def test_summary_names_only_a_lossless_tokenizer_as_the_fairest() -> None:
    documents = parallel_documents(en=["ab"] * 9, de=["ba"] * 9, ta=["cc"] * 9)
    good, bad = (
        Toy("a", "b", "c", "ab", "\n", name="good"),
        Toy("a", "b", "\n", otherwise="nothing", name="bad"),
    )
    comparison = compare(bad, good, documents=documents, alignment=aligned(documents))
    assert [line for line in comparison.summary if "languages" in line] == [
        "the languages have a Gini of 0.133 under good: de needs the most tokens, 2.00 times those of en"
    ]
    two = compare(
        good, Toy("a", "b", "c", "\n", name="even"), documents=documents, alignment=aligned(documents)
    )
    assert two.summary[-1].startswith("even serves the languages most evenly (Gini 0.000): ")
    three = compare(
        bad, good, Toy("a", "b", "c", "\n", name="even"), documents=documents, alignment=aligned(documents)
    )
    assert three.summary[-1].startswith("of the lossless tokenizers, even serves the languages most evenly")
    lossy = compare(bad, Toy("a", name="worse"), documents=documents, alignment=aligned(documents))
    assert not any("languages" in line for line in lossy.summary)


def test_equal_ginis_are_named_together() -> None:
    documents = parallel_documents(en=["ab"] * 9, de=["ba"] * 9)
    good, even = Toy("a", "b", "ab", "\n", name="good"), Toy("a", "b", "\n", name="even")
    two, three = (
        compare(*toys, documents=documents, alignment=aligned(documents)).summary[-1]
        for toys in ([good, good], [even, good, even])
    )
    assert two.startswith("the languages have a Gini of 0.167 under good and good#2: de needs")
    assert three.startswith("even and even#2 serve the languages most evenly (Gini 0.000): ")


def test_too_few_complete_lines_are_named_as_reason() -> None:
    documents = parallel_documents(en=["ab"] * 6, de=[*["ba"] * 4, "", ""])
    toys = Toy("a", "b", "ab", "\n", name="good"), Toy("a", "b", "\n", name="even")
    sentence = compare(*toys, documents=documents, alignment=aligned(documents)).summary[-1]
    assert sentence.startswith(
        "even serves the languages most evenly (Gini 0.000), without an interval, which needs 5 complete lines: "
    )


# --- exports ----------------------------------------------------------------------------------


def slimmed(document: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Return a full document with only these metrics, wherever it has metrics."""

    def chosen(metrics: dict[str, Any]) -> dict[str, Any]:
        return {name: one for name, one in metrics.items() if name in names}

    tokenizers = [
        tokenizer
        | {"metrics": chosen(tokenizer["metrics"])}
        | {"groups": {group: chosen(metrics) for group, metrics in tokenizer["groups"].items()}}
        for tokenizer in document["tokenizers"]
    ]
    return document | {"metrics": chosen(document["metrics"]), "tokenizers": tokenizers}


def test_json_with_chosen_metrics_is_a_subset_of_the_full_json(comparison: Comparison) -> None:
    full = orjson.loads(comparison_forms(comparison)["json"]())
    names = ["unk_rate", "bytes_per_token"]
    slim = orjson.loads(comparison_forms(comparison, metrics=metrics_named(names))["json"]())
    assert slim == slimmed(full, set(names))
    assert full["schema"] == "tokbench.compare/1"
    for tokenizer in full["tokenizers"]:
        assert list(tokenizer["metrics"]) == list(METRICS)
        assert list(tokenizer["groups"]) == list(tokenizer["group_counts"]) == ["x", "y"]
        assert all(list(group) == list(METRICS) for group in tokenizer["groups"].values())
        for name, count in tokenizer["counts"].items():
            assert count == sum(counts[name] for counts in tokenizer["group_counts"].values())


def every_number(document: Any) -> list[float]:
    if isinstance(document, dict):
        return [number for value in document.values() for number in every_number(value)]
    if isinstance(document, list | tuple):
        return [number for value in document for number in every_number(value)]
    return [document] if isinstance(document, float) else []


@pytest.mark.parametrize("texts", [("é",), ("é", "a"), ("x", "x"), ("a", "b", "é" * 9)])
def test_json_has_only_finite_numbers(texts: tuple[str, ...]) -> None:
    documents = documents_of(*texts)
    comparison = compare(DROPPING, LETTERS, Toy("é", name="other"), documents=documents)
    numbers = every_number(comparison_document(comparison))
    assert numbers
    assert np.isfinite(numbers).all()


def test_csv_has_a_row_for_every_figure_and_group(comparison: Comparison) -> None:
    chosen = metrics_named(["bytes_per_token", "unk_rate"])
    lines = comparison_forms(comparison, metrics=chosen)["csv"]().decode().splitlines()
    assert len(lines) == 1 + 3 * (2 * (1 + 2) + 1)
    pairs = by_name(comparison, "pairs")
    for group, figures in ("", pairs.figures), *pairs.groups.items():
        figure = figures["bytes_per_token"]
        intervals = [figure.interval or (None, None), figure.difference_interval or (None, None)]
        values = [figure.value, *intervals[0], figure.difference, *intervals[1]]
        cells = ["" if value is None else str(value) for value in values]
        assert ",".join(["pairs", group, "bytes_per_token", *cells]) in lines


def test_names_are_escaped_in_tables(documents: list[Document]) -> None:
    odd = Toy("a", name="a|b_*{}\\")
    forms = comparison_forms(compare(odd, documents=documents), metrics=metrics_named(["bytes_per_token"]))
    assert r"| a\|b\_\*\{\}\\ |" in forms["markdown"]().decode()
    assert r"a\textbar{}b\_*\{\}\textbackslash{} &" in forms["latex"]().decode()


def test_shares_are_rounded_to_0_or_100_only_if_exact() -> None:
    metric = METRICS["vocab_coverage"]
    assert [shown(value, metric) for value in (1.0, 0.99996, 0.9999999, 0.99994, 0.0, 1e-9, 0.5)] == [
        "100 %",
        "99.99 %",
        "99.99 %",
        "99.99 %",
        "0 %",
        "<0.01 %",
        "50.00 %",
    ]
    assert shown(None, metric) == "–"


def test_bar_length_is_proportional_to_the_value() -> None:
    assert bar(1, 2, width=8) == "████    "
    assert bar(3, 2, width=4) == "████"
    assert bar(0, 2, width=4) == bar(1, 0, width=4) == "    "


# --- in addition to the figures -----------------------------------------------------------------


def test_tokens_are_relative_to_the_first_tokenizer() -> None:
    comparison = compare(LETTERS, PAIRS, documents=documents_of("abab", "ab b"))
    assert [tokenizer.relative_tokens for tokenizer in comparison.tokenizers] == [1.0, 5 / 8]


def test_word_unit_depends_on_the_script() -> None:
    texts = documents_of("ab ab", group="x") + documents_of("水と火", group="y")
    [one] = comparison_document(compare(LETTERS, documents=texts))["tokenizers"]
    assert one["group_word_units"] == {"x": "word", "y": "character"}


def test_reference_group_without_alignment_is_refused(documents: list[Document]) -> None:
    with pytest.raises(ConfigError, match="no premiums over 'en'"):
        compare(LETTERS, documents=documents, reference_group="en")
