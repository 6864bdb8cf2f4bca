"""Bounds on the figures of tokenizers: how they are written, when they are kept, and how they are reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import orjson
import pytest
from support.comparisons import compare
from support.toys import Toy, documents_of, parallel_documents

from tokbench.errors import ConfigError
from tokbench.evaluation.baseline import parse_policy, read_saved
from tokbench.evaluation.comparison_json import comparison_document
from tokbench.evaluation.thresholds import (
    Checked,
    Threshold,
    ThresholdResult,
    check_comparison,
    checked_document,
    parse_number,
    parse_threshold,
)
from tokbench.evaluation.units import align, lines_of
from tokbench.metrics.catalogue import METRICS, metrics_named
from tokbench.render.check import as_junit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.corpus import Document
    from tokbench.evaluation.comparison import Comparison

LETTERS = Toy("a", "b", " ", name="letters")
PAIRS = Toy("a", "b", " ", "ab", name="pairs")
TEXTS = [*documents_of("ab ab", "ba", group="x"), *documents_of("aaéb", group="y")]


def compared(*tokenizers: Toy, documents: Sequence[Document] = TEXTS) -> Comparison:
    alignment = align(lines_of(documents, {"en", "de", "sw"}))
    return compare(*tokenizers, documents=documents, alignment=alignment)


def saved(comparison: Comparison, *names: str) -> Any:
    chosen = metrics_named(names) if names else None
    return orjson.loads(orjson.dumps(comparison_document(comparison, metrics=chosen)))


def passed(comparison: Comparison, *thresholds: Threshold) -> list[bool]:
    return [finding.passed for finding in check_comparison(comparison, thresholds)]


# --- how they are written ---------------------------------------------------------------------


def test_thresholds_are_parsed() -> None:
    assert parse_threshold("bytes_per_token=3.5", bound="min") == Threshold(
        "bytes_per_token", None, "min", 3.5
    )
    assert parse_threshold("de:unk_rate = 1%", bound="max") == Threshold("unk_rate", "de", "max", 0.01)
    assert parse_threshold("a:b:unk_rate=0", bound="max").group == "a:b"
    assert parse_threshold("premium=2", bound="max").metric == "premium"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("bytes_per_token", "has no limit", "--min bytes_per_token=3.5"),
        ("bytes_per_token=", "is not a number", "3.5"),
        ("bytes_per_token=nan", "is not a number", "3.5"),
        ("bytes_per_token=inf", "is not a number", "3.5"),
        ("bytes_per_tokens=1", "there is no metric 'bytes_per_tokens'", "bytes_per_token"),
        ("de:gini=1", "over all groups together", "gini without a group"),
        ("=1", "there is no metric ''", "bytes_per_token"),
        ("unk_rate=5", "between 0 and 1, so that the limit 5 says nothing", "write 5%"),
        ("de:roundtrip_rate=990%", "the limit 990% says nothing", "0.05, or 5%"),
        ("unk_rate=-0.1", "the limit -0.1 says nothing", "0.05, or 5%"),
        ("gini=2", "between 0 and 1", "write 2%"),
    ],
)
def test_malformed_threshold_is_refused_with_a_hint(text: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_threshold(text, bound="min")
    assert message in error.value.message
    assert hint in str(error.value.hint)


def test_numbers_may_be_percentages() -> None:
    assert parse_number(" 12.5% ") == 0.125
    assert parse_number("-1e-3") == -0.001


@pytest.mark.parametrize(
    ("percentage", "share"), [("99.9%", 999 / 1000), ("0.7%", 7 / 1000), ("1e-1 %", 1 / 1000)]
)
def test_percentage_is_parsed_exactly(percentage: str, share: float) -> None:
    """Dividing 99.9 by 100 gives more than 999 / 1000, which would then fall short of its own limit."""
    assert parse_number(percentage) == share


# --- when they are kept -----------------------------------------------------------------------


def test_value_equal_to_the_limit_passes() -> None:
    comparison = compared(LETTERS)
    value = comparison.tokenizers[0].figures["bytes_per_token"].value
    assert value == 12 / 11
    thresholds = [Threshold("bytes_per_token", None, bound, value) for bound in ("min", "max")]  # type: ignore[arg-type]
    assert passed(comparison, *thresholds) == [True, True]
    assert passed(comparison, Threshold("bytes_per_token", None, "min", value + 1e-12)) == [False]
    assert passed(comparison, Threshold("bytes_per_token", None, "max", value - 1e-12)) == [False]


def test_every_tokenizer_is_checked_against_every_threshold() -> None:
    comparison = compared(LETTERS, PAIRS)
    results = check_comparison(comparison, [Threshold("bytes_per_token", "x", "min", 1.2)])
    assert [(check.tokenizer, check.passed) for check in results] == [("letters", False), ("pairs", True)]
    assert [check.value for check in results] == [1, 7 / 5]
    only = Threshold("bytes_per_token", None, "min", 0, tokenizer="pairs")
    assert [check.tokenizer for check in check_comparison(comparison, [only])] == ["pairs"]


def test_unknown_group_is_refused() -> None:
    with pytest.raises(ConfigError, match="no group 'z'") as error:
        check_comparison(compared(LETTERS), [parse_threshold("z:unk_rate=0", bound="max")])
    assert error.value.hint == "it has x, y"


def test_missing_figure_fails_with_the_reason() -> None:
    comparison = compared(LETTERS)
    premium, lines = check_comparison(
        comparison,
        [parse_threshold("premium=2", bound="max"), parse_threshold("indentation_fidelity=0", bound="min")],
    )
    assert not premium.passed
    assert premium.value is None
    assert premium.message == (
        "letters premium – (limit 2.000, --max): "
        "the corpus has no folder of translations (parallel/<language>.txt)"
    )
    assert not lines.passed
    assert lines.message == (
        "letters indentation_fidelity – (limit 0 %, --min): the text has nothing to divide by"
    )


def test_reason_of_a_missing_premium_is_that_of_its_language() -> None:
    documents = [
        *parallel_documents(en=["ab"] * 5, de=["bba"] * 5, sw=[" "] * 5),
        *documents_of("ab", group="code"),
    ]
    comparison = compared(Toy("a", "b", " ", "\n"), documents=documents)
    thresholds = [parse_threshold(f"{group}:premium=2", bound="max") for group in ("sw", "code")]
    assert [check.gap for check in check_comparison(comparison, thresholds)] == [
        "it has no text on its aligned lines",
        "it is not among the aligned languages",
    ]


def test_premiums_and_gini_can_have_thresholds() -> None:
    documents = parallel_documents(en=["ab"] * 5, de=["bba"] * 5)
    comparison = compared(Toy("a", "b", "\n"), documents=documents)
    assert passed(
        comparison, *(parse_threshold(text, bound="max") for text in ("premium=1.51", "gini=0.11"))
    ) == [True, True]
    assert passed(
        comparison, *(parse_threshold(text, bound="max") for text in ("premium=1.49", "gini=0.09"))
    ) == [False, False]


def test_narrow_failure_is_shown_with_enough_digits() -> None:
    limit = 12 / 11 + 1e-12
    [finding] = check_comparison(compared(LETTERS), [Threshold("bytes_per_token", None, "min", limit)])
    assert finding.message == (f"letters bytes_per_token {12 / 11:.17f} (limit {limit:.17f}, --min)")


# --- an older comparison ----------------------------------------------------------------------


def saved_thresholds(document: Any, *names: str, **policy: Sequence[str]) -> list[Threshold]:
    return list(read_saved(document).thresholds(names, parse_policy(**policy)))


PARALLEL = [*parallel_documents(en=["ab"] * 5, de=["bba"] * 5), *documents_of("ab ab", "ba", group="x")]


def test_unchanged_tokenizer_passes_without_tolerance() -> None:
    comparison = compared(LETTERS, PAIRS, documents=PARALLEL)
    thresholds = saved_thresholds(saved(comparison), "letters", "pairs")
    assert all(passed(comparison, *thresholds))
    held = {threshold.figure for threshold in thresholds}
    assert {"bytes_per_token", "unk_rate", "x:unk_rate", "de:bytes_per_token"} <= held
    assert {"premium", "de:premium", "gini"} <= held
    assert "en:premium" not in held  # the reference, whose premium is always 1
    assert not {threshold.metric for threshold in thresholds} & {
        name for name, metric in METRICS.items() if metric.direction == "neither"
    }
    assert {
        threshold.bound for threshold in thresholds if threshold.metric in ("unk_rate", "premium", "gini")
    } == {"max"}


def test_groups_premium_and_gini_can_fail() -> None:
    better = compared(Toy("a", "b", "bb", " ", name="mine"), documents=PARALLEL)
    worse = compared(Toy("a", "b", " ", name="mine"), documents=PARALLEL)
    results = check_comparison(worse, saved_thresholds(saved(better), "mine"))
    failed = {finding.threshold.figure for finding in results if not finding.passed}
    assert {"bytes_per_token", "de:bytes_per_token", "premium", "de:premium", "gini"} <= failed
    assert not {"en:bytes_per_token", "x:bytes_per_token"} & failed


def test_regression_beyond_the_tolerance_fails() -> None:
    better, worse = compared(PAIRS), compared(Toy("a", "b", " ", name="pairs"))
    document = saved(better, "bytes_per_token")
    share = (
        1
        - worse.tokenizers[0].figures["bytes_per_token"].value
        / better.tokenizers[0].figures["bytes_per_token"].value
    )  # type: ignore[operator]
    for tolerance, expected in ((0, False), (share * 0.9, False), (share * 1.1, True)):
        thresholds = saved_thresholds(
            document, "pairs", only=["bytes_per_token"], tolerances=[f"{tolerance}"]
        )
        assert [threshold.figure for threshold in thresholds if threshold.group is None] == [
            "bytes_per_token"
        ]
        assert passed(worse, thresholds[0]) == [expected]
    assert all(passed(better, *saved_thresholds(saved(worse, "bytes_per_token"), "pairs")))


def test_message_has_the_old_value_and_the_change() -> None:
    threshold = Threshold("bytes_per_token", None, "min", 2.590, was=2.590)
    assert ThresholdResult(threshold, "mine", 2.468, passed=False).message == (
        "mine bytes_per_token 2.468 (was 2.590, −4.7 %, limit 2.590)"
    )
    share = Threshold("unk_rate", "de", "max", 0.011, was=0.01)
    assert ThresholdResult(share, "mine", 0.02, passed=False).message == (
        "mine de:unk_rate 2.00 % (was 1.00 %, +100.0 %, limit 1.10 %)"
    )
    nothing = Threshold("unk_rate", None, "max", 0.0, was=0.0)
    assert (
        ThresholdResult(nothing, "mine", 0.02, passed=False).message
        == "mine unk_rate 2.00 % (was 0 %, limit 0 %)"
    )
    close = Threshold("gini", None, "max", 0.1, was=0.1)
    assert ThresholdResult(close, "mine", 0.1000004, passed=False).message == (
        "mine gini 0.100000400 (was 0.100000000, +0.0004 %, limit 0.100000000)"
    )


def test_checked_figures_can_be_chosen() -> None:
    document = saved(compared(LETTERS, documents=PARALLEL))

    def held(**policy: Sequence[str]) -> set[str]:
        return {threshold.figure for threshold in saved_thresholds(document, "letters", **policy)}

    assert held(only=["gini"]) == {"gini"}
    assert held(only=["gini, premium"]) == {"gini", "premium", "de:premium"}
    assert held() - held(excepted=["gini,premium", "de:premium"]) == {"gini", "premium", "de:premium"}
    with pytest.raises(ConfigError, match="there is no metric 'premum'") as refused:
        held(only=["gini,premum"])
    assert "premium" in (refused.value.hint or "")
    assert held(only=["x:unk_rate", "premium"]) == {"x:unk_rate", "premium", "de:premium"}
    assert held(only=["unk_rate"], excepted=["x:unk_rate"]) == {"unk_rate", "de:unk_rate", "en:unk_rate"}
    assert held() - held(excepted=["unk_rate"]) == {"unk_rate", "x:unk_rate", "de:unk_rate", "en:unk_rate"}


def test_each_figure_can_have_a_tolerance() -> None:
    document = saved(compared(LETTERS, documents=PARALLEL))
    tolerances = ["50%", "bytes_per_token=10%", "x:bytes_per_token=0"]
    thresholds = saved_thresholds(document, "letters", tolerances=tolerances)
    limits = {threshold.figure: threshold.limit / threshold.was for threshold in thresholds if threshold.was}
    assert limits["premium"] == pytest.approx(1.5)
    assert limits["bytes_per_token"] == limits["de:bytes_per_token"] == pytest.approx(0.9)
    assert limits["x:bytes_per_token"] == 1


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"only": ["unk_rates"]}, "no metric 'unk_rates'"),
        ({"only": ["average_rank"]}, "has no figure 'average_rank'"),
        ({"only": ["z:unk_rate"]}, "has no figure 'z:unk_rate'"),
        ({"excepted": ["z:unk_rate"]}, "has no figure 'z:unk_rate'"),
        ({"excepted": ["de:gini"]}, "over all groups together"),
        ({"tolerances": ["z:unk_rate=1%"]}, "has no figure 'z:unk_rate'"),
        ({"tolerances": ["unk_rate=-1%"]}, "below 0"),
        ({"tolerances": ["-1%"]}, "below 0"),
        ({"tolerances": ["1"]}, "a tolerance of 1 is 100% of the older figure"),
        ({"tolerances": ["unk_rate=5"]}, "a tolerance of 5 is 500% of the older figure"),
        ({"tolerances": ["unk_rate=much"]}, "not a number"),
    ],
)
def test_unknown_figures_of_a_policy_are_refused(policy: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        saved_thresholds(saved(compared(LETTERS)), "letters", **policy)


def test_renamed_tokenizer_is_compared_with_the_only_one() -> None:
    assert saved_thresholds(saved(compared(PAIRS)), "new")
    with pytest.raises(ConfigError, match="no tokenizer 'new'") as error:
        saved_thresholds(saved(compared(PAIRS, LETTERS)), "new")
    assert error.value.hint == "it has pairs, letters"


def test_figure_missing_in_the_baseline_has_no_threshold() -> None:
    document = saved(compared(LETTERS))
    assert document["tokenizers"][0]["metrics"]["indentation_fidelity"]["value"] is None
    assert "indentation_fidelity" not in {
        threshold.metric for threshold in saved_thresholds(document, "letters")
    }


LETTERS_ONLY = {"name": "letters", "metrics": {}}


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"schema": "tokbench.report/1"},
        {"schema": "tokbench.compare/1"},
        *(
            {"schema": "tokbench.compare/1", **damaged}
            for damaged in (
                {"tokenizers": [1]},
                {"tokenizers": [{"name": "letters"}]},
                {"tokenizers": [{"name": "letters", "metrics": {"unk_rate": 1}}]},
                {"tokenizers": [{"name": "letters", "metrics": {"unk_rate": {"value": "1"}}}]},
                {"tokenizers": [{"name": "letters", "metrics": {"unk_rate": {"value": True}}}]},
                {"tokenizers": [LETTERS_ONLY | {"groups": {"de": 1}}]},
                {"tokenizers": [LETTERS_ONLY | {"fairness": {"gini": 0.1}}]},
                {"tokenizers": [LETTERS_ONLY | {"fairness": {"reference": "en", "premiums": {"de": "1"}}}]},
                {"tokenizers": [LETTERS_ONLY], "aggregation": "mean"},
                {"tokenizers": [LETTERS_ONLY], "corpus": {"fingerprint": 1}},
                {"tokenizers": [LETTERS_ONLY], "arguments": [1]},
            )
        ),
    ],
)
def test_foreign_baseline_document_is_refused(document: Any) -> None:
    with pytest.raises(ConfigError, match="the baseline is") as refused:
        saved_thresholds(document, "letters")
    assert "Error" not in str(refused.value)
    assert "object has no" not in str(refused.value)


# --- for other programs -----------------------------------------------------------------------


def test_json_has_every_finding() -> None:
    results = check_comparison(
        compared(LETTERS),
        [parse_threshold("unk_rate=0", bound="max"), parse_threshold("gini=1", bound="max")],
    )
    document = checked_document(Checked(results, "pooled", ("a note",)))
    assert document["schema"] == "tokbench.check/1"
    assert document["passed"] is False
    assert [finding["value"] for finding in document["findings"]] == [1 / 11, None]
    assert [bool(finding["gap"]) for finding in document["findings"]] == [False, True]


def test_junit_is_well_formed_for_any_name() -> None:
    odd = Toy("a", name='<&">\x00\u2028é')
    results = check_comparison(
        compared(odd),
        [parse_threshold("unk_rate=0", bound="max"), parse_threshold("x:unk_rate=1", bound="max")],
    )
    suite = ET.fromstring(as_junit(results))  # written by us
    assert suite.attrib["tests"] == "2"
    assert suite.attrib["failures"] == "1"
    failed, kept = suite.findall("testcase")
    assert failed.attrib == {"classname": '<&">\ufffd\u2028é', "name": "max unk_rate"}
    assert kept.attrib["name"] == "max x:unk_rate"
    failure = failed.find("failure")
    assert failure is not None
    assert "unk_rate 54.55 % (limit 0 %, --max)" in failure.attrib["message"]
    assert kept.find("failure") is None
