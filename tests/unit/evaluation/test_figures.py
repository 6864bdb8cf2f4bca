"""Figures over many documents: each aggregation by hand, and its resamples compared with resampled documents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.toys import Toy, documents_of, parallel_documents
from support.units import with_places

from tokbench.corpus import Document
from tokbench.evaluation.counting_pass import evaluate
from tokbench.evaluation.figures import AGGREGATIONS, Aggregate, Aggregation, group_figures_of
from tokbench.evaluation.units import AlignedLines, Alignment, UnitKeys
from tokbench.metrics.bootstrap import RESAMPLES, resamples
from tokbench.metrics.catalogue import METRICS
from tokbench.metrics.metric import DOCUMENT_COUNTS
from tokbench.metrics.unit_counts import is_by_document, joined

if TYPE_CHECKING:
    from tokbench.evaluation.counting_pass import Evaluation

BY_DOCUMENT = {
    *("bytes_per_token", "chars_per_token", "tokens_per_word", "tokens_per_line", "split_word_rate"),
    *("character_coverage", "vocab_coverage", "unk_rate", "byte_fallback_rate", "byte_token_rate"),
    *("roundtrip_rate", "character_error_rate", "id_stability", "whitespace_fidelity"),
    *("indentation_fidelity", "incomplete_utf8_token_rate", "split_char_rate", "digit_boundary_f1"),
    *("whole_number_rate", "tokens_per_number", "identifier_precision", "identifier_recall"),
    *("identifier_alignment", "operator_isolation", "indentation_tokens_per_line"),
}
OF_FREQUENCIES = {"shannon_efficiency", "renyi_efficiency"}
TOKENS = METRICS["bytes_per_token"]
COVERAGE = METRICS["vocab_coverage"]
WORDS = METRICS["tokens_per_word"]


def grouped(**texts: list[str]) -> list[Document]:
    """Return documents of groups in turns, as a corpus may have them."""
    listed = [
        Document(text, group, f"{group}:{number}", is_code=True)
        for group, documents in texts.items()
        for number, text in enumerate(documents)
    ]
    return sorted(listed, key=lambda document: document.source.rpartition(":")[2])


def three_groups() -> Evaluation:
    """Evaluate bytes / tokens: x 3/2, 4/3; y 9/7; z 5/4, 2/2, 6/5 (an é is two bytes and one token)."""
    documents = grouped(x=["aé", "ab é"[:3]], y=["aaaaa é b"[:8]], z=["aaaé", "ab", "aaaa é"[:5]])
    return with_means(Toy("a", "b"), documents)


def with_means(toy: Toy, documents: list[Document]) -> Evaluation:
    return evaluate(toy, documents, means=True)


def test_only_ratios_of_counts_by_document_have_resamples() -> None:
    assert {name for name, metric in METRICS.items() if is_by_document(metric)} == BY_DOCUMENT
    everything = "if x == 1:\n\tgetName = 123456 é\n"
    aggregate = Aggregate(evaluate(Toy("a", "get", "Na", "=", "1", "23", "\t"), grouped(x=[everything] * 5)))
    resampled = {name for name, one in METRICS.items() if aggregate.resampled(one) is not None}
    assert resampled == BY_DOCUMENT | OF_FREQUENCIES
    compared = {name for name, one in METRICS.items() if one.direction != "neither"} - resampled
    assert all("not compared" in METRICS[name].meaning for name in compared)
    one_document = Aggregate(evaluate(Toy("a"), documents_of("aa")))
    assert all(one_document.resampled(metric) is None for metric in METRICS.values())


def test_aggregations_of_an_example_worked_by_hand() -> None:
    evaluation = with_means(Toy("a"), grouped(x=["aé", "aaa"], y=["é"]))
    values = {
        aggregation: Aggregate(evaluation, aggregation=aggregation).value(TOKENS)
        for aggregation in AGGREGATIONS
    }
    assert values == pytest.approx(
        {"pooled": (3 + 3 + 2) / (2 + 3 + 1), "macro": (6 / 5 + 2) / 2, "per_document": (3 / 2 + 1 + 2) / 3}
    )
    in_x = {
        aggregation: Aggregate(evaluation, aggregation=aggregation).group_value(TOKENS, "x")
        for aggregation in AGGREGATIONS
    }
    assert in_x == pytest.approx({"pooled": 6 / 5, "macro": 6 / 5, "per_document": (3 / 2 + 1) / 2})


def test_missing_values_are_excluded_from_means() -> None:
    evaluation = with_means(Toy("a"), grouped(x=["a a", "..."], y=["!"]))
    values = {
        aggregation: Aggregate(evaluation, aggregation=aggregation).value(WORDS)
        for aggregation in AGGREGATIONS
    }
    assert values == {"pooled": 7 / 2, "macro": 6 / 2, "per_document": 3 / 2}
    no_words = with_means(Toy("a"), grouped(x=["."], y=["!"]))
    assert all(
        Aggregate(no_words, aggregation=aggregation).value(WORDS) is None for aggregation in AGGREGATIONS
    )


def test_other_metrics_have_no_mean_over_documents() -> None:
    evaluation = three_groups()
    for name, metric in METRICS.items():
        by_document = Aggregate(evaluation, aggregation="per_document").value(metric)
        assert name in BY_DOCUMENT or by_document is None


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("metric", [TOKENS, COVERAGE])
def test_resamples_equal_the_figures_of_the_drawn_documents(aggregation: Aggregation, metric: object) -> None:
    evaluation = three_groups()
    aggregate = Aggregate(evaluation, seed=3, aggregation=aggregation)
    resampled = aggregate.resampled(metric)  # type: ignore[arg-type]
    drawn = resamples(joined(evaluation.group_units.values()), seed=3)
    assert resampled is not None
    assert drawn is not None
    assert len(resampled.values) == RESAMPLES
    assert resampled.estimate == aggregate.value(metric)  # type: ignore[arg-type]
    for weights, value in zip(drawn.weights[:50], resampled.values, strict=False):
        assert value == pytest.approx(by_hand(evaluation, weights, metric is COVERAGE, aggregation))


def by_hand(evaluation: Evaluation, weights: np.ndarray, complement: bool, aggregation: Aggregation) -> float:
    """Compute the figure from the documents in the order of their keys, each as often as it is drawn."""
    of_groups = evaluation.group_units
    keys = sorted(key for units in of_groups.values() for key in units.keys.tolist())
    rows = {
        key: (group, counts)
        for group, units in of_groups.items()
        for key, counts in zip(units.keys.tolist(), units.counts.tolist(), strict=True)
    }
    documents = [rows[key] for key, times in zip(keys, weights, strict=True) for _ in range(int(times))]
    above, below = ("uncovered_bytes", "bytes") if complement else ("bytes", "tokens")

    def ratio(some: list[tuple[str, list[int]]]) -> float:
        top, bottom = (sum(row[DOCUMENT_COUNTS.index(name)] for _, row in some) for name in (above, below))
        return 1 - top / bottom if complement else top / bottom

    if aggregation == "pooled":
        return ratio(documents)
    if aggregation == "per_document":
        return float(np.mean([ratio([document]) for document in documents]))
    drawn = {group for group, _ in documents}
    return float(
        np.mean([ratio([document for document in documents if document[0] == group]) for group in drawn])
    )


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_group_is_resampled_independently(aggregation: Aggregation) -> None:
    texts = ["aé", "aaa", "éé", "aaaa é", "ab"]
    own = with_places(grouped(x=texts))
    others = [replace(document, place=(9, 0)) for document in grouped(y=["a"], z=["é", "b"])]
    among_others = Aggregate(with_means(Toy("a"), [*own, *others]), aggregation=aggregation)
    alone = Aggregate(with_means(Toy("a"), own), aggregation=aggregation)
    metrics = [METRICS[name] for name in sorted(BY_DOCUMENT)]
    for resampled, expected in zip(
        among_others.group_resampled(metrics, "x"), alone.group_resampled(metrics, "x"), strict=True
    ):
        assert (resampled is None) == (expected is None)
        if resampled is not None and expected is not None:
            assert resampled.values == pytest.approx(expected.values)
            assert (resampled.estimate, resampled.num_units) == (expected.estimate, 5)
    assert among_others.group_resampled([TOKENS], "y") == [None]  # one document says nothing


def test_group_is_compared_with_the_baseline_on_its_own_documents() -> None:
    documents = grouped(x=["aé", "aab", "ééa", "aaaa é", "aaa b"], y=["ba"])
    better, worse = (Aggregate(evaluate(toy, documents)) for toy in (Toy("a", "aa"), Toy("a")))
    figure = group_figures_of(better, worse, group="x")["bytes_per_token"]
    assert figure.value is not None
    assert figure.difference == pytest.approx(figure.value / (worse.group_value(TOKENS, "x") or 0) - 1)
    assert figure.interval is not None
    assert figure.interval.low <= figure.value <= figure.interval.high
    assert figure.is_distinguishable is not None
    assert group_figures_of(better, worse, group="y")["bytes_per_token"].interval is None


# --- units --------------------------------------------------------------------------------------


def test_documents_of_a_file_are_resampled_together() -> None:
    """Lines are alike within each of six different files, and so are not forty-eight independent texts."""
    lines = [
        Document("a" * (1 + file % 3) + "é" * (file % 4), "x", f"{file}.txt:{number}", unit)
        for file in range(6)
        for number in range(8)
        for unit in (f"{file}.txt",)
    ]
    by_file = Aggregate(evaluate(Toy("a", "aa"), lines))
    alone = Aggregate(evaluate(Toy("a", "aa"), [replace(line, unit=None) for line in lines]))
    assert (by_file.num_units, alone.num_units) == (6, 48)
    together, independent = by_file.resampled(TOKENS), alone.resampled(TOKENS)
    assert together is not None
    assert independent is not None
    assert together.interval.high - together.interval.low > 2 * (
        independent.interval.high - independent.interval.low
    )


def test_frequency_metrics_have_jackknife_intervals() -> None:
    """The resamples are compared with counting without each of the documents in turn."""
    texts = ["aab", "abab b", "ccc a", "b", "aé aé a", "abc cba"]
    toy = Toy("a", "b", "c", " ", "ab")
    aggregate = Aggregate(evaluate(toy, documents_of(*texts)))
    for name in OF_FREQUENCIES:
        resampled = aggregate.resampled(METRICS[name])
        assert resampled is not None
        without = [evaluate(toy, documents_of(*texts[:n], *texts[n + 1 :])) for n in range(len(texts))]
        by_hand = [METRICS[name].value(counts.total, counts.vocabulary) for counts in without]
        assert sorted(resampled.values.tolist()) == pytest.approx(sorted(by_hand))
        values = np.array(by_hand)
        spread = np.sqrt(5 / 6 * ((values - values.mean()) ** 2).sum())
        assert resampled.interval.high - resampled.estimate == pytest.approx(2.5706 * spread, rel=0.005)
        assert resampled.estimate - resampled.interval.low == pytest.approx(2.5706 * spread, rel=0.005)
        macro = Aggregate(evaluate(toy, documents_of(*texts)), aggregation="macro")
        assert macro.resampled(METRICS[name]) is None


def test_many_units_are_assigned_to_sets_by_their_keys() -> None:
    documents = documents_of(*(f"{'a' * (number % 7)}b" for number in range(150)))
    evaluation = evaluate(Toy("a", "b"), documents)
    buckets = (UnitKeys().of(documents) % np.uint64(64)).tolist()
    assert len(evaluation.set_frequencies) == len(set(buckets)) > 50
    assert evaluation.set_frequencies.sum(axis=0).tolist() == evaluation.frequencies.tolist()
    first = [document for document, bucket in zip(documents, buckets, strict=True) if bucket == min(buckets)]
    expected = evaluate(Toy("a", "b"), first).frequencies
    assert evaluation.set_frequencies[0].tolist() == expected.tolist()


def test_resamples_of_lines_are_centred_on_the_figure_of_the_files() -> None:
    """The figure is that of the files with their line ends; the resamples draw lines without them."""
    documents = parallel_documents(de=["ab a", "b", "abab", "é", "b a"], en=["a", "bb", "ab b", "a", "é"])
    toy = Toy("a", "b", " ", "ab")
    files = evaluate(toy, documents)
    lines = evaluate(toy, AlignedLines(documents, Alignment(("de", "en"), 5)))
    resampled = Aggregate(files, lines=lines).resampled(TOKENS)
    expected = Aggregate(lines).resampled(TOKENS)
    assert resampled is not None
    assert expected is not None
    assert lines.units == {"aligned lines": 5}
    assert resampled.estimate == Aggregate(files).value(TOKENS) != expected.estimate
    assert resampled.values - resampled.estimate == pytest.approx(expected.values - expected.estimate)
    # Two files are too few to resample, and lines are no substitute for files.
    assert Aggregate(files, lines=lines).resampled(METRICS["roundtrip_rate"]) is None
    [in_german] = Aggregate(files, lines=lines).group_resampled([TOKENS], "de")
    assert in_german is not None
    assert in_german.estimate == Aggregate(files).group_value(TOKENS, "de")
